-- How phones register and clear. Each function is one transaction's worth: it reads, decides and writes while nothing
-- else can change the installation, in one round trip. Locks are taken in one order by all of them: installation,
-- token, rows of device, rows of live_activity, the latter two in key order, as the claim takes them.

CREATE FUNCTION lock_installation(for_app bigint, for_installation text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(for_app || ' ' || for_installation, 1))
$$;
COMMENT ON FUNCTION lock_installation(bigint, text) IS 'Makes registrations and clears of one installation wait for each other until the transaction ends.';

CREATE FUNCTION lock_token(for_app bigint, for_token bytea) RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(for_app || ' ' || encode(for_token, 'hex'), 2))
$$;
COMMENT ON FUNCTION lock_token(bigint, bytea) IS 'Makes registrations of one token by several installations wait for each other until the transaction ends.';

CREATE FUNCTION is_stale_sequence(
    new_sequence bigint, new_content bigint, stored_sequence bigint, stored_content bigint
) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(
        new_sequence < stored_sequence
            OR (new_sequence = stored_sequence AND new_content IS DISTINCT FROM stored_content),
        false)
$$;
COMMENT ON FUNCTION is_stale_sequence(bigint, bigint, bigint, bigint) IS 'Whether a change comes too late for a row: a lower sequence, or the same with other content. Without a sequence on either side the order of arrival counts.';

CREATE FUNCTION comes_too_late(
    for_app bigint, for_account text, for_installation text, of_kind text, for_la_id text, new_sequence bigint
) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(new_sequence <= greatest(
        (SELECT max(sequence) FROM device
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account),
        (SELECT max(sequence) FROM live_activity
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account),
        (SELECT max(sequence) FROM registration_clear
            WHERE sdk_app_id = for_app AND installation = for_installation AND kind = of_kind
                AND la_id IN ('', for_la_id) AND cleared_at > clock_timestamp() - interval '24 hours')
    ), false)
$$;
COMMENT ON FUNCTION comes_too_late(bigint, text, text, text, text, bigint) IS 'Whether a registration was overtaken by a clear, or by another account that took the installation over.';

CREATE FUNCTION take_installation(
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
    ), lost AS (
        SELECT account, 1 AS devices, 0 AS activities FROM devices
        UNION ALL
        SELECT account, 0, 1 FROM activities
    )
    INSERT INTO registration_transfer
        (sdk_app_id, installation, from_account, to_account, reason, devices, activities)
    SELECT for_app, for_installation, account, new_account, for_reason, sum(devices), sum(activities)
    FROM lost GROUP BY account
$$;
COMMENT ON FUNCTION take_installation(bigint, text, text, text) IS 'Deletes what other accounts registered on an installation, and records that. The rows are locked before.';

CREATE FUNCTION register_device(
    for_app bigint, for_account text, for_installation text, new_token bytea, new_business_id bigint,
    new_environment text, new_os_version text, new_app_version text, new_language text,
    new_notification_permission text, new_frequent_pushes_enabled boolean, new_sequence bigint
) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    new_content CONSTANT bigint := hashtextextended(
        ROW (for_account, new_token, new_business_id, new_environment, new_os_version, new_app_version, new_language,
            new_notification_permission, new_frequent_pushes_enabled)::text, 0);
    own device;
    former text;
BEGIN
    PERFORM lock_installation(for_app, for_installation);
    PERFORM lock_token(for_app, new_token);

    SELECT * INTO own FROM device WHERE sdk_app_id = for_app AND installation = for_installation;
    IF is_stale_sequence(new_sequence, new_content, own.sequence, own.content_hash)
        OR comes_too_late(for_app, for_account, for_installation, 'device', '', new_sequence) THEN
        RETURN false;
    END IF;

    PERFORM 1 FROM device
        WHERE sdk_app_id = for_app AND (installation = for_installation OR token = new_token)
        ORDER BY account, installation FOR UPDATE;
    -- The token of another account in another installation: the phone changed hands, its activities with it.
    SELECT installation INTO former FROM device
        WHERE sdk_app_id = for_app AND token = new_token AND installation <> for_installation;
    PERFORM 1 FROM live_activity
        WHERE sdk_app_id = for_app AND installation IN (for_installation, former) AND account <> for_account
        ORDER BY account, la_id, installation FOR UPDATE;
    PERFORM take_installation(for_app, for_installation, for_account, 'installation');
    IF former IS NOT NULL THEN
        PERFORM take_installation(for_app, former, for_account, 'token');
        DELETE FROM device WHERE sdk_app_id = for_app AND token = new_token AND installation <> for_installation;
    END IF;

    INSERT INTO device AS stored (
        sdk_app_id, account, installation, token, business_id, environment, os_version, app_version, language,
        notification_permission, frequent_pushes_enabled, sequence, content_hash, registered_at)
    VALUES (
        for_app, for_account, for_installation, new_token, new_business_id, new_environment, new_os_version,
        new_app_version, new_language, new_notification_permission, new_frequent_pushes_enabled, new_sequence,
        new_content, clock_timestamp())
    ON CONFLICT (sdk_app_id, account, installation) DO UPDATE SET
        token = excluded.token,
        business_id = excluded.business_id,
        environment = CASE WHEN stored.token = excluded.token
            THEN coalesce(excluded.environment, stored.environment) ELSE excluded.environment END,
        os_version = coalesce(excluded.os_version, stored.os_version),
        app_version = coalesce(excluded.app_version, stored.app_version),
        language = coalesce(excluded.language, stored.language),
        notification_permission = coalesce(excluded.notification_permission, stored.notification_permission),
        frequent_pushes_enabled = coalesce(excluded.frequent_pushes_enabled, stored.frequent_pushes_enabled),
        sequence = coalesce(excluded.sequence, stored.sequence),
        content_hash = excluded.content_hash,
        registered_at = excluded.registered_at;
    RETURN true;
END
$$;
COMMENT ON FUNCTION register_device(bigint, text, text, bytea, bigint, text, text, text, text, text, boolean, bigint) IS 'PUT /v1/devices: registers a device token, takes installation and token from whoever had them. False: the sequence is stale, nothing changed. Null never clears.';

CREATE FUNCTION register_activity(
    for_app bigint, for_account text, for_la_id text, for_installation text, new_token bytea, new_business_id bigint,
    new_environment text, new_attributes_type text, new_app_version text, new_started_at timestamptz,
    new_frequent_pushes_enabled boolean, new_sequence bigint
) RETURNS TABLE (applied boolean, expires_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    new_content CONSTANT bigint := hashtextextended(
        ROW (for_account, new_token, new_business_id, new_environment, new_attributes_type, new_app_version,
            new_started_at AT TIME ZONE 'UTC', new_frequent_pushes_enabled)::text, 0);
    stored live_activity;
    life live_activity;
    right_now timestamptz;
BEGIN
    PERFORM lock_installation(for_app, for_installation);
    PERFORM lock_token(for_app, new_token);
    right_now := clock_timestamp();

    SELECT * INTO stored FROM live_activity
        WHERE sdk_app_id = for_app AND installation = for_installation AND la_id = for_la_id;
    IF is_stale_sequence(new_sequence, new_content, stored.sequence, stored.content_hash)
        OR comes_too_late(for_app, for_account, for_installation, 'activity', for_la_id, new_sequence) THEN
        RETURN QUERY SELECT false, NULL::timestamptz;
        RETURN;
    END IF;

    IF new_frequent_pushes_enabled IS NOT NULL THEN
        UPDATE device SET frequent_pushes_enabled = new_frequent_pushes_enabled
            WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation;
    END IF;
    PERFORM 1 FROM device
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account
        ORDER BY account, installation FOR UPDATE;
    PERFORM 1 FROM live_activity
        WHERE sdk_app_id = for_app
            AND (token = new_token
                OR (installation = for_installation AND (la_id = for_la_id OR account <> for_account)))
        ORDER BY account, la_id, installation FOR UPDATE;

    SELECT * INTO stored FROM live_activity
        WHERE sdk_app_id = for_app AND account = for_account AND la_id = for_la_id AND installation = for_installation;
    SELECT * INTO life FROM live_activity WHERE sdk_app_id = for_app AND token = new_token;
    CASE
        WHEN life.token IS NOT NULL THEN
            -- One token is one activity on one phone: what it was sent stays true wherever it is registered now.
            IF (life.account, life.la_id, life.installation) <> (for_account, for_la_id, for_installation) THEN
                life.last_message := 0;
                life.end_message := CASE WHEN life.ended_at IS NOT NULL THEN life.end_message END;
            END IF;
            life.environment := coalesce(new_environment, life.environment);
            life.started_at := least(life.started_at, new_started_at);
        WHEN stored.ended_at IS NULL AND stored.started_at > right_now - interval '8 hours' THEN
            -- ActivityKit rotated the token: the same life goes on, and is not extended.
            life := stored;
            life.environment := new_environment;
            life.started_at := least(life.started_at, new_started_at);
        ELSE
            life.last_message := 0;
            life.last_timestamp := 0;
            life.environment := new_environment;
            life.started_at := least(coalesce(new_started_at, right_now), right_now);
    END CASE;

    PERFORM take_installation(for_app, for_installation, for_account, 'installation');
    WITH elsewhere AS (
        DELETE FROM live_activity
        WHERE sdk_app_id = for_app AND token = new_token
            AND (account, la_id, installation) <> (for_account, for_la_id, for_installation)
        RETURNING account, installation
    )
    INSERT INTO registration_transfer
        (sdk_app_id, installation, from_account, to_account, reason, devices, activities)
    SELECT for_app, installation, account, for_account, 'token', 0, 1 FROM elsewhere WHERE account <> for_account;

    INSERT INTO live_activity (
        sdk_app_id, account, la_id, installation, token, business_id, environment, attributes_type, app_version,
        sequence, content_hash, started_at, registered_at, last_message, last_timestamp, last_sent_at, end_message,
        ended_at)
    VALUES (
        for_app, for_account, for_la_id, for_installation, new_token, new_business_id, life.environment,
        coalesce(new_attributes_type, stored.attributes_type), coalesce(new_app_version, stored.app_version),
        coalesce(new_sequence, stored.sequence), new_content, life.started_at, right_now, life.last_message,
        greatest(life.last_timestamp, stored.last_timestamp), life.last_sent_at, life.end_message, life.ended_at)
    ON CONFLICT (sdk_app_id, account, la_id, installation) DO UPDATE SET
        token = excluded.token, business_id = excluded.business_id, environment = excluded.environment,
        attributes_type = excluded.attributes_type, app_version = excluded.app_version, sequence = excluded.sequence,
        content_hash = excluded.content_hash, started_at = excluded.started_at, registered_at = excluded.registered_at,
        last_message = excluded.last_message, last_timestamp = excluded.last_timestamp,
        last_sent_at = excluded.last_sent_at, end_message = excluded.end_message, ended_at = excluded.ended_at;
    RETURN QUERY SELECT true, life.started_at + interval '8 hours';
END
$$;
COMMENT ON FUNCTION register_activity(bigint, text, text, text, bytea, bigint, text, text, text, timestamptz, boolean, bigint) IS 'PUT /v1/activities: registers an activity token, takes installation and token from whoever had them. applied false: the sequence is stale, nothing changed; expires_at: when the last update can go out. Null never clears.';

CREATE FUNCTION clear_registrations(
    for_app bigint, for_account text, for_installation text, only_la_id text, with_device boolean, new_sequence bigint
) RETURNS TABLE (cleared integer, is_stale boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    devices integer := 0;
    activities integer;
BEGIN
    PERFORM lock_installation(for_app, for_installation);

    -- Another account is logged in there by now: nothing of the caller is left, and its memory must not bind the other.
    IF EXISTS (SELECT FROM device
            WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account)
        OR EXISTS (SELECT FROM live_activity
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
        SELECT for_app, for_installation, 'device', '', new_sequence WHERE with_device
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
    RETURN QUERY SELECT devices + activities, false;
END
$$;
COMMENT ON FUNCTION clear_registrations(bigint, text, text, text, boolean, bigint) IS 'DELETE under /v1: forgets one activity (only_la_id), all activities, or with_device the log-out of an installation. Rows with the same or a higher sequence stay; is_stale: the one activity is such a row.';
