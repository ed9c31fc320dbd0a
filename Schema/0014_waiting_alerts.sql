-- Alerts of Live Activity updates that APNs has not accepted yet. Where an update is superseded before that, its alert
-- goes out with the newest state.

CREATE TABLE waiting_alert (
    sdk_app_id bigint NOT NULL,
    account text NOT NULL,
    la_id text NOT NULL,
    installation text NOT NULL,
    message_id bigint NOT NULL,
    content bytea NOT NULL,
    sent_at timestamptz,
    until timestamptz NOT NULL,
    PRIMARY KEY (sdk_app_id, account, la_id, installation),
    -- With the registration its text goes, and it follows one that changes hands.
    FOREIGN KEY (sdk_app_id, account, la_id, installation) REFERENCES live_activity ON UPDATE CASCADE ON DELETE CASCADE
);
COMMENT ON TABLE waiting_alert IS 'The newest alert of each activity token that was to be pushed and that APNs has not accepted. Only apps whose Live Activity pushes have alerts have rows here, for as long as a push is under way or tried again.';
COMMENT ON COLUMN waiting_alert.sdk_app_id IS 'The app.';
COMMENT ON COLUMN waiting_alert.account IS 'The recipient.';
COMMENT ON COLUMN waiting_alert.la_id IS 'The app''s own id of the activity.';
COMMENT ON COLUMN waiting_alert.installation IS 'The app''s own id of the installation.';
COMMENT ON COLUMN waiting_alert.message_id IS 'The message that the alert belongs to.';
COMMENT ON COLUMN waiting_alert.content IS 'The alert, a JSON object with title, body and sound.';
COMMENT ON COLUMN waiting_alert.sent_at IS 'When a push with it was begun; null: it did not come through.';
COMMENT ON COLUMN waiting_alert.until IS 'The deadline of its message; it is not sent later.';
