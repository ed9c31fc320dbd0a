-- Tokens that APNs does not know. BadDeviceToken is also its answer to a wrong bundle id or environment, so one of them
-- removes nothing: days are counted, then the token is quarantined, then removed.

-- No index may hold these columns: they change in place.
ALTER TABLE device
    ADD COLUMN bad_days smallint NOT NULL DEFAULT 0,
    ADD COLUMN last_bad_day date,
    ADD COLUMN quarantined_at timestamptz;
ALTER TABLE live_activity
    ADD COLUMN bad_days smallint NOT NULL DEFAULT 0,
    ADD COLUMN last_bad_day date,
    ADD COLUMN quarantined_at timestamptz;
COMMENT ON COLUMN device.bad_days IS 'On how many UTC days every APNs environment answered BadDeviceToken for the token while it accepted pushes to others of the app; 0 after an accepted push.';
COMMENT ON COLUMN device.last_bad_day IS 'The last of those days.';
COMMENT ON COLUMN device.quarantined_at IS 'When the third of those days came: no more pushes, and livepush retention removes the row after 7 days. Registering the token lifts it; one more failure then quarantines it again.';
COMMENT ON COLUMN live_activity.bad_days IS 'On how many UTC days every APNs environment answered BadDeviceToken for the token while it accepted pushes to others of the app; 0 after an accepted push.';
COMMENT ON COLUMN live_activity.last_bad_day IS 'The last of those days.';
COMMENT ON COLUMN live_activity.quarantined_at IS 'When the third of those days came: no more pushes, and livepush retention removes the row after 7 days. Registering the token lifts it; one more failure then quarantines it again.';

-- A trigger rather than lines in each function that registers: it fires for whatever sets registered_at, and for
-- nothing that a push changes.
CREATE FUNCTION lift_quarantine() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.quarantined_at := NULL;
    IF NEW.token <> OLD.token THEN
        NEW.bad_days := 0;
        NEW.last_bad_day := NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION lift_quarantine() IS 'A registration lifts the quarantine; a new token begins without bad days, the same one keeps them.';
CREATE TRIGGER lift_quarantine BEFORE UPDATE OF registered_at ON device
    FOR EACH ROW EXECUTE FUNCTION lift_quarantine();
CREATE TRIGGER lift_quarantine BEFORE UPDATE OF registered_at ON live_activity
    FOR EACH ROW EXECUTE FUNCTION lift_quarantine();

CREATE OR REPLACE VIEW registrations AS
SELECT
    registration.sdk_app_id, registration.account, registration.installation, registration.kind, registration.la_id,
    registration.attributes_type, registration.business_id, certificate.bundle_id, registration.environment,
    registration.token_fingerprint, registration.state, registration.registered_at, registration.sequence,
    registration.expires_at, registration.app_version, registration.os_version, registration.language,
    registration.foreground_until,
    coalesce((newest.delivery).sent_at, (newest.delivery).finished_at) AS last_push_at,
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
) AS registration
LEFT JOIN certificate USING (sdk_app_id, business_id)
CROSS JOIN LATERAL (
    SELECT (
        SELECT delivery FROM delivery
        WHERE delivery.sdk_app_id = registration.sdk_app_id AND delivery.account = registration.account
            AND delivery.installation = registration.installation AND delivery.accepted_at < now() + interval '1 hour'
            AND (CASE WHEN registration.kind = 'activity'
                THEN delivery.route <> 'notification' AND delivery.la_id = registration.la_id
                ELSE delivery.route = 'notification' END)
        ORDER BY delivery.accepted_at DESC, delivery.finished_at DESC
        LIMIT 1
    ) AS delivery OFFSET 0
) AS newest;
COMMENT ON COLUMN registrations.state IS 'live, quarantined (APNs did not know the token on three days), ended (APNs accepted an end) or expired (8 hours are over).';

CREATE OR REPLACE VIEW alarms AS
WITH RECURSIVE waiting AS MATERIALIZED (
    SELECT sdk_app_id, accepted_at, due, reason FROM pending
    WHERE instance_id IS NULL AND due < 'infinity' ORDER BY due LIMIT 10000
), device_key AS (
    -- From one pair to the next through the index: as many steps as there are businessIds, however many rows.
    (SELECT sdk_app_id, business_id FROM device ORDER BY sdk_app_id, business_id LIMIT 1)
    UNION ALL
    SELECT following.sdk_app_id, following.business_id
    FROM device_key
    CROSS JOIN LATERAL (
        SELECT device.sdk_app_id, device.business_id FROM device
        WHERE (device.sdk_app_id, device.business_id) > (device_key.sdk_app_id, device_key.business_id)
        ORDER BY device.sdk_app_id, device.business_id LIMIT 1
    ) AS following
), activity_key AS (
    (SELECT sdk_app_id, business_id FROM live_activity ORDER BY sdk_app_id, business_id LIMIT 1)
    UNION ALL
    SELECT following.sdk_app_id, following.business_id
    FROM activity_key
    CROSS JOIN LATERAL (
        SELECT activity.sdk_app_id, activity.business_id FROM live_activity AS activity
        WHERE (activity.sdk_app_id, activity.business_id) > (activity_key.sdk_app_id, activity_key.business_id)
        ORDER BY activity.sdk_app_id, activity.business_id LIMIT 1
    ) AS following
), found AS (
    SELECT
        alarm.kind, nullif(alarm.sdk_app_id, 0) AS sdk_app_id, alarm.business_id, alarm.environment,
        greatest(alarm.first_seen, certificate.updated_at) AS since, alarm.last_seen, alarm.count,
        alarm.detail || CASE WHEN alarm.host = '' THEN '' ELSE ' (seen by ' || alarm.host || ')' END AS detail
    FROM alarm
    LEFT JOIN app USING (sdk_app_id)
    LEFT JOIN certificate USING (sdk_app_id, business_id)
    WHERE alarm.ended_at IS NULL AND coalesce(alarm.fades_at > now(), true)
        -- What was replaced or removed since is not what was wrong.
        AND (alarm.sdk_app_id = 0 OR app.sdk_app_id IS NOT NULL)
        AND (alarm.business_id IS NULL OR alarm.last_seen >= certificate.updated_at)
    UNION ALL
    SELECT
        'quarantined', sdk_app_id, NULL, NULL, min(finished_at), max(finished_at), count(DISTINCT message_id),
        format('%s messages took their gateway down with them three times; the newest is message_id %s',
            count(DISTINCT message_id), max(message_id))
    FROM delivery
    WHERE outcome = 'quarantined' AND finished_at > now() - interval '1 day' AND accepted_at > now() - interval '9 days'
    GROUP BY sdk_app_id
    UNION ALL
    SELECT
        'partition_missing', NULL, NULL, NULL, now(), now(), count(*),
        'no partition for ' || string_agg(wanted.name, ', ' ORDER BY wanted.day, wanted.name)
    FROM (
        SELECT day, parent, parent || to_char(day, '_YYYYMMDD') AS name
        FROM unnest(ARRAY['message', 'delivery']) AS parent
        CROSS JOIN generate_series(
            date_trunc('day', now() AT TIME ZONE 'UTC'), date_trunc('day', now() AT TIME ZONE 'UTC') + interval '2 days',
            interval '1 day') AS day
    ) AS wanted
    WHERE NOT EXISTS (
        SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = pg_inherits.inhrelid
        WHERE pg_inherits.inhparent = to_regclass('public.' || wanted.parent) AND pg_class.relname = wanted.name)
    HAVING count(*) > 0
    UNION ALL
    SELECT
        'work_not_taken_over', NULL, NULL, NULL, instance.heartbeat_at, now(), owned.count,
        format('the gateway %s has no heartbeat since %s and still owns work', instance.host,
            date_trunc('second', instance.heartbeat_at))
    FROM instance
    CROSS JOIN LATERAL (
        SELECT count(*) FROM pending WHERE pending.instance_id = instance.id AND pending.due < 'infinity'
    ) AS owned
    WHERE instance.heartbeat_at < now() - interval '60 seconds' AND owned.count > 0
    UNION ALL
    SELECT
        'backlog', NULL, NULL, NULL, min(due), now(), count(*),
        format('%s%s rows are due, the first since %s', count(*), CASE WHEN count(*) = 10000 THEN ' or more' ELSE '' END,
            date_trunc('second', min(due)))
    FROM waiting
    WHERE due <= now()
    HAVING min(due) < now() - interval '5 minutes'
    UNION ALL
    SELECT
        'no_gateway', NULL, NULL, NULL, coalesce((SELECT max(heartbeat_at) FROM instance), min(due)), now(), count(*),
        'work is due and no gateway has a heartbeat'
    FROM waiting
    WHERE due <= now() AND NOT EXISTS (SELECT FROM instance WHERE heartbeat_at > now() - interval '60 seconds')
    HAVING count(*) > 0
    UNION ALL
    SELECT
        'message_not_readable', sdk_app_id, NULL, NULL, min(accepted_at), now(), count(*),
        'messages were stored by a newer release than the gateways that run'
    FROM waiting WHERE reason = 'not_readable' GROUP BY sdk_app_id
    UNION ALL
    SELECT
        'pushes_without_certificate', sdk_app_id, NULL, NULL, min(accepted_at), now(), count(*),
        'pushes wait for a certificate that the app does not have'
    FROM waiting WHERE reason = 'certificate_missing' GROUP BY sdk_app_id
    UNION ALL
    SELECT
        'registrations_without_certificate', named.sdk_app_id, named.business_id, NULL, NULL, now(),
        (SELECT count(*) FROM (
            SELECT FROM device
            WHERE device.sdk_app_id = named.sdk_app_id AND device.business_id = named.business_id LIMIT 10000) AS first_rows)
        + (SELECT count(*) FROM (
            SELECT FROM live_activity AS activity
            WHERE activity.sdk_app_id = named.sdk_app_id AND activity.business_id = named.business_id
            LIMIT 10000) AS first_rows),
        format('tokens are registered for businessId %s, which the app has no certificate for', named.business_id)
    FROM (SELECT * FROM device_key UNION SELECT * FROM activity_key) AS named
    WHERE NOT EXISTS (
        SELECT FROM certificate
        WHERE certificate.sdk_app_id = named.sdk_app_id AND certificate.business_id = named.business_id)
)
SELECT
    found.kind, found.sdk_app_id, found.business_id, coalesce(found.environment, certificate.environment) AS environment,
    certificate.key_id, found.since, found.last_seen, found.count, found.detail,
    CASE found.kind
        WHEN 'signing_key_refused' THEN
            'Compare key id, team id and .p8 with developer.apple.com; then livepush certificate add replaces the key. Its pushes wait.'
        WHEN 'provider_token_refused' THEN
            'Set the clock of the gateway''s host; if it is right, look who else uses this key. Its pushes wait.'
        WHEN 'topic_refused' THEN
            'The bundle id must be one of the key''s team and have push enabled; then livepush certificate add. Its pushes wait.'
        WHEN 'apns_unreachable' THEN
            'Look at network, DNS, firewall and proxy between the gateway and APNs, and at --apns-ca-file. Its pushes are tried again.'
        WHEN 'wrong_topic' THEN
            'The app registers its token with a businessId of another bundle id: correct businessId in the app, or the bundle id of the certificate.'
        WHEN 'mass_token_failure' THEN
            'The bundle id or environment of the certificate is not the one the app was built with: compare them with the app, then livepush certificate add. No registration is removed for it; its pushes wait.'
        WHEN 'request_refused' THEN
            'A fault of livepush: report it with the gateway''s log lines of this message.'
        WHEN 'secret_not_readable' THEN
            'Start the gateway with the LIVEPUSH_MASTER_KEY that sealed it, or give secret or key again with livepush app set or livepush certificate add.'
        WHEN 'database_refused' THEN
            'Look into PostgreSQL''s log for this time. 42501: run livepush migrate as the owner. What waits is tried again.'
        WHEN 'quarantined' THEN
            'Not sent again by itself. Look at the gateways'' logs before each death and report it; send the message again if it matters.'
        WHEN 'partition_missing' THEN
            'Messages of that day cannot be accepted. SELECT create_partitions(7) as the owner; a gateway does it every hour, so look why it could not.'
        WHEN 'work_not_taken_over' THEN
            'Start a gateway: it takes the work over within half a minute.'
        WHEN 'backlog' THEN
            'The gateways do not keep up: look at their logs and at PostgreSQL, start another.'
        WHEN 'no_gateway' THEN
            'Start a gateway: livepush serve.'
        WHEN 'message_not_readable' THEN
            'Start gateways of the newer release again.'
        WHEN 'pushes_without_certificate' THEN
            'livepush certificate add with the businessId that the registrations name; the view registrations shows it.'
        WHEN 'registrations_without_certificate' THEN
            'livepush certificate add with this businessId, or correct businessId in the app.'
    END AS what_to_do
FROM found
LEFT JOIN certificate USING (sdk_app_id, business_id);
