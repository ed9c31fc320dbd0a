-- Push-to-start tokens: where a Live Activity is brought up. Like the others they belong to an installation, of which one
-- account is the owner.

CREATE TABLE start_token (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    account text NOT NULL,
    attributes_type text NOT NULL CHECK (octet_length(attributes_type) BETWEEN 1 AND 128),
    installation text NOT NULL,
    token bytea NOT NULL,
    business_id bigint NOT NULL,
    environment text CHECK (environment IN ('sandbox', 'production')),
    os_version text,
    app_version text,
    sequence bigint,
    content_hash bigint,
    registered_at timestamptz NOT NULL DEFAULT now(),
    bad_days smallint NOT NULL DEFAULT 0,
    last_bad_day date,
    quarantined_at timestamptz,
    PRIMARY KEY (sdk_app_id, account, attributes_type, installation)
);
CREATE UNIQUE INDEX start_token_installation ON start_token (sdk_app_id, installation, attributes_type);
-- Not unique: nobody promises that the types of one app have tokens of their own.
CREATE INDEX start_token_token ON start_token (sdk_app_id, token);
CREATE INDEX start_token_business ON start_token (sdk_app_id, business_id);
COMMENT ON TABLE start_token IS 'Push-to-start tokens: where pushes go that bring up a Live Activity. An installation has one for each ActivityAttributes type.';
COMMENT ON COLUMN start_token.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN start_token.account IS 'The account that is logged in on the installation.';
COMMENT ON COLUMN start_token.attributes_type IS 'Name of the ActivityAttributes type whose activities it starts.';
COMMENT ON COLUMN start_token.installation IS 'The app''s own id of this installation.';
COMMENT ON COLUMN start_token.token IS 'The ActivityKit push-to-start token, raw bytes.';
COMMENT ON COLUMN start_token.business_id IS 'The certificate that pushes to it.';
COMMENT ON COLUMN start_token.environment IS 'The APNs environment the phone named or in which a push was accepted; null until known.';
COMMENT ON COLUMN start_token.os_version IS 'iOS version as reported with it; null: that of the device counts.';
COMMENT ON COLUMN start_token.app_version IS 'App version as reported with it.';
COMMENT ON COLUMN start_token.sequence IS 'The installation''s counter of the last change of this row; null: it sends none.';
COMMENT ON COLUMN start_token.content_hash IS 'Hash of the registration as it was last put: tells a repeat from another one with the same sequence.';
COMMENT ON COLUMN start_token.registered_at IS 'When this token was last registered; compared with the time of a 410.';
COMMENT ON COLUMN start_token.bad_days IS 'On how many UTC days every APNs environment answered BadDeviceToken for the token while it accepted pushes to others of the app; 0 after an accepted push.';
COMMENT ON COLUMN start_token.last_bad_day IS 'The last of those days.';
COMMENT ON COLUMN start_token.quarantined_at IS 'When the third of those days came: no more pushes, and livepush retention removes the row after 7 days. Registering the token lifts it; one more failure then quarantines it again.';
CREATE TRIGGER lift_quarantine BEFORE UPDATE OF registered_at ON start_token
    FOR EACH ROW EXECUTE FUNCTION lift_quarantine();

ALTER TABLE registration_clear DROP CONSTRAINT registration_clear_kind_check,
    ADD CONSTRAINT registration_clear_kind_check CHECK (kind IN ('device', 'activity', 'start'));
COMMENT ON COLUMN registration_clear.la_id IS 'The activity that was cleared, or the attributes type of the start token; empty: all of the installation, or its device token.';
ALTER TABLE registration_transfer ADD COLUMN start_tokens integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN registration_transfer.start_tokens IS 'How many push-to-start tokens were taken.';

CREATE OR REPLACE FUNCTION comes_too_late(
    for_app bigint, for_account text, for_installation text, of_kind text, for_la_id text, new_sequence bigint
) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(new_sequence <= greatest(
        (SELECT max(sequence) FROM device
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account),
        (SELECT max(sequence) FROM live_activity
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account),
        (SELECT max(sequence) FROM start_token
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account),
        (SELECT max(sequence) FROM registration_clear
            WHERE sdk_app_id = for_app AND installation = for_installation AND kind = of_kind
                AND la_id IN ('', for_la_id) AND cleared_at > clock_timestamp() - interval '24 hours')
    ), false)
$$;

CREATE OR REPLACE FUNCTION take_installation(
    for_app bigint, for_installation text, new_account text, for_reason text
) RETURNS void
LANGUAGE sql VOLATILE AS $$
    WITH devices AS (
        DELETE FROM device
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> new_account
        RETURNING account
    ), activities AS (
        DELETE FROM live_activity
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> new_account
        RETURNING account
    ), starts AS (
        DELETE FROM start_token
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> new_account
        RETURNING account
    ), lost AS (
        SELECT account, 1 AS devices, 0 AS activities, 0 AS start_tokens FROM devices
        UNION ALL
        SELECT account, 0, 1, 0 FROM activities
        UNION ALL
        SELECT account, 0, 0, 1 FROM starts
    )
    INSERT INTO registration_transfer
        (sdk_app_id, installation, from_account, to_account, reason, devices, activities, start_tokens)
    SELECT for_app, for_installation, account, new_account, for_reason, sum(devices), sum(activities), sum(start_tokens)
    FROM lost GROUP BY account
$$;

CREATE FUNCTION register_start_token(
    for_app bigint, for_account text, for_attributes_type text, for_installation text, new_token bytea,
    new_business_id bigint, new_environment text, new_os_version text, new_app_version text, new_sequence bigint
) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    new_content CONSTANT bigint := hashtextextended(
        ROW (for_account, new_token, new_business_id, new_environment, new_os_version, new_app_version)::text, 0);
    own start_token;
BEGIN
    PERFORM lock_installation(for_app, for_installation);
    PERFORM lock_token(for_app, new_token);

    SELECT * INTO own FROM start_token
        WHERE sdk_app_id = for_app AND installation = for_installation AND attributes_type = for_attributes_type;
    IF is_stale_sequence(new_sequence, new_content, own.sequence, own.content_hash)
        OR comes_too_late(for_app, for_account, for_installation, 'start', for_attributes_type, new_sequence) THEN
        RETURN false;
    END IF;

    PERFORM 1 FROM device
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account
        ORDER BY account, installation FOR UPDATE;
    PERFORM 1 FROM live_activity
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account
        ORDER BY account, la_id, installation FOR UPDATE;
    PERFORM 1 FROM start_token
        WHERE sdk_app_id = for_app AND (installation = for_installation OR token = new_token)
        ORDER BY account, attributes_type, installation FOR UPDATE;
    PERFORM take_installation(for_app, for_installation, for_account, 'installation');
    WITH elsewhere AS (
        DELETE FROM start_token
        WHERE sdk_app_id = for_app AND token = new_token
            AND (account, installation) <> (for_account, for_installation)
        RETURNING account, installation
    )
    INSERT INTO registration_transfer
        (sdk_app_id, installation, from_account, to_account, reason, devices, activities, start_tokens)
    SELECT for_app, installation, account, for_account, 'token', 0, 0, count(*)
    FROM elsewhere WHERE account <> for_account GROUP BY account, installation;

    INSERT INTO start_token AS stored (
        sdk_app_id, account, attributes_type, installation, token, business_id, environment, os_version, app_version,
        sequence, content_hash, registered_at)
    VALUES (
        for_app, for_account, for_attributes_type, for_installation, new_token, new_business_id, new_environment,
        new_os_version, new_app_version, new_sequence, new_content, clock_timestamp())
    ON CONFLICT (sdk_app_id, account, attributes_type, installation) DO UPDATE SET
        token = excluded.token,
        business_id = excluded.business_id,
        environment = CASE WHEN stored.token = excluded.token
            THEN coalesce(excluded.environment, stored.environment) ELSE excluded.environment END,
        os_version = coalesce(excluded.os_version, stored.os_version),
        app_version = coalesce(excluded.app_version, stored.app_version),
        sequence = coalesce(excluded.sequence, stored.sequence),
        content_hash = excluded.content_hash,
        registered_at = excluded.registered_at;
    RETURN true;
END
$$;
COMMENT ON FUNCTION register_start_token(bigint, text, text, text, bytea, bigint, text, text, text, bigint) IS 'PUT /v1/start-tokens: registers a push-to-start token in place of the installation''s former one for the type, takes installation and token from whoever had them. False: the sequence is stale, nothing changed. Null never clears.';

CREATE FUNCTION clear_start_token(
    for_app bigint, for_account text, for_installation text, for_attributes_type text, new_sequence bigint
) RETURNS TABLE (cleared integer, is_stale boolean)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM lock_installation(for_app, for_installation);

    -- Another account is logged in there by now: nothing of the caller is left, and its memory must not bind the other.
    IF EXISTS (SELECT FROM device
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account)
        OR EXISTS (SELECT FROM live_activity
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account)
        OR EXISTS (SELECT FROM start_token
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account) THEN
        RETURN QUERY SELECT 0, false;
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM start_token
            WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
                AND attributes_type = for_attributes_type AND sequence >= new_sequence) THEN
        RETURN QUERY SELECT 0, true;
        RETURN;
    END IF;
    IF new_sequence IS NOT NULL THEN
        INSERT INTO registration_clear AS known (sdk_app_id, installation, kind, la_id, sequence)
        VALUES (for_app, for_installation, 'start', for_attributes_type, new_sequence)
        ON CONFLICT (sdk_app_id, installation, kind, la_id) DO UPDATE SET
            sequence = greatest(known.sequence, excluded.sequence), cleared_at = excluded.cleared_at;
    END IF;
    DELETE FROM start_token
        WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
            AND attributes_type = for_attributes_type;
    GET DIAGNOSTICS cleared = ROW_COUNT;
    is_stale := false;
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION clear_start_token(bigint, text, text, text, bigint) IS 'DELETE /v1/start-tokens: forgets the installation''s token for one type. is_stale: it was registered with the same or a higher sequence.';

CREATE OR REPLACE FUNCTION clear_registrations(
    for_app bigint, for_account text, for_installation text, only_la_id text, with_device boolean, new_sequence bigint
) RETURNS TABLE (cleared integer, is_stale boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    devices integer := 0;
    activities integer;
    starts integer := 0;
BEGIN
    PERFORM lock_installation(for_app, for_installation);

    -- Another account is logged in there by now: nothing of the caller is left, and its memory must not bind the other.
    IF EXISTS (SELECT FROM device
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account)
        OR EXISTS (SELECT FROM live_activity
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account)
        OR EXISTS (SELECT FROM start_token
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account) THEN
        RETURN QUERY SELECT 0, false;
        RETURN;
    END IF;
    IF only_la_id IS NOT NULL AND EXISTS (SELECT FROM live_activity
            WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
                AND la_id = only_la_id AND sequence >= new_sequence) THEN
        RETURN QUERY SELECT 0, true;
        RETURN;
    END IF;

    IF new_sequence IS NOT NULL THEN
        INSERT INTO registration_clear AS known (sdk_app_id, installation, kind, la_id, sequence)
        SELECT for_app, for_installation, 'activity', coalesce(only_la_id, ''), new_sequence
        UNION ALL
        SELECT for_app, for_installation, of_kind, '', new_sequence
        FROM unnest(ARRAY['device', 'start']) AS of_kind WHERE with_device
        ON CONFLICT (sdk_app_id, installation, kind, la_id) DO UPDATE SET
            sequence = greatest(known.sequence, excluded.sequence), cleared_at = excluded.cleared_at;
        DELETE FROM registration_clear WHERE (sdk_app_id, installation, kind, la_id) IN (
            SELECT sdk_app_id, installation, kind, la_id FROM registration_clear
            WHERE cleared_at < now() - interval '24 hours'
            ORDER BY cleared_at LIMIT 100 FOR UPDATE SKIP LOCKED);
    END IF;

    IF with_device THEN
        DELETE FROM device
            WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
                AND coalesce(sequence < new_sequence, true);
        GET DIAGNOSTICS devices = ROW_COUNT;
    END IF;
    PERFORM 1 FROM live_activity
        WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
        ORDER BY la_id FOR UPDATE;
    DELETE FROM live_activity
        WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
            AND (only_la_id IS NULL OR la_id = only_la_id) AND coalesce(sequence < new_sequence, true);
    GET DIAGNOSTICS activities = ROW_COUNT;
    IF with_device THEN
        PERFORM 1 FROM start_token
            WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
            ORDER BY attributes_type FOR UPDATE;
        DELETE FROM start_token
            WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
                AND coalesce(sequence < new_sequence, true);
        GET DIAGNOSTICS starts = ROW_COUNT;
    END IF;
    RETURN QUERY SELECT devices + activities + starts, false;
END
$$;
COMMENT ON FUNCTION clear_registrations(bigint, text, text, text, boolean, bigint) IS 'DELETE under /v1: forgets one activity (only_la_id), all activities, or with_device the log-out of an installation, which takes its start tokens too. Rows with the same or a higher sequence stay; is_stale: the one activity is such a row.';

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
COMMENT ON COLUMN registrations.kind IS 'device: where notifications go; activity: where Live Activity pushes go; start: where pushes go that bring up an activity.';
COMMENT ON COLUMN registrations.expires_at IS 'When the last update of an activity can go out; null for device and start.';

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
), start_key AS (
    (SELECT sdk_app_id, business_id FROM start_token ORDER BY sdk_app_id, business_id LIMIT 1)
    UNION ALL
    SELECT following.sdk_app_id, following.business_id
    FROM start_key
    CROSS JOIN LATERAL (
        SELECT start_token.sdk_app_id, start_token.business_id FROM start_token
        WHERE (start_token.sdk_app_id, start_token.business_id) > (start_key.sdk_app_id, start_key.business_id)
        ORDER BY start_token.sdk_app_id, start_token.business_id LIMIT 1
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
            LIMIT 10000) AS first_rows)
        + (SELECT count(*) FROM (
            SELECT FROM start_token
            WHERE start_token.sdk_app_id = named.sdk_app_id AND start_token.business_id = named.business_id
            LIMIT 10000) AS first_rows),
        format('tokens are registered for businessId %s, which the app has no certificate for', named.business_id)
    FROM (SELECT * FROM device_key UNION SELECT * FROM activity_key UNION SELECT * FROM start_key) AS named
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

ALTER TABLE app ADD COLUMN extensions boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN app.extensions IS 'true: callers may use fields that the vendor of the API does not have, such as Event start.';

-- Starts. A second start of one activity would make a second card, so whether one may go out is decided by a row, whatever
-- lane or process asks; updates of an activity that is coming up wait for its update token.

-- When the phone was sent starts: changes with every start, so no index may hold it, and a page has room for it.
ALTER TABLE start_token SET (fillfactor = 80);
ALTER TABLE start_token ADD COLUMN recent_starts timestamptz[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN start_token.recent_starts IS 'When starts were sent to it within the window of the start guard, newest first; iOS takes few of them, and APNs answers 200 to the rest.';

CREATE TABLE activity_start (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    account text NOT NULL,
    la_id text NOT NULL,
    installation text NOT NULL,
    message_id bigint NOT NULL,
    token_fingerprint text NOT NULL,
    last_timestamp bigint NOT NULL,
    sent_at timestamptz,
    expires_at timestamptz NOT NULL,
    waits_until timestamptz NOT NULL,
    registered_at timestamptz,
    waiting_message bigint,
    waiting_end bigint,
    alert_message bigint,
    alert bytea,
    alert_until timestamptz,
    PRIMARY KEY (sdk_app_id, account, la_id, installation)
);
CREATE INDEX activity_start_installation ON activity_start (sdk_app_id, installation);
COMMENT ON TABLE activity_start IS 'The newest start of each activity that was pushed to a phone, and what waits for its update token.';
COMMENT ON COLUMN activity_start.sdk_app_id IS 'The app.';
COMMENT ON COLUMN activity_start.account IS 'The recipient.';
COMMENT ON COLUMN activity_start.la_id IS 'The app''s own id of the activity.';
COMMENT ON COLUMN activity_start.installation IS 'The app''s own id of the installation.';
COMMENT ON COLUMN activity_start.message_id IS 'The message whose start it is.';
COMMENT ON COLUMN activity_start.token_fingerprint IS 'token_fingerprint() of the push-to-start token.';
COMMENT ON COLUMN activity_start.last_timestamp IS 'aps.timestamp of the newest attempt; the activity''s updates are greater.';
COMMENT ON COLUMN activity_start.sent_at IS 'When the newest attempt was made; null: the start guard delays it.';
COMMENT ON COLUMN activity_start.expires_at IS 'apns-expiration of the start: until then APNs may deliver it.';
COMMENT ON COLUMN activity_start.waits_until IS 'How long its update token is waited for; until then no other start of the activity goes to the phone.';
COMMENT ON COLUMN activity_start.registered_at IS 'When the phone registered an update token of the activity: it came up.';
COMMENT ON COLUMN activity_start.waiting_message IS 'The newest message that waits for the update token; older ones are superseded.';
COMMENT ON COLUMN activity_start.waiting_end IS 'The message whose end waits for it.';
COMMENT ON COLUMN activity_start.alert_message IS 'The message whose alert goes out with the newest state.';
COMMENT ON COLUMN activity_start.alert IS 'That alert, a JSON object with title, body and sound.';
COMMENT ON COLUMN activity_start.alert_until IS 'The deadline of its message; it is not sent later.';

CREATE FUNCTION wake_waiting_updates() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pending SET due = clock_timestamp()
    WHERE account = OLD.account AND message_id IN (OLD.waiting_message, OLD.waiting_end)
        AND instance_id IS NULL AND reason = 'update_token_awaited' AND due > clock_timestamp();
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION wake_waiting_updates() IS 'Trigger: the activity came up, or will not; what waits for its update token goes on.';
CREATE TRIGGER wake_waiting_updates AFTER DELETE OR UPDATE OF registered_at ON activity_start
    FOR EACH ROW EXECUTE FUNCTION wake_waiting_updates();
COMMENT ON TRIGGER wake_waiting_updates ON activity_start IS 'What waits for the update token goes on.';

CREATE FUNCTION activity_came_up() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    started activity_start;
BEGIN
    SELECT * INTO started FROM activity_start
        WHERE sdk_app_id = NEW.sdk_app_id AND account = NEW.account AND la_id = NEW.la_id
            AND installation = NEW.installation AND registered_at IS NULL
        FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE live_activity SET
        last_timestamp = greatest(last_timestamp, started.last_timestamp),
        next_message = greatest(next_message, started.message_id, started.waiting_message)
    WHERE sdk_app_id = NEW.sdk_app_id AND account = NEW.account AND la_id = NEW.la_id
        AND installation = NEW.installation;
    INSERT INTO waiting_alert (sdk_app_id, account, la_id, installation, message_id, content, until)
    SELECT NEW.sdk_app_id, NEW.account, NEW.la_id, NEW.installation, started.alert_message, started.alert,
        started.alert_until
    WHERE started.alert_message < started.waiting_message AND started.alert_until > clock_timestamp()
    ON CONFLICT (sdk_app_id, account, la_id, installation) DO NOTHING;
    UPDATE activity_start SET registered_at = clock_timestamp(), alert = NULL
    WHERE sdk_app_id = NEW.sdk_app_id AND account = NEW.account AND la_id = NEW.la_id
        AND installation = NEW.installation;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION activity_came_up() IS 'Trigger: an activity that was started by a push has its update token. Of what waits for it the newest goes out, with a timestamp above that of the start.';
CREATE TRIGGER activity_came_up AFTER INSERT OR UPDATE OF registered_at ON live_activity
    FOR EACH ROW EXECUTE FUNCTION activity_came_up();
COMMENT ON TRIGGER activity_came_up ON live_activity IS 'What waits for the update token of a started activity goes on.';

-- Starts of an installation go with its start tokens: its account, and whether it is known at all.
CREATE FUNCTION forget_starts() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM activity_start
    WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND installation = OLD.installation
        AND NOT EXISTS (
            SELECT FROM start_token
            WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND installation = OLD.installation)
        AND NOT EXISTS (
            SELECT FROM live_activity
            WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND installation = OLD.installation);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION forget_starts() IS 'Trigger: with its last start token an installation forgets what was started there, and nothing waits for it any more.';
CREATE TRIGGER forget_starts AFTER DELETE ON start_token
    FOR EACH ROW EXECUTE FUNCTION forget_starts();
COMMENT ON TRIGGER forget_starts ON start_token IS 'Nothing waits for an activity of an installation that nobody knows any more.';

CREATE FUNCTION forget_start() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM activity_start
    WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND la_id = OLD.la_id
        AND installation = OLD.installation AND registered_at IS NOT NULL;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION forget_start() IS 'Trigger: an activity that came up and is forgotten may be started anew.';
CREATE TRIGGER forget_start AFTER DELETE ON live_activity
    FOR EACH ROW EXECUTE FUNCTION forget_start();
COMMENT ON TRIGGER forget_start ON live_activity IS 'An activity that came up and is forgotten may be started anew.';

CREATE FUNCTION runs_activity(for_app bigint, for_account text, for_la_id text, for_installation text) RETURNS boolean
LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (
        SELECT FROM live_activity
        WHERE sdk_app_id = for_app AND account = for_account AND la_id = for_la_id AND installation = for_installation
            AND end_message IS NULL AND quarantined_at IS NULL AND started_at > clock_timestamp() - interval '8 hours')
$$;
COMMENT ON FUNCTION runs_activity(bigint, text, text, text) IS 'Whether a phone registered the activity, and it has not ended: it may have come up since somebody looked.';

CREATE FUNCTION await_update_tokens(
    for_app bigint, for_account text, for_la_id text, for_message bigint, for_end boolean, excepted text[],
    new_alert bytea, new_alert_until timestamptz
) RETURNS TABLE (verdict text, installation text, token_fingerprint text, until timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    started activity_start;
    is_superseded boolean;
BEGIN
    FOR started IN
        SELECT * FROM activity_start
        WHERE sdk_app_id = for_app AND account = for_account AND la_id = for_la_id AND installation <> ALL (excepted)
        ORDER BY installation FOR UPDATE
    LOOP
        IF started.registered_at IS NOT NULL OR started.waits_until <= clock_timestamp()
            OR started.message_id = for_message
            -- Of an end that was accepted before the start, the activity that it ended is another.
            OR (for_end AND started.message_id > for_message) THEN
            UPDATE activity_start SET
                waiting_message = nullif(waiting_message, for_message), waiting_end = nullif(waiting_end, for_message)
            WHERE sdk_app_id = for_app AND account = for_account AND la_id = for_la_id
                AND installation = started.installation AND for_message IN (waiting_message, waiting_end);
            CONTINUE WHEN started.registered_at IS NULL
                OR NOT runs_activity(for_app, for_account, for_la_id, started.installation);
            verdict := 'came_up';
            installation := started.installation;
            token_fingerprint := started.token_fingerprint;
            until := clock_timestamp();
            RETURN NEXT;
            CONTINUE;
        END IF;
        is_superseded := NOT for_end AND greatest(started.message_id, started.waiting_message) > for_message;
        IF NOT is_superseded AND started.waiting_message < for_message THEN
            -- It learns at once that it is superseded.
            UPDATE pending SET due = clock_timestamp()
            WHERE account = for_account AND message_id = started.waiting_message
                AND instance_id IS NULL AND reason = 'update_token_awaited';
        END IF;
        UPDATE activity_start SET
            waiting_message = CASE WHEN is_superseded THEN waiting_message
                ELSE greatest(waiting_message, for_message) END,
            waiting_end = CASE WHEN for_end THEN for_message ELSE waiting_end END,
            alert_message = CASE WHEN takes_alert.it THEN for_message ELSE alert_message END,
            alert = CASE WHEN takes_alert.it THEN new_alert ELSE alert END,
            alert_until = CASE WHEN takes_alert.it THEN new_alert_until ELSE alert_until END
        FROM (SELECT new_alert IS NOT NULL AND for_message >= coalesce(started.alert_message, 0) AS it) AS takes_alert
        WHERE sdk_app_id = for_app AND account = for_account AND la_id = for_la_id
            AND installation = started.installation;
        verdict := CASE WHEN is_superseded THEN 'superseded' ELSE 'under_way' END;
        installation := started.installation;
        token_fingerprint := started.token_fingerprint;
        until := started.waits_until;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION await_update_tokens(bigint, text, text, bigint, boolean, text[], bytea, timestamptz) IS 'Phones on which an activity that was started by a push may still come up: under_way: the message waits for their update tokens; superseded: by a newer one that does; came_up: it did, since the caller looked.';

CREATE FUNCTION claim_starts(
    for_app bigint, for_account text, for_la_id text, for_attributes_type text, for_message bigint,
    deadline timestamptz, may_have_been_sent boolean, excepted text[], lifetime interval, token_wait interval,
    guard_limit bigint, guard_window interval, is_delayed boolean
) RETURNS TABLE (
    verdict text, installation text, token bytea, token_fingerprint text, business_id bigint, environment text,
    os_version text, last_timestamp bigint, expires_at timestamptz, until timestamptz, has_bad_days boolean
)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    own start_token;
    started activity_start;
    right_now timestamptz;
    starts timestamptz[];
    is_known boolean;
BEGIN
    FOR own IN
        SELECT * FROM start_token
        WHERE sdk_app_id = for_app AND account = for_account AND attributes_type = for_attributes_type
            AND installation || ':' || token_fingerprint(token) <> ALL (excepted)
        ORDER BY installation FOR UPDATE
    LOOP
        right_now := clock_timestamp();
        installation := own.installation;
        token := own.token;
        token_fingerprint := token_fingerprint(own.token);
        business_id := own.business_id;
        environment := own.environment;
        os_version := coalesce(own.os_version, (
            SELECT device.os_version FROM device
            WHERE sdk_app_id = for_app AND account = for_account AND installation = own.installation));
        has_bad_days := own.bad_days > 0;
        last_timestamp := 0;
        expires_at := NULL;
        until := NULL;

        SELECT * INTO started FROM activity_start
            WHERE sdk_app_id = for_app AND account = for_account AND la_id = for_la_id
                AND installation = own.installation
            FOR UPDATE;
        is_known := FOUND AND started.registered_at IS NULL;
        IF own.quarantined_at IS NOT NULL THEN
            verdict := 'quarantined';
            RETURN NEXT;
            CONTINUE;
        END IF;
        -- A newer one, or it came up.
        IF started.message_id > for_message
            OR (started.message_id = for_message AND started.registered_at IS NOT NULL) THEN
            verdict := 'superseded';
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF is_known AND started.message_id = for_message AND started.waiting_end IS NOT NULL AND started.sent_at IS NULL
        THEN
            -- It was delayed, and the activity has ended by now.
            verdict := 'superseded';
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF is_known AND started.message_id = for_message AND started.sent_at IS NOT NULL THEN
            IF right_now >= started.expires_at OR started.waiting_end IS NOT NULL THEN
                verdict := CASE WHEN started.waiting_end IS NULL THEN 'expired' ELSE 'superseded' END;
                RETURN NEXT;
                CONTINUE;
            END IF;
            verdict := 'claimed';
            expires_at := started.expires_at;
            last_timestamp := started.last_timestamp;
            -- The same within 10 s of an attempt whose outcome is unknown: the same timestamp.
            IF NOT may_have_been_sent OR started.sent_at <= right_now - interval '10 seconds' THEN
                last_timestamp := greatest(floor(date_part('epoch', right_now))::bigint, started.last_timestamp + 1);
            END IF;
            UPDATE activity_start SET
                last_timestamp = claim_starts.last_timestamp, sent_at = right_now,
                token_fingerprint = claim_starts.token_fingerprint
            WHERE sdk_app_id = for_app AND account = for_account AND la_id = for_la_id
                AND installation = own.installation;
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF is_known AND started.message_id <> for_message AND started.waits_until > right_now THEN
            SELECT awaited.verdict, awaited.until
                INTO verdict, until
                FROM await_update_tokens(for_app, for_account, for_la_id, for_message, false, '{}', NULL, NULL) AS awaited
                WHERE awaited.installation = own.installation;
            RETURN NEXT;
            CONTINUE;
        END IF;

        IF runs_activity(for_app, for_account, for_la_id, own.installation) THEN
            verdict := 'came_up';
            RETURN NEXT;
            CONTINUE;
        END IF;
        SELECT coalesce(array_agg(start.at ORDER BY start.at DESC), '{}') INTO starts
            FROM start_token AS other CROSS JOIN LATERAL unnest(other.recent_starts) AS start (at)
            WHERE other.sdk_app_id = for_app AND other.account = for_account
                AND other.installation = own.installation AND start.at > right_now - guard_window;
        IF cardinality(starts) >= guard_limit THEN
            verdict := 'guarded';
            until := coalesce(starts[guard_limit::integer], right_now) + guard_window;
            IF NOT is_delayed THEN
                until := NULL;
                RETURN NEXT;
                CONTINUE;
            END IF;
        ELSE
            verdict := 'claimed';
            expires_at := least(deadline, right_now + lifetime);
            last_timestamp := greatest(
                floor(date_part('epoch', right_now))::bigint, coalesce(started.last_timestamp, 0) + 1);
            UPDATE start_token SET recent_starts = right_now || ARRAY (
                SELECT at FROM unnest(recent_starts) AS at WHERE at > right_now - guard_window ORDER BY at DESC)
            WHERE sdk_app_id = for_app AND account = for_account AND attributes_type = for_attributes_type
                AND installation = own.installation;
        END IF;
        INSERT INTO activity_start AS stored (
            sdk_app_id, account, la_id, installation, message_id, token_fingerprint, last_timestamp, sent_at,
            expires_at, waits_until)
        VALUES (
            for_app, for_account, for_la_id, own.installation, for_message, claim_starts.token_fingerprint,
            greatest(claim_starts.last_timestamp, started.last_timestamp),
            CASE WHEN verdict = 'claimed' THEN right_now END,
            coalesce(claim_starts.expires_at, until + lifetime),
            coalesce(claim_starts.expires_at, until + lifetime) + token_wait)
        ON CONFLICT (sdk_app_id, account, la_id, installation) DO UPDATE SET
            message_id = excluded.message_id, token_fingerprint = excluded.token_fingerprint,
            last_timestamp = excluded.last_timestamp, sent_at = excluded.sent_at, expires_at = excluded.expires_at,
            waits_until = excluded.waits_until, registered_at = NULL,
            -- What waits for a delayed start goes on waiting for it.
            waiting_message = CASE WHEN stored.message_id = excluded.message_id THEN stored.waiting_message END,
            waiting_end = CASE WHEN stored.message_id = excluded.message_id THEN stored.waiting_end END,
            alert_message = CASE WHEN stored.message_id = excluded.message_id THEN stored.alert_message END,
            alert = CASE WHEN stored.message_id = excluded.message_id THEN stored.alert END,
            alert_until = CASE WHEN stored.message_id = excluded.message_id THEN stored.alert_until END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION claim_starts(bigint, text, text, text, bigint, timestamptz, boolean, text[], interval, interval, bigint, interval, boolean) IS 'Decides for each phone of an account whether a start may be sent to it now: claimed; under_way (another start may still come up, the message waits for its update token); superseded (by a newer message); guarded (too many starts lately); came_up (the activity runs there, since the caller looked); expired (it was tried for so long); quarantined. No two calls at one time for one account.';
