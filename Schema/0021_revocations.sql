-- Messages that were taken back: what waits of them is not sent, and what was shown is replaced.

CREATE TABLE revocation (
    message_id bigint PRIMARY KEY,
    accepted_at timestamptz NOT NULL,
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    revoked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_by text NOT NULL
);
CREATE INDEX revocation_app ON revocation (sdk_app_id, revoked_at);
COMMENT ON TABLE revocation IS 'Messages that POST /v4/timpush/revoke took back. What waits of them is recorded as cancelled; what APNs had accepted is replaced by a message of its own, in the table message with the endpoint timpush/revoke.';
COMMENT ON COLUMN revocation.message_id IS 'The message.';
COMMENT ON COLUMN revocation.accepted_at IS 'When it was accepted.';
COMMENT ON COLUMN revocation.sdk_app_id IS 'The app.';
COMMENT ON COLUMN revocation.revoked_at IS 'When it was taken back.';
COMMENT ON COLUMN revocation.revoked_by IS 'The account whose UserSig asked for it.';
