-- What an operator needs beyond registrations and deliveries: what waits, how each certificate fares, what a person
-- must act on.

-- A body that is parsed here rather than at each call: names in it mean what they mean now, whatever search_path the
-- reader of a view has set. The view hands it raw tokens.
CREATE OR REPLACE FUNCTION token_fingerprint(token bytea) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN left(encode(sha256(token), 'hex'), 12);

-- It runs with its owner's rights, so nothing that others could put into the schema public may be found by it. All its
-- tables are named with their schema.
ALTER FUNCTION create_partitions(integer) SET search_path = pg_catalog, pg_temp;

ALTER TABLE delivery ADD COLUMN business_id bigint;
COMMENT ON COLUMN delivery.business_id IS 'The certificate that signed the last attempt; null where none was made.';

-- Rows of a partition are written in the order of finished_at, so a few bytes for each 128 pages find those of the last
-- day, in yesterday's partition as in last week's.
CREATE INDEX delivery_finished ON delivery USING brin (finished_at) WITH (autosummarize = on);
-- Empty unless something is very wrong.
CREATE INDEX delivery_quarantined ON delivery (finished_at) WHERE outcome = 'quarantined';
-- Which businessIds the registrations name, without reading all of them.
CREATE INDEX device_business ON device (sdk_app_id, business_id);
CREATE INDEX live_activity_business ON live_activity (sdk_app_id, business_id);

CREATE TABLE alarm (
    kind text NOT NULL,
    sdk_app_id bigint NOT NULL DEFAULT 0,
    subject text NOT NULL,
    business_id bigint,
    environment text,
    route text,
    detail text NOT NULL,
    host text NOT NULL DEFAULT '',
    first_seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    count bigint NOT NULL DEFAULT 1,
    fades_at timestamptz,
    ended_at timestamptz,
    PRIMARY KEY (kind, sdk_app_id, subject)
);
COMMENT ON TABLE alarm IS 'Faults that only a running gateway notices and that a person must act on; people read the view alarms. One row for each thing that is wrong, used again when it goes wrong again. To be aged by last_seen.';
COMMENT ON COLUMN alarm.kind IS 'What is wrong, one word.';
COMMENT ON COLUMN alarm.sdk_app_id IS 'The app; 0: not one app.';
COMMENT ON COLUMN alarm.subject IS 'What it is wrong with: makes the row unique within kind and app.';
COMMENT ON COLUMN alarm.business_id IS 'The certificate, where it is about one.';
COMMENT ON COLUMN alarm.environment IS 'The APNs environment, where it is about one.';
COMMENT ON COLUMN alarm.route IS 'live_activity or notification, where it is about one.';
COMMENT ON COLUMN alarm.detail IS 'What was seen last, in words. Holds no token, secret or content.';
COMMENT ON COLUMN alarm.host IS 'Host and process id of the gateway that saw it last.';
COMMENT ON COLUMN alarm.first_seen IS 'Since when it is wrong without being right in between.';
COMMENT ON COLUMN alarm.last_seen IS 'When it was seen last.';
COMMENT ON COLUMN alarm.count IS 'How often it was seen since first_seen.';
COMMENT ON COLUMN alarm.fades_at IS 'When it counts as over unless it is seen again; null: only ended_at ends it.';
COMMENT ON COLUMN alarm.ended_at IS 'When it was right again; null: it is not.';

CREATE FUNCTION plain_reason(reason text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE reason
    WHEN '' THEN 'accepted, not begun yet'
    WHEN 'taken_over' THEN 'its gateway died; another goes on with it'
    WHEN 'database_refused' THEN 'PostgreSQL refused to work on it; tried again every minute'
    WHEN 'not_readable' THEN 'stored by a newer release of livepush; waits for a gateway that can read it'
    WHEN 'certificate_missing' THEN 'no certificate for the businessId of its registration; waits for livepush certificate add'
    WHEN 'activity_push_refused' THEN 'the Live Activity push was refused for good; a notification follows'
    WHEN 'no_answer' THEN 'APNs gave no answer'
    WHEN 'timeout' THEN 'APNs did not answer in time'
    WHEN 'closed' THEN 'the connection to APNs was closed on this side'
    WHEN 'connect_failed' THEN 'no connection to APNs'
    WHEN 'connection_lost' THEN 'the connection to APNs was lost'
    WHEN 'stream_refused' THEN 'APNs took no more requests on its connections'
    WHEN 'stream_reset' THEN 'APNs broke the request off'
    WHEN 'TooManyRequests' THEN 'APNs wants fewer pushes to this token (TooManyRequests)'
    WHEN 'InternalServerError' THEN 'a fault inside APNs (InternalServerError)'
    WHEN 'ServiceUnavailable' THEN 'APNs is not available (ServiceUnavailable)'
    WHEN 'Shutdown' THEN 'APNs shut the server down (Shutdown)'
    WHEN 'InvalidProviderToken' THEN 'APNs refuses the signing key (InvalidProviderToken): key id, team id or .p8 is wrong, or the key was revoked'
    WHEN 'ExpiredProviderToken' THEN 'APNs takes the provider token for too old (ExpiredProviderToken): the clock of the gateway''s host is wrong'
    WHEN 'TooManyProviderTokenUpdates' THEN 'APNs saw too many provider tokens of this key (TooManyProviderTokenUpdates): something else uses it too'
    WHEN 'BadEnvironmentKeyInToken' THEN 'APNs refuses the signing key in this environment (BadEnvironmentKeyInToken)'
    WHEN 'BadEnvironmentKeyIdInToken' THEN 'APNs refuses the signing key in this environment (BadEnvironmentKeyIdInToken)'
    WHEN 'ProviderTokenNotSigned' THEN 'the gateway cannot sign with the stored key (ProviderTokenNotSigned)'
    WHEN 'TopicDisallowed' THEN 'the signing key may not push to this bundle id (TopicDisallowed)'
    WHEN 'BadTopic' THEN 'APNs does not know this bundle id (BadTopic)'
    WHEN 'DeviceTokenNotForTopic' THEN 'the token belongs to another bundle id (DeviceTokenNotForTopic)'
    ELSE 'APNs answered ' || reason
END;
COMMENT ON FUNCTION plain_reason(text) IS 'A reason as stored, in words for people.';

-- The bound stands for message too, since the planner does not carry it over the join: without it every question reads
-- the messages of all days that are kept.
CREATE OR REPLACE VIEW recent_deliveries AS
SELECT
    delivery.accepted_at, delivery.sent_at, delivery.finished_at, delivery.message_id, message.msg_key, message.dialect,
    delivery.sdk_app_id, message.sender, delivery.account, delivery.installation, delivery.la_id, delivery.event,
    delivery.route, delivery.route_reason, delivery.fallback, delivery.outcome, delivery.apns_status,
    delivery.apns_reason, delivery.apns_id, delivery.attempts, delivery.priority, delivery.priority_reason,
    delivery.timestamp_sent, delivery.payload_bytes, delivery.token_fingerprint, delivery.environment
FROM delivery
JOIN message ON message.id = delivery.message_id AND message.accepted_at = delivery.accepted_at
WHERE delivery.accepted_at > now() - interval '7 days' AND message.accepted_at > now() - interval '7 days';

-- The newest delivery is looked up only by questions that ask for it: OFFSET 0 keeps it apart, and a column that nobody
-- asks for is not computed. As a join it cost every count of registrations a look into each day for each of them.
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

CREATE VIEW undelivered AS
SELECT
    pending.sdk_app_id, pending.message_id, message.msg_key, message.sender, pending.account, message.la_id,
    message.event, pending.accepted_at, pending.deadline,
    CASE WHEN pending.instance_id IS NULL THEN pending.due END AS next_attempt_at, pending.attempts,
    CASE
        WHEN pending.instance_id IS NULL THEN plain_reason(pending.reason)
        WHEN instance.id IS NULL THEN 'its gateway is gone; another takes it over'
        ELSE 'under way'
    END AS reason,
    instance.host, pending.takeovers, 'retrying' AS outcome, pending.reason AS reason_code
FROM pending
LEFT JOIN message ON message.id = pending.message_id AND message.accepted_at = pending.accepted_at
LEFT JOIN instance ON instance.id = pending.instance_id
-- The row of a message whose recipients have rows of their own waits for nothing itself.
WHERE pending.due < 'infinity';
COMMENT ON VIEW undelivered IS 'What waits, is under way or is tried again: one row for a recipient, or for a whole message that was not begun.';
COMMENT ON COLUMN undelivered.sdk_app_id IS 'The app.';
COMMENT ON COLUMN undelivered.message_id IS 'The message, in accept order.';
COMMENT ON COLUMN undelivered.msg_key IS 'The key that the caller was given.';
COMMENT ON COLUMN undelivered.sender IS 'The sending account.';
COMMENT ON COLUMN undelivered.account IS 'The recipient; null: all recipients of the message that have no row of their own.';
COMMENT ON COLUMN undelivered.la_id IS 'The activity; null: a plain notification.';
COMMENT ON COLUMN undelivered.event IS 'update or end; null: a plain notification.';
COMMENT ON COLUMN undelivered.accepted_at IS 'When the message was accepted.';
COMMENT ON COLUMN undelivered.deadline IS 'After this nothing more is sent for it.';
COMMENT ON COLUMN undelivered.next_attempt_at IS 'When it is taken up again; null while a gateway works on it.';
COMMENT ON COLUMN undelivered.attempts IS 'How often the recipient was tried.';
COMMENT ON COLUMN undelivered.reason IS 'Why it waits, in words.';
COMMENT ON COLUMN undelivered.host IS 'The gateway that works on it: host and process id.';
COMMENT ON COLUMN undelivered.takeovers IS 'How often its gateway died; after 3 the message is quarantined.';
COMMENT ON COLUMN undelivered.outcome IS 'Always retrying: nothing is decided yet.';
COMMENT ON COLUMN undelivered.reason_code IS 'Why it waits, as stored.';

CREATE VIEW app_health AS
WITH pushes AS (
    SELECT
        sdk_app_id, business_id,
        count(*) FILTER (WHERE is_recent) AS pushes_hour,
        count(*) FILTER (WHERE is_recent AND outcome = 'accepted_by_apns') AS accepted_hour,
        count(*) FILTER (WHERE is_recent AND outcome = 'refused') AS refused_hour,
        count(*) FILTER (WHERE is_recent AND outcome = 'token_dead') AS dead_hour,
        count(*) AS pushes_day,
        count(*) FILTER (WHERE outcome = 'accepted_by_apns') AS accepted_day,
        count(*) FILTER (WHERE outcome = 'refused') AS refused_day,
        count(*) FILTER (WHERE outcome = 'token_dead') AS dead_day,
        max(finished_at) FILTER (WHERE outcome = 'accepted_by_apns') AS last_accepted_at,
        max(finished_at) FILTER (WHERE outcome = 'refused') AS last_refused_at
    FROM (
        SELECT sdk_app_id, business_id, outcome, finished_at, finished_at > now() - interval '1 hour' AS is_recent
        FROM delivery
        WHERE finished_at > now() - interval '1 day' AND accepted_at > now() - interval '9 days'
            AND attempts > 0 AND business_id IS NOT NULL
    ) AS finished
    GROUP BY sdk_app_id, business_id
), waiting AS (
    SELECT sdk_app_id, count(*) AS waiting, min(accepted_at) AS oldest
    FROM (
        SELECT sdk_app_id, accepted_at FROM pending
        WHERE instance_id IS NULL AND due < 'infinity' ORDER BY due LIMIT 10000
    ) AS sample
    GROUP BY sdk_app_id
), held AS (
    SELECT alarm.sdk_app_id, alarm.business_id, string_agg(alarm.detail, '; ' ORDER BY alarm.last_seen DESC) AS because
    FROM alarm
    JOIN certificate USING (sdk_app_id, business_id)
    WHERE alarm.kind IN ('signing_key_refused', 'provider_token_refused', 'topic_refused', 'secret_not_readable')
        AND alarm.ended_at IS NULL AND coalesce(alarm.fades_at > now(), true)
        AND alarm.last_seen >= certificate.updated_at
    GROUP BY alarm.sdk_app_id, alarm.business_id
), joined AS (
    SELECT
        app.sdk_app_id, app.name, certificate.business_id, certificate.bundle_id, certificate.environment,
        certificate.key_id,
        coalesce(pushes.pushes_hour, 0) AS pushes_hour, coalesce(pushes.accepted_hour, 0) AS accepted_hour,
        coalesce(pushes.refused_hour, 0) AS refused_hour, coalesce(pushes.dead_hour, 0) AS dead_hour,
        coalesce(pushes.pushes_day, 0) AS pushes_day, coalesce(pushes.accepted_day, 0) AS accepted_day,
        coalesce(pushes.refused_day, 0) AS refused_day, coalesce(pushes.dead_day, 0) AS dead_day,
        pushes.last_accepted_at, pushes.last_refused_at,
        coalesce(waiting.waiting, 0) AS waiting, now() - waiting.oldest AS oldest_waiting,
        CASE
            WHEN certificate.business_id IS NULL THEN 'the app has no certificate'
            ELSE held.because
        END AS held_because
    FROM app
    LEFT JOIN certificate USING (sdk_app_id)
    LEFT JOIN pushes USING (sdk_app_id, business_id)
    LEFT JOIN held USING (sdk_app_id, business_id)
    LEFT JOIN waiting USING (sdk_app_id)
)
SELECT
    joined.sdk_app_id, joined.name, joined.business_id, joined.bundle_id, joined.environment, joined.key_id,
    CASE
        WHEN joined.held_because IS NOT NULL AND joined.business_id IS NOT NULL THEN 'failing'
        WHEN joined.refused_hour > 0 AND joined.accepted_hour = 0 THEN 'failing'
        WHEN joined.business_id IS NULL AND joined.waiting > 0 THEN 'failing'
        WHEN joined.refused_hour * 10 >= joined.pushes_hour AND joined.refused_hour > 0 THEN 'degraded'
        WHEN joined.oldest_waiting > interval '5 minutes' THEN 'degraded'
        WHEN joined.pushes_hour = 0 THEN 'idle'
        ELSE 'ok'
    END AS health,
    joined.held_because, joined.pushes_hour, joined.accepted_hour, joined.refused_hour, joined.dead_hour,
    joined.pushes_day, joined.accepted_day, joined.refused_day, joined.dead_day, joined.last_accepted_at,
    joined.last_refused_at, refusal.apns_reason AS last_refusal, joined.waiting, joined.oldest_waiting
FROM joined
LEFT JOIN LATERAL (
    SELECT delivery.apns_reason FROM delivery
    WHERE delivery.finished_at = joined.last_refused_at AND delivery.accepted_at > now() - interval '9 days'
        AND delivery.sdk_app_id = joined.sdk_app_id AND delivery.business_id = joined.business_id
        AND delivery.outcome = 'refused'
    LIMIT 1
) AS refusal ON true;
COMMENT ON VIEW app_health IS 'How each certificate of each app fares, those included that were never used; an app without one has a row too.';
COMMENT ON COLUMN app_health.sdk_app_id IS 'The app.';
COMMENT ON COLUMN app_health.name IS 'Its name.';
COMMENT ON COLUMN app_health.business_id IS 'The certificate; null: the app has none.';
COMMENT ON COLUMN app_health.bundle_id IS 'Bundle id of the iOS app.';
COMMENT ON COLUMN app_health.environment IS 'The APNs environment of its tokens: sandbox, production or both.';
COMMENT ON COLUMN app_health.key_id IS 'Id of the .p8 key.';
COMMENT ON COLUMN app_health.health IS 'failing: held_because says why, or APNs refused pushes in the last hour and accepted none, or work waits for an app without a certificate. degraded: a tenth or more of the last hour''s pushes were refused, or the app''s oldest work waits for more than 5 minutes. idle: no push in the last hour. ok: all else; dead tokens are ordinary.';
COMMENT ON COLUMN app_health.held_because IS 'What a person has to mend before this certificate''s pushes go out.';
COMMENT ON COLUMN app_health.pushes_hour IS 'Pushes that got their outcome in the last hour.';
COMMENT ON COLUMN app_health.accepted_hour IS 'Of these, accepted by APNs.';
COMMENT ON COLUMN app_health.refused_hour IS 'Of these, refused by APNs.';
COMMENT ON COLUMN app_health.dead_hour IS 'Of these, to tokens that were dead (410).';
COMMENT ON COLUMN app_health.pushes_day IS 'Pushes that got their outcome in the last 24 hours.';
COMMENT ON COLUMN app_health.accepted_day IS 'Of these, accepted by APNs.';
COMMENT ON COLUMN app_health.refused_day IS 'Of these, refused by APNs.';
COMMENT ON COLUMN app_health.dead_day IS 'Of these, to tokens that were dead (410).';
COMMENT ON COLUMN app_health.last_accepted_at IS 'The newest accepted push of the last 24 hours; null: there was none.';
COMMENT ON COLUMN app_health.last_refused_at IS 'The newest refused push of the last 24 hours; null: there was none.';
COMMENT ON COLUMN app_health.last_refusal IS 'APNs'' reason for that one.';
COMMENT ON COLUMN app_health.waiting IS 'What waits for an attempt, all certificates of the app together. Counted among the 10,000 rows of all apps that are due first.';
COMMENT ON COLUMN app_health.oldest_waiting IS 'How long ago the oldest of these was accepted.';

CREATE VIEW alarms AS
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
COMMENT ON VIEW alarms IS 'What a person must act on, now. Empty: nothing.';
COMMENT ON COLUMN alarms.kind IS 'What is wrong, one word.';
COMMENT ON COLUMN alarms.sdk_app_id IS 'The app; null: all of them.';
COMMENT ON COLUMN alarms.business_id IS 'The certificate, where it is about one.';
COMMENT ON COLUMN alarms.environment IS 'The APNs environment, where it is about one.';
COMMENT ON COLUMN alarms.key_id IS 'Id of that certificate''s .p8 key.';
COMMENT ON COLUMN alarms.since IS 'Since when, at the earliest since its certificate was replaced last; null: not known.';
COMMENT ON COLUMN alarms.last_seen IS 'When it was seen last; now, where the view itself finds it.';
COMMENT ON COLUMN alarms.count IS 'How many refusals, messages, rows or registrations it concerns.';
COMMENT ON COLUMN alarms.detail IS 'What is wrong, in words.';
COMMENT ON COLUMN alarms.what_to_do IS 'What to do about it.';
