-- When a push was really sent to a registration, rather than when one was decided against.

CREATE OR REPLACE VIEW registrations AS
SELECT
    registration.sdk_app_id, registration.account, registration.installation, registration.kind, registration.la_id,
    registration.attributes_type, registration.business_id, certificate.bundle_id, registration.environment,
    registration.token_fingerprint, registration.state, registration.registered_at, registration.sequence,
    registration.expires_at, registration.app_version, registration.os_version, registration.language,
    registration.foreground_until,
    -- Most often the newest; further back only where nothing was sent of that.
    coalesce((newest.delivery).sent_at, (
        SELECT delivery.sent_at FROM delivery
        WHERE delivery.sdk_app_id = registration.sdk_app_id AND delivery.account = registration.account
            AND delivery.installation = registration.installation AND delivery.accepted_at < now() + interval '1 hour'
            AND delivery.sent_at IS NOT NULL
            AND CASE registration.kind
                WHEN 'device' THEN delivery.route = 'notification'
                WHEN 'activity' THEN delivery.route <> 'notification' AND delivery.la_id = registration.la_id
                ELSE delivery.event = 'start' AND delivery.token_fingerprint = registration.token_fingerprint
            END
        ORDER BY delivery.accepted_at DESC, delivery.finished_at DESC
        LIMIT 1)) AS last_push_at,
    (newest.delivery).outcome AS last_outcome,
    coalesce((newest.delivery).apns_reason, (newest.delivery).route_reason) AS last_reason
FROM (
    SELECT
        sdk_app_id, account, installation, 'device' AS kind, NULL::text AS la_id, NULL::text AS attributes_type,
        business_id, environment, token_fingerprint(token) AS token_fingerprint,
        CASE WHEN quarantined_at IS NULL THEN 'live' ELSE 'quarantined' END AS state, registered_at,
        sequence, NULL::timestamptz AS expires_at, app_version, os_version, language, foreground_until
    FROM device
    UNION ALL
    SELECT
        activity.sdk_app_id, activity.account, activity.installation, 'activity', activity.la_id,
        activity.attributes_type, activity.business_id, activity.environment, token_fingerprint(activity.token),
        CASE
            WHEN activity.quarantined_at IS NOT NULL THEN 'quarantined'
            WHEN activity.ended_at IS NOT NULL THEN 'ended'
            WHEN activity.started_at <= now() - interval '8 hours' THEN 'expired'
            ELSE 'live'
        END,
        activity.registered_at, activity.sequence, activity.started_at + interval '8 hours',
        coalesce(activity.app_version, device.app_version), device.os_version, device.language, device.foreground_until
    FROM live_activity AS activity
    LEFT JOIN device USING (sdk_app_id, account, installation)
    UNION ALL
    SELECT
        start.sdk_app_id, start.account, start.installation, 'start', NULL, start.attributes_type, start.business_id,
        start.environment, token_fingerprint(start.token),
        CASE WHEN start.quarantined_at IS NULL THEN 'live' ELSE 'quarantined' END, start.registered_at, start.sequence,
        NULL, coalesce(start.app_version, device.app_version), coalesce(start.os_version, device.os_version),
        device.language, device.foreground_until
    FROM start_token AS start
    LEFT JOIN device USING (sdk_app_id, account, installation)
) AS registration
LEFT JOIN certificate USING (sdk_app_id, business_id)
CROSS JOIN LATERAL (
    SELECT (
        SELECT delivery FROM delivery
        WHERE delivery.sdk_app_id = registration.sdk_app_id AND delivery.account = registration.account
            AND delivery.installation = registration.installation AND delivery.accepted_at < now() + interval '1 hour'
            AND CASE registration.kind
                WHEN 'device' THEN delivery.route = 'notification'
                WHEN 'activity' THEN delivery.route <> 'notification' AND delivery.la_id = registration.la_id
                ELSE delivery.event = 'start' AND delivery.token_fingerprint = registration.token_fingerprint
            END
        ORDER BY delivery.accepted_at DESC, delivery.finished_at DESC
        LIMIT 1
    ) AS delivery OFFSET 0
) AS newest;
COMMENT ON COLUMN registrations.last_push_at IS 'When the last push to it was sent to APNs; null: none was. What was decided against is none.';
COMMENT ON COLUMN registrations.last_outcome IS 'What became of the newest message for it, be it sent or not.';
