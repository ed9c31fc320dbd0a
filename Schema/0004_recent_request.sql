-- De-duplication: what was accepted lately, so that a request that is posted twice is pushed once.

CREATE TABLE recent_request (
    digest bytea PRIMARY KEY,
    sdk_app_id bigint NOT NULL,
    message_id bigint NOT NULL,
    msg_key text NOT NULL,
    accepted_at timestamptz NOT NULL,
    repeats integer NOT NULL DEFAULT 0
) WITH (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2
);
COMMENT ON TABLE recent_request IS 'Requests accepted within the last 120 seconds. One that comes again is answered with the first one''s key and not pushed again. Older rows mean nothing and are deleted in time.';
COMMENT ON COLUMN recent_request.digest IS 'SHA-256 over app, route, sender, MsgSeq, MsgRandom, recipients and content.';
COMMENT ON COLUMN recent_request.sdk_app_id IS 'The app that sent it.';
COMMENT ON COLUMN recent_request.message_id IS 'The message that the first request became.';
COMMENT ON COLUMN recent_request.msg_key IS 'The key that the first caller was given; a repeat is answered with it.';
COMMENT ON COLUMN recent_request.accepted_at IS 'When the first request was accepted; 120 seconds later the same request is a new one.';
COMMENT ON COLUMN recent_request.repeats IS 'How often it came again since.';
