-- Messages to be sent at a time of their own. They get their place in accept order only when that time comes: what was
-- accepted meanwhile for the same activity is older than them, and does not supersede them.

CREATE TABLE scheduled_message (
    id bigint PRIMARY KEY,
    accepted_at timestamptz NOT NULL,
    send_at timestamptz NOT NULL,
    lifetime bigint NOT NULL,
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    dialect text NOT NULL,
    endpoint text NOT NULL,
    msg_key text NOT NULL,
    sender text NOT NULL,
    la_id text,
    event text,
    recipients text[] NOT NULL,
    erased_accounts text[] NOT NULL DEFAULT '{}',
    content bytea,
    digest bytea,
    cancelled_at timestamptz,
    cancelled_by text,
    CHECK ((cancelled_at IS NULL) = (content IS NOT NULL))
);
-- Each gateway looks once a second.
CREATE INDEX scheduled_message_due ON scheduled_message (send_at) WHERE cancelled_at IS NULL;
CREATE INDEX scheduled_message_key ON scheduled_message (sdk_app_id, msg_key);
CREATE INDEX scheduled_message_digest ON scheduled_message (digest) WHERE cancelled_at IS NULL;
CREATE INDEX scheduled_message_recipients ON scheduled_message USING gin (recipients) WHERE cancelled_at IS NULL;
CREATE INDEX scheduled_message_cancelled ON scheduled_message (cancelled_at);
COMMENT ON TABLE scheduled_message IS 'Messages that wait for their time. When it comes, the row becomes one of message and one of pending, in one transaction. Cancelled ones stay, without their content, until retention.';
COMMENT ON COLUMN scheduled_message.id IS 'Number of the row, of the numbers of messages; the message gets another when it is sent.';
COMMENT ON COLUMN scheduled_message.accepted_at IS 'When it was accepted, by PostgreSQL''s clock.';
COMMENT ON COLUMN scheduled_message.send_at IS 'When it is to be sent, by PostgreSQL''s clock.';
COMMENT ON COLUMN scheduled_message.lifetime IS 'For how many seconds from send_at on it may be tried.';
COMMENT ON COLUMN scheduled_message.sdk_app_id IS 'The app that sent it.';
COMMENT ON COLUMN scheduled_message.dialect IS 'The API it came through.';
COMMENT ON COLUMN scheduled_message.endpoint IS 'The route it came through.';
COMMENT ON COLUMN scheduled_message.msg_key IS 'The key that the caller was given; the message keeps it.';
COMMENT ON COLUMN scheduled_message.sender IS 'The sending account.';
COMMENT ON COLUMN scheduled_message.la_id IS 'The activity it instructs; null: a plain notification.';
COMMENT ON COLUMN scheduled_message.event IS 'start, update or end; null: a plain notification.';
COMMENT ON COLUMN scheduled_message.recipients IS 'The accounts that it goes to.';
COMMENT ON COLUMN scheduled_message.erased_accounts IS 'Those of them that were deleted while it waited: they get nothing, which is recorded as cancelled.';
COMMENT ON COLUMN scheduled_message.content IS 'The message''s order, a versioned JSON encoding; null once it is cancelled. Operators cannot read it.';
COMMENT ON COLUMN scheduled_message.digest IS 'What tells the same request when it comes again while this one waits; null: it is always a new one.';
COMMENT ON COLUMN scheduled_message.cancelled_at IS 'When it was cancelled; null: it waits.';
COMMENT ON COLUMN scheduled_message.cancelled_by IS 'Who cancelled it: an administrator''s account, or what did.';

CREATE FUNCTION cancel_scheduled(app bigint, message_key text, canceller text) RETURNS bigint
LANGUAGE sql AS $$
    WITH cancelled AS (
        UPDATE scheduled_message SET cancelled_at = clock_timestamp(), cancelled_by = canceller, content = NULL
        WHERE sdk_app_id = app AND msg_key = message_key AND cancelled_at IS NULL
        RETURNING id, digest
    ), forgotten AS (
        -- The same request is a new one from now on.
        DELETE FROM recent_request USING cancelled
        WHERE recent_request.digest = cancelled.digest AND recent_request.message_id = cancelled.id
    )
    SELECT count(*) FROM cancelled
$$;
COMMENT ON FUNCTION cancel_scheduled(bigint, text, text) IS 'Cancels what waits under a key and erases its content; returns how many messages that were.';

CREATE FUNCTION erase_from_schedule(app bigint, accounts text[]) RETURNS void
LANGUAGE sql AS $$
    WITH changed AS (
        UPDATE scheduled_message SET
            erased_accounts = ARRAY(
                SELECT name FROM unnest(recipients) AS name
                WHERE name = ANY (erased_accounts) OR name = ANY (accounts)),
            content = CASE WHEN recipients <@ (erased_accounts || accounts) THEN NULL ELSE content END,
            cancelled_at = CASE WHEN recipients <@ (erased_accounts || accounts) THEN clock_timestamp() END,
            cancelled_by = CASE WHEN recipients <@ (erased_accounts || accounts) THEN 'account_delete' END
        WHERE sdk_app_id = app AND cancelled_at IS NULL AND recipients && accounts
        RETURNING id, digest, cancelled_at
    )
    DELETE FROM recent_request USING changed
    WHERE changed.cancelled_at IS NOT NULL
        AND recent_request.digest = changed.digest AND recent_request.message_id = changed.id
$$;
COMMENT ON FUNCTION erase_from_schedule(bigint, text[]) IS 'Takes deleted accounts out of what waits for its time; a message that has nobody left is cancelled and its content erased.';

CREATE FUNCTION release_scheduled(most bigint) RETURNS bigint
LANGUAGE sql AS $$
    WITH due AS (
        DELETE FROM scheduled_message WHERE id = ANY (ARRAY(
            SELECT id FROM scheduled_message WHERE send_at <= clock_timestamp() AND cancelled_at IS NULL
            ORDER BY send_at, id LIMIT most FOR UPDATE SKIP LOCKED))
        RETURNING *
    ), released AS MATERIALIZED (
        SELECT nextval('message_id') AS message_id, date_trunc('microseconds', now()) AS released_at, due.*
        FROM due ORDER BY send_at, id
    ), stored AS (
        INSERT INTO message (id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients)
        SELECT message_id, released_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event,
            cardinality(recipients)
        FROM released
    ), queued AS (
        INSERT INTO pending (message_id, accepted_at, sdk_app_id, instance_id, due, deadline, content)
        SELECT message_id, released_at, sdk_app_id, NULL, released_at, send_at + lifetime * interval '1 second', content
        FROM released
    ), erased AS (
        INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, la_id, event, route, route_reason, fallback,
            outcome, attempts)
        SELECT message_id, released_at, sdk_app_id, account, la_id, event, 'none', 'account_deleted', false,
            'cancelled', 0
        FROM released CROSS JOIN LATERAL unnest(erased_accounts) AS account
    )
    SELECT count(*) FROM released
$$;
COMMENT ON FUNCTION release_scheduled(bigint) IS 'Makes messages of those whose time has come, the earliest first, at most so many; returns how many. What another transaction holds is left to it.';

CREATE VIEW scheduled AS
SELECT
    sdk_app_id, msg_key, dialect, endpoint, sender, la_id, event, cardinality(recipients) AS recipients,
    accepted_at, send_at, send_at + lifetime * interval '1 second' AS deadline,
    CASE WHEN cancelled_at IS NULL THEN 'waiting' ELSE 'cancelled' END AS state, cancelled_at, cancelled_by
FROM scheduled_message
ORDER BY send_at, id;
COMMENT ON VIEW scheduled IS 'Messages that wait for their time, and those that were cancelled, the next one first. Those that are due are in undelivered and recent_deliveries.';
COMMENT ON COLUMN scheduled.sdk_app_id IS 'The app.';
COMMENT ON COLUMN scheduled.msg_key IS 'The key that the caller was given.';
COMMENT ON COLUMN scheduled.dialect IS 'The API it came through.';
COMMENT ON COLUMN scheduled.endpoint IS 'The route it came through.';
COMMENT ON COLUMN scheduled.sender IS 'The sending account.';
COMMENT ON COLUMN scheduled.la_id IS 'The activity; null: a plain notification.';
COMMENT ON COLUMN scheduled.event IS 'start, update or end; null: a plain notification.';
COMMENT ON COLUMN scheduled.recipients IS 'How many accounts it names; 0: its audience is looked up when it is sent.';
COMMENT ON COLUMN scheduled.accepted_at IS 'When it was accepted.';
COMMENT ON COLUMN scheduled.send_at IS 'When it is sent.';
COMMENT ON COLUMN scheduled.deadline IS 'After this nothing more is sent for it.';
COMMENT ON COLUMN scheduled.state IS 'waiting or cancelled.';
COMMENT ON COLUMN scheduled.cancelled_at IS 'When it was cancelled.';
COMMENT ON COLUMN scheduled.cancelled_by IS 'Who cancelled it: an administrator''s account, or what did.';

COMMENT ON COLUMN recent_request.message_id IS 'The message that the first request became; of one that waited for its time, its number in scheduled_message.';
