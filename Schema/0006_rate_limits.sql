-- Rate limits of apps. Null: there is none, as before.

ALTER TABLE app
    ADD COLUMN requests_per_second bigint CHECK (requests_per_second > 0),
    ADD COLUMN caller_requests_per_second bigint CHECK (caller_requests_per_second > 0),
    ADD COLUMN batch_recipients_per_minute bigint CHECK (batch_recipients_per_minute > 0),
    ADD COLUMN client_requests_per_minute bigint CHECK (client_requests_per_minute > 0),
    ADD COLUMN usersig_failures_per_minute bigint CHECK (usersig_failures_per_minute > 0);
COMMENT ON COLUMN app.requests_per_second IS 'Server API requests that each gateway process takes from this app; 60007 over it. null: no limit.';
COMMENT ON COLUMN app.caller_requests_per_second IS 'Server API requests that each gateway process takes from one identifier; 60007 over it. null: no limit.';
COMMENT ON COLUMN app.batch_recipients_per_minute IS 'Recipients that each gateway process takes in batchsendmsg (90057 over it) and timpush/batch (60007). null: no limit.';
COMMENT ON COLUMN app.client_requests_per_minute IS 'Requests under /v1 that each gateway process takes for one account; 429 over it. null: no limit.';
COMMENT ON COLUMN app.usersig_failures_per_minute IS 'Server API requests of one identifier with a bad UserSig from which each gateway process answers 70050. null: never.';
