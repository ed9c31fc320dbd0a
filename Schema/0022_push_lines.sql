-- What waits for an APNs that takes no more pushes of a key stands in a line, apart from the rest of the queue: nobody else
-- waits behind it, and it keeps its place.

ALTER TABLE pending ADD COLUMN line text;
COMMENT ON COLUMN pending.line IS 'For which key and environment of APNs it waits, as team/key/environment, since too many pushes wait there already; its due is unchanged and tells its place. Null: for none.';

DROP INDEX pending_due;
CREATE INDEX pending_due ON pending (due) WHERE instance_id IS NULL AND line IS NULL;
-- Of messages that were accepted at the same time the order is that of their ids.
CREATE INDEX pending_line ON pending (line, due, message_id) WHERE instance_id IS NULL AND line IS NOT NULL;
CREATE INDEX pending_line_deadline ON pending (deadline) WHERE instance_id IS NULL AND line IS NOT NULL;

-- An alert whose update is claimed for the first time only after a newer state went out has no state to go along with: the
-- newest is sent again with it, and so it is kept for a while.

CREATE TABLE sent_state (
    sdk_app_id bigint NOT NULL,
    account text NOT NULL,
    la_id text NOT NULL,
    installation text NOT NULL,
    message_id bigint NOT NULL,
    content bytea NOT NULL,
    sent_at timestamptz NOT NULL,
    PRIMARY KEY (sdk_app_id, account, la_id, installation),
    -- With the registration it goes, and it follows one that changes hands.
    FOREIGN KEY (sdk_app_id, account, la_id, installation) REFERENCES live_activity ON UPDATE CASCADE ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE sent_state IS 'The newest state that was pushed to an activity without an alert of its own, while an older message is unfinished whose alert may have to go along with it. Only of apps whose Live Activity pushes have alerts.';
COMMENT ON COLUMN sent_state.sdk_app_id IS 'The app.';
COMMENT ON COLUMN sent_state.account IS 'The recipient.';
COMMENT ON COLUMN sent_state.la_id IS 'The app''s own id of the activity.';
COMMENT ON COLUMN sent_state.installation IS 'The app''s own id of the installation.';
COMMENT ON COLUMN sent_state.message_id IS 'The message that the state belongs to.';
COMMENT ON COLUMN sent_state.content IS 'The state, with stale-date and relevance-score, a JSON object. Operators cannot read it.';
COMMENT ON COLUMN sent_state.sent_at IS 'When it was pushed.';
