-- Starts in accept order: nobody knows yet on which phones a start that was accepted brings an activity up, until it has
-- been worked on. Later messages about the activity wait for that, in whatever lane or process they are.

ALTER TABLE pending ADD COLUMN starts text;
UPDATE pending SET starts = message.la_id
FROM message
WHERE pending.account IS NULL AND message.id = pending.message_id AND message.accepted_at = pending.accepted_at
    AND message.event = 'start';
-- Starts are few, and leave it with their row.
CREATE INDEX pending_start ON pending (sdk_app_id, starts) WHERE starts IS NOT NULL;
COMMENT ON COLUMN pending.starts IS 'Of a whole message that is a start: the activity that it starts. Later messages about that activity wait while some of its recipients are not decided.';

ALTER TABLE fan_out ADD COLUMN undecided_start bigint;
COMMENT ON COLUMN fan_out.undecided_start IS 'A start of the same activity, accepted before, that got no further for so long that this message did not wait any more: phones that the start reaches later have not got it.';

CREATE FUNCTION undecided_start(
    for_app bigint, for_la_id text, for_message bigint, for_account text, patience interval
) RETURNS TABLE (message_id bigint, is_given_up boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
#variable_conflict use_column
BEGIN
    -- What nearly always is all there is to ask.
    IF NOT EXISTS (
        SELECT FROM pending WHERE sdk_app_id = for_app AND starts = for_la_id AND pending.message_id < for_message)
    THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT older.message_id, older.moved_at <= clock_timestamp() - patience
    FROM (
        SELECT whole.message_id, whole.accepted_at, whole.due, whole.progress,
            greatest(whole.accepted_at, fan_out.advanced_at) AS moved_at
        FROM pending AS whole
        LEFT JOIN fan_out ON fan_out.message_id = whole.message_id
        WHERE whole.sdk_app_id = for_app AND whole.starts = for_la_id AND whole.message_id < for_message
    ) AS older
    WHERE CASE
        WHEN for_account IS NULL THEN older.due < 'infinity'
        -- Its recipients that are not done wait in rows of their own, nearly all of them after the decision.
        WHEN older.due = 'infinity' THEN EXISTS (
            SELECT FROM pending AS own
            WHERE own.message_id = older.message_id AND own.account = for_account AND own.reason = 'database_refused')
        ELSE
            -- Of a message to an audience: the account up to which everything is written down.
            coalesce((convert_from(older.progress, 'UTF8')::json ->> 'account') < for_account, true)
            AND NOT EXISTS (
                SELECT FROM activity_start AS started
                WHERE started.sdk_app_id = for_app AND started.account = for_account AND started.la_id = for_la_id
                    AND started.message_id >= older.message_id)
            AND NOT EXISTS (
                SELECT FROM pending AS own
                WHERE own.message_id = older.message_id AND own.account = for_account
                    AND own.reason <> 'database_refused')
            AND NOT EXISTS (
                SELECT FROM delivery
                WHERE delivery.sdk_app_id = for_app AND delivery.account = for_account
                    AND delivery.accepted_at = older.accepted_at AND delivery.message_id = older.message_id)
        END
    ORDER BY 2, 1 LIMIT 1;
END
$$;
COMMENT ON FUNCTION undecided_start(bigint, text, bigint, text, interval) IS 'A start of an activity that was accepted before a message and of which it is not decided yet which phones it goes to: those of one account, or, with null, of all. is_given_up: none of them got any further for that long, so that it is not waited for.';

CREATE OR REPLACE FUNCTION release_scheduled(most bigint) RETURNS bigint
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
        INSERT INTO pending (message_id, accepted_at, sdk_app_id, instance_id, due, deadline, content, starts)
        SELECT message_id, released_at, sdk_app_id, NULL, released_at, send_at + lifetime * interval '1 second', content,
            CASE WHEN event = 'start' THEN la_id END
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
