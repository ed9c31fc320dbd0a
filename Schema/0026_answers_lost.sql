-- Why a phone showed a push twice, or one that no row calls accepted: an answer of APNs got lost, or a gateway died with
-- pushes on their way.

ALTER TABLE delivery ADD COLUMN answers_lost smallint;
COMMENT ON COLUMN delivery.answers_lost IS 'After how many attempts no answer came although APNs may have taken the push, those included that may have been under way in a gateway that died; null: none. The phone may have got the push more often than the outcome tells, under the same apns-id.';

CREATE OR REPLACE VIEW recent_deliveries AS
SELECT
    delivery.accepted_at, delivery.sent_at, delivery.finished_at, delivery.message_id, message.msg_key, message.dialect,
    delivery.sdk_app_id, message.sender, delivery.account, delivery.installation, delivery.la_id, delivery.event,
    delivery.route, delivery.route_reason, delivery.fallback, delivery.outcome, delivery.apns_status,
    delivery.apns_reason, delivery.apns_id, delivery.attempts, delivery.priority, delivery.priority_reason,
    delivery.timestamp_sent, delivery.payload_bytes, delivery.token_fingerprint, delivery.environment,
    delivery.answers_lost
FROM delivery
JOIN message ON message.id = delivery.message_id AND message.accepted_at = delivery.accepted_at
WHERE delivery.accepted_at > now() - interval '7 days' AND message.accepted_at > now() - interval '7 days';
COMMENT ON COLUMN recent_deliveries.answers_lost IS 'After how many attempts no answer came although APNs may have taken the push: the phone may have got it more often than the outcome tells. null: none.';
