-- Who waits as a recipient of a message that was not begun, or is under way for the first time: until the end of the
-- first attempt only the row of the whole message names them.

CREATE FUNCTION waiting_recipients(content bytea) RETURNS SETOF text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    -- json, not jsonb: that would read all of the content, and refuse a number that fits no numeric.
    RETURN QUERY SELECT json_array_elements_text(convert_from(content, 'UTF8')::json -> 'recipients');
EXCEPTION WHEN OTHERS THEN
    -- An encoding of another release: the message is shown without its recipients.
    RETURN;
END
$$;
COMMENT ON FUNCTION waiting_recipients(bytea) IS 'The accounts that a message as stored in pending.content is for; none for a message to an audience.';

CREATE OR REPLACE VIEW undelivered AS
SELECT
    waiting.sdk_app_id, waiting.message_id, message.msg_key, message.sender, waiting.account, message.la_id,
    message.event, waiting.accepted_at, waiting.deadline,
    CASE WHEN waiting.instance_id IS NULL THEN waiting.due END AS next_attempt_at, waiting.attempts,
    CASE
        WHEN waiting.instance_id IS NULL THEN plain_reason(waiting.reason)
        WHEN instance.id IS NULL THEN 'its gateway is gone; another takes it over'
        ELSE 'under way'
    END AS reason,
    instance.host, waiting.takeovers, 'retrying' AS outcome, waiting.reason AS reason_code
FROM (
    SELECT sdk_app_id, message_id, account, accepted_at, deadline, instance_id, due, attempts, reason, takeovers
    FROM pending WHERE account IS NOT NULL AND due < 'infinity'
    UNION ALL
    -- The row of a message whose recipients have rows of their own waits for nothing itself.
    SELECT whole.sdk_app_id, whole.message_id, open.account, whole.accepted_at, whole.deadline, whole.instance_id,
        whole.due, whole.attempts, whole.reason, whole.takeovers
    FROM pending AS whole
    LEFT JOIN LATERAL (
        SELECT named.account FROM waiting_recipients(whole.content) AS named (account)
        WHERE NOT EXISTS (
                SELECT FROM delivery WHERE delivery.message_id = whole.message_id
                    AND delivery.accepted_at = whole.accepted_at AND delivery.account = named.account)
            AND NOT EXISTS (
                SELECT FROM pending AS own
                WHERE own.message_id = whole.message_id AND own.account = named.account)
    ) AS open ON true
    WHERE whole.account IS NULL AND whole.due < 'infinity'
) AS waiting
LEFT JOIN message ON message.id = waiting.message_id AND message.accepted_at = waiting.accepted_at
LEFT JOIN instance ON instance.id = waiting.instance_id;
COMMENT ON VIEW undelivered IS 'What waits, is under way or is tried again: one row for each recipient of whom nothing is decided. A message to an audience has one row of its own for those that were not looked up yet. Where very many messages wait, name the app: the recipients of each message that was not begun are read out of it.';
COMMENT ON COLUMN undelivered.account IS 'The recipient; null: those of a message to an audience that were not looked up yet.';

COMMENT ON COLUMN message.event IS 'start, update or end; null: a plain notification.';
COMMENT ON COLUMN delivery.event IS 'start, update or end; null: a plain notification.';
COMMENT ON COLUMN recent_deliveries.event IS 'start, update or end; null: a plain notification.';
COMMENT ON COLUMN undelivered.event IS 'start, update or end; null: a plain notification.';
