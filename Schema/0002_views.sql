-- What people read. Views hold no secret and no message content, and show a token as its fingerprint.

CREATE FUNCTION token_fingerprint(token bytea) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT left(encode(sha256(token), 'hex'), 12)
$$;
COMMENT ON FUNCTION token_fingerprint(bytea) IS 'First 12 hex digits of the SHA-256 of a token: what logs and views show in its place.';

CREATE FUNCTION token_fingerprint(token text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    bare text := regexp_replace(token, '[<>[:space:]]', '', 'g');
BEGIN
    RETURN token_fingerprint(decode(bare, CASE WHEN bare ~ '^[0-9A-Fa-f]*$' THEN 'hex' ELSE 'base64' END));
END
$$;
COMMENT ON FUNCTION token_fingerprint(text) IS 'Fingerprint of a token as Xcode or an app logs it: hex, <hex in groups>, or base64.';

CREATE VIEW registrations AS
SELECT
    registration.sdk_app_id, registration.account, registration.installation, registration.kind, registration.la_id,
    registration.attributes_type, registration.business_id, certificate.bundle_id, registration.environment,
    registration.token_fingerprint, registration.state, registration.registered_at, registration.sequence,
    registration.expires_at, registration.app_version, registration.os_version, registration.language,
    registration.foreground_until,
    coalesce(delivery.sent_at, delivery.finished_at) AS last_push_at, delivery.outcome AS last_outcome,
    coalesce(delivery.apns_reason, delivery.route_reason) AS last_reason
FROM (
    SELECT
        sdk_app_id, account, installation, 'device' AS kind, NULL::text AS la_id, NULL::text AS attributes_type,
        business_id, environment, token_fingerprint(token) AS token_fingerprint, 'live' AS state, registered_at,
        sequence, NULL::timestamptz AS expires_at, app_version, os_version, language, foreground_until
    FROM device
    UNION ALL
    SELECT
        activity.sdk_app_id, activity.account, activity.installation, 'activity', activity.la_id,
        activity.attributes_type, activity.business_id, activity.environment, token_fingerprint(activity.token),
        CASE
            WHEN activity.ended_at IS NOT NULL THEN 'ended'
            WHEN activity.started_at <= now() - interval '8 hours' THEN 'expired'
            ELSE 'live'
        END,
        activity.registered_at, activity.sequence, activity.started_at + interval '8 hours',
        coalesce(activity.app_version, device.app_version), device.os_version, device.language, device.foreground_until
    FROM live_activity AS activity
    LEFT JOIN device USING (sdk_app_id, account, installation)
) AS registration
LEFT JOIN certificate USING (sdk_app_id, business_id)
LEFT JOIN LATERAL (
    SELECT * FROM delivery
    WHERE delivery.sdk_app_id = registration.sdk_app_id AND delivery.account = registration.account
        AND delivery.installation = registration.installation
        AND (CASE WHEN registration.kind = 'activity'
            THEN delivery.route <> 'notification' AND delivery.la_id = registration.la_id
            ELSE delivery.route = 'notification' END)
    ORDER BY delivery.accepted_at DESC, delivery.finished_at DESC
    LIMIT 1
) AS delivery ON true;
COMMENT ON VIEW registrations IS 'What phones registered and what last became of each. Cleared and dead tokens are not listed.';
COMMENT ON COLUMN registrations.sdk_app_id IS 'The app.';
COMMENT ON COLUMN registrations.account IS 'The account.';
COMMENT ON COLUMN registrations.installation IS 'The installation.';
COMMENT ON COLUMN registrations.kind IS 'device: where notifications go; activity: where Live Activity pushes go.';
COMMENT ON COLUMN registrations.la_id IS 'The activity.';
COMMENT ON COLUMN registrations.attributes_type IS 'Name of the ActivityAttributes type.';
COMMENT ON COLUMN registrations.business_id IS 'The certificate it is pushed with.';
COMMENT ON COLUMN registrations.bundle_id IS 'Bundle id of that certificate.';
COMMENT ON COLUMN registrations.environment IS 'APNs environment; null until known.';
COMMENT ON COLUMN registrations.token_fingerprint IS 'token_fingerprint() of the token.';
COMMENT ON COLUMN registrations.state IS 'live, ended (APNs accepted an end) or expired (8 hours are over).';
COMMENT ON COLUMN registrations.registered_at IS 'When this token was last registered.';
COMMENT ON COLUMN registrations.sequence IS 'The installation''s counter of the last change.';
COMMENT ON COLUMN registrations.expires_at IS 'When the last update can go out.';
COMMENT ON COLUMN registrations.app_version IS 'App version as reported.';
COMMENT ON COLUMN registrations.os_version IS 'iOS version as reported.';
COMMENT ON COLUMN registrations.language IS 'System language as reported.';
COMMENT ON COLUMN registrations.foreground_until IS 'Until then the app is in front.';
COMMENT ON COLUMN registrations.last_push_at IS 'When the last push to it was sent, or settled without sending.';
COMMENT ON COLUMN registrations.last_outcome IS 'What became of that push.';
COMMENT ON COLUMN registrations.last_reason IS 'APNs'' reason, or why that route was taken.';

CREATE VIEW recent_deliveries AS
SELECT
    delivery.accepted_at, delivery.sent_at, delivery.finished_at, delivery.message_id, message.msg_key, message.dialect,
    delivery.sdk_app_id, message.sender, delivery.account, delivery.installation, delivery.la_id, delivery.event,
    delivery.route, delivery.route_reason, delivery.fallback, delivery.outcome, delivery.apns_status,
    delivery.apns_reason, delivery.apns_id, delivery.attempts, delivery.priority, delivery.priority_reason,
    delivery.timestamp_sent, delivery.payload_bytes, delivery.token_fingerprint, delivery.environment
FROM delivery
JOIN message ON message.id = delivery.message_id AND message.accepted_at = delivery.accepted_at
WHERE delivery.accepted_at > now() - interval '7 days';
COMMENT ON VIEW recent_deliveries IS 'What became of each target of each message of the last 7 days.';
COMMENT ON COLUMN recent_deliveries.accepted_at IS 'When the message was accepted.';
COMMENT ON COLUMN recent_deliveries.sent_at IS 'When the last attempt was sent.';
COMMENT ON COLUMN recent_deliveries.finished_at IS 'When the outcome was written.';
COMMENT ON COLUMN recent_deliveries.message_id IS 'The message, in accept order.';
COMMENT ON COLUMN recent_deliveries.msg_key IS 'The key that the caller was given.';
COMMENT ON COLUMN recent_deliveries.dialect IS 'The API the message came through.';
COMMENT ON COLUMN recent_deliveries.sdk_app_id IS 'The app.';
COMMENT ON COLUMN recent_deliveries.sender IS 'The sending account.';
COMMENT ON COLUMN recent_deliveries.account IS 'The recipient.';
COMMENT ON COLUMN recent_deliveries.installation IS 'The installation; null where nothing was sent to any.';
COMMENT ON COLUMN recent_deliveries.la_id IS 'The activity; null: a plain notification.';
COMMENT ON COLUMN recent_deliveries.event IS 'update or end; null: a plain notification.';
COMMENT ON COLUMN recent_deliveries.route IS 'live_activity, notification or none.';
COMMENT ON COLUMN recent_deliveries.route_reason IS 'Why that route.';
COMMENT ON COLUMN recent_deliveries.fallback IS 'true: the notification stands in for a Live Activity push.';
COMMENT ON COLUMN recent_deliveries.outcome IS 'What became of it. accepted_by_apns is not a proof of display.';
COMMENT ON COLUMN recent_deliveries.apns_status IS 'HTTP status of APNs'' last answer; null: none came.';
COMMENT ON COLUMN recent_deliveries.apns_reason IS 'Reason in APNs'' last answer, or why there was none.';
COMMENT ON COLUMN recent_deliveries.apns_id IS 'apns-id of the push.';
COMMENT ON COLUMN recent_deliveries.attempts IS 'How many pushes were sent for it.';
COMMENT ON COLUMN recent_deliveries.priority IS 'apns-priority that was sent.';
COMMENT ON COLUMN recent_deliveries.priority_reason IS 'Why that priority.';
COMMENT ON COLUMN recent_deliveries.timestamp_sent IS 'aps.timestamp that was sent, Unix seconds.';
COMMENT ON COLUMN recent_deliveries.payload_bytes IS 'Size of the body that was sent.';
COMMENT ON COLUMN recent_deliveries.token_fingerprint IS 'token_fingerprint() of the token it went to.';
COMMENT ON COLUMN recent_deliveries.environment IS 'APNs environment of the last attempt.';
