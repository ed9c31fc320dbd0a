-- Limits of pushes to all, and push-to-start tokens in files that are imported.

ALTER TABLE app
    ADD COLUMN seconds_between_pushes_to_all bigint CHECK (seconds_between_pushes_to_all BETWEEN 1 AND 86400),
    ADD COLUMN pushes_to_all_per_day bigint CHECK (pushes_to_all_per_day > 0);
COMMENT ON COLUMN app.seconds_between_pushes_to_all IS 'How far apart timpush/push and all_member_push/im_push are taken, by all gateways together; 90024 sooner. null: no limit.';
COMMENT ON COLUMN app.pushes_to_all_per_day IS 'How many of timpush/push and all_member_push/im_push all gateways together take within any 24 hours; 90047 over it. null: no limit.';

CREATE TABLE push_to_all (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    accepted_at timestamptz NOT NULL,
    msg_key text NOT NULL
);
CREATE INDEX push_to_all_app ON push_to_all (sdk_app_id, accepted_at);
COMMENT ON TABLE push_to_all IS 'Pushes to all of the last 24 hours, of apps that have a limit of them. Older rows go when the next push comes.';
COMMENT ON COLUMN push_to_all.sdk_app_id IS 'The app.';
COMMENT ON COLUMN push_to_all.accepted_at IS 'When it was accepted, by PostgreSQL''s clock; also of one that is to be sent later.';
COMMENT ON COLUMN push_to_all.msg_key IS 'The TaskId that the caller was given.';

CREATE FUNCTION push_to_all_wait(for_app bigint, OUT is_daily boolean, OUT microseconds bigint)
LANGUAGE sql VOLATILE AS $$
    WITH limits AS (
        SELECT seconds_between_pushes_to_all AS seconds, pushes_to_all_per_day AS number, clock_timestamp() AS moment
        FROM app WHERE sdk_app_id = for_app
    ), waits AS (
        SELECT false AS is_daily, (SELECT max(accepted_at) FROM push_to_all WHERE sdk_app_id = for_app)
            + seconds * interval '1 second' - moment AS wait
        FROM limits
        UNION ALL
        -- The one that has to be 24 hours old before there is room for another.
        SELECT true, (SELECT accepted_at FROM push_to_all WHERE sdk_app_id = for_app
            ORDER BY accepted_at DESC OFFSET number - 1 LIMIT 1) + interval '24 hours' - moment
        FROM limits WHERE number IS NOT NULL
    )
    SELECT waits.is_daily, (extract(epoch FROM wait) * 1000000)::bigint FROM waits
    WHERE wait > interval '0' ORDER BY wait DESC LIMIT 1
$$;
COMMENT ON FUNCTION push_to_all_wait(bigint) IS 'For how long no push to all of the app is taken, and whether the limit of a day is why; nulls: one is.';

CREATE FUNCTION count_push_to_all(for_app bigint, request bytea, key text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- One push of an app at a time, so that whoever comes second sees the first one's row.
    PERFORM pg_advisory_xact_lock(hashtextextended('push to all ' || for_app, 0));
    -- The same request was accepted before: this one is no push.
    IF EXISTS (SELECT FROM recent_request WHERE digest = request AND msg_key <> key) THEN
        RETURN;
    END IF;
    DELETE FROM push_to_all WHERE sdk_app_id = for_app AND accepted_at < clock_timestamp() - interval '24 hours';
    IF (SELECT microseconds > 0 FROM push_to_all_wait(for_app)) THEN
        RAISE EXCEPTION USING ERRCODE = 'LP001', MESSAGE = 'over a limit of pushes to all';
    END IF;
    INSERT INTO push_to_all (sdk_app_id, accepted_at, msg_key)
    SELECT for_app, clock_timestamp(), key FROM app
    WHERE sdk_app_id = for_app AND (seconds_between_pushes_to_all IS NOT NULL OR pushes_to_all_per_day IS NOT NULL);
END
$$;
COMMENT ON FUNCTION count_push_to_all(bigint, bytea, text) IS 'Counts a push to all that was just stored, in its transaction, against the limits of its app; LP001 where that is over one, which undoes the storing. A repeat counts nothing.';

COMMENT ON COLUMN start_token.content_hash IS 'Hash of the registration as it was last put: tells a repeat from another one with the same sequence. Null: it was imported, and no phone has put it since.';
COMMENT ON TYPE registration_line IS 'A device, an activity or a push-to-start token to import. in_turn: a line before it in the batch has its installation or token too.';

-- The tables grow a thousandfold between two looks at their statistics: no plan may read one as a whole.
CREATE OR REPLACE FUNCTION import_registrations(
    for_app bigint, kinds text[], accounts text[], installations text[], tokens bytea[], business_ids bigint[],
    environments text[], os_versions text[], app_versions text[], languages text[], notification_permissions text[],
    frequent_pushes_enabled boolean[], la_ids text[], attributes_types text[], started_at timestamptz[],
    in_turn boolean[], replaces boolean
) RETURNS TABLE (imported bigint, unchanged bigint, kept bigint)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    lines CONSTANT registration_line[] := ARRAY(
        SELECT ROW(rows.*)::registration_line
        FROM unnest(
            kinds, accounts, installations, tokens, business_ids, environments, os_versions, app_versions, languages,
            notification_permissions, import_registrations.frequent_pushes_enabled, la_ids, attributes_types,
            import_registrations.started_at, import_registrations.in_turn) WITH ORDINALITY AS rows);
    right_now timestamptz;
    made_devices text[];
    made_activities bytea[];
    made_starts text[];
    line registration_line;
    own_device device;
    own_activity live_activity;
    own_start start_token;
    former text;
BEGIN
    -- As each registration does, here in one order, so that two imports never wait for each other in a circle. A token
    -- needs no lock: its index makes whoever comes second wait for the first.
    PERFORM lock_installation(for_app, installation)
        FROM (SELECT DISTINCT unnest(installations) AS installation ORDER BY 1) AS sorted;
    -- Of push-to-start tokens there is no such index.
    PERFORM lock_token(for_app, token)
        FROM (SELECT DISTINCT line.token FROM unnest(lines) AS line WHERE line.kind = 'start' ORDER BY 1) AS sorted;
    right_now := clock_timestamp();

    -- What nothing stands in the way of: most lines of most files. is_cleared() is written out, since a call for each
    -- line would cost an eighth of the whole.
    WITH made AS (
        INSERT INTO device (
            sdk_app_id, account, installation, token, business_id, environment, os_version, app_version, language,
            notification_permission, frequent_pushes_enabled, registered_at)
        SELECT
            for_app, line.account, line.installation, line.token, line.business_id, line.environment, line.os_version,
            line.app_version, line.language, line.notification_permission, line.frequent_pushes_enabled, right_now
        FROM unnest(lines) AS line
        WHERE line.kind = 'device' AND NOT line.in_turn
            AND NOT EXISTS (SELECT FROM live_activity AS other
                WHERE other.sdk_app_id = for_app AND other.installation = line.installation
                    AND other.account <> line.account)
            AND NOT EXISTS (SELECT FROM start_token AS other
                WHERE other.sdk_app_id = for_app AND other.installation = line.installation
                    AND other.account <> line.account)
            AND (replaces OR NOT EXISTS (SELECT FROM registration_clear AS clear
                WHERE clear.sdk_app_id = for_app AND clear.installation = line.installation AND clear.kind = 'device'
                    AND clear.cleared_at > right_now - interval '24 hours'))
        ON CONFLICT DO NOTHING
        RETURNING installation
    )
    SELECT array_agg(installation) INTO made_devices FROM made;
    WITH made AS (
        INSERT INTO live_activity (
            sdk_app_id, account, la_id, installation, token, business_id, environment, attributes_type, app_version,
            started_at, registered_at)
        SELECT
            for_app, line.account, line.la_id, line.installation, line.token, line.business_id, line.environment,
            line.attributes_type, line.app_version, least(coalesce(line.started_at, right_now), right_now), right_now
        FROM unnest(lines) AS line
        WHERE line.kind = 'activity' AND NOT line.in_turn
            AND NOT EXISTS (SELECT FROM device AS other
                WHERE other.sdk_app_id = for_app AND other.installation = line.installation
                    AND other.account <> line.account)
            AND NOT EXISTS (SELECT FROM live_activity AS other
                WHERE other.sdk_app_id = for_app AND other.installation = line.installation
                    AND other.account <> line.account)
            AND NOT EXISTS (SELECT FROM start_token AS other
                WHERE other.sdk_app_id = for_app AND other.installation = line.installation
                    AND other.account <> line.account)
            AND (replaces OR NOT EXISTS (SELECT FROM registration_clear AS clear
                WHERE clear.sdk_app_id = for_app AND clear.installation = line.installation AND clear.kind = 'activity'
                    AND clear.la_id IN ('', line.la_id) AND clear.cleared_at > right_now - interval '24 hours'))
        ON CONFLICT DO NOTHING
        RETURNING token
    )
    SELECT array_agg(token) INTO made_activities FROM made;
    WITH made AS (
        INSERT INTO start_token (
            sdk_app_id, account, attributes_type, installation, token, business_id, environment, os_version,
            app_version, registered_at)
        SELECT
            for_app, line.account, line.attributes_type, line.installation, line.token, line.business_id,
            line.environment, line.os_version, line.app_version, right_now
        FROM unnest(lines) AS line
        WHERE line.kind = 'start' AND NOT line.in_turn
            AND NOT EXISTS (SELECT FROM device AS other
                WHERE other.sdk_app_id = for_app AND other.installation = line.installation
                    AND other.account <> line.account)
            AND NOT EXISTS (SELECT FROM live_activity AS other
                WHERE other.sdk_app_id = for_app AND other.installation = line.installation
                    AND other.account <> line.account)
            AND NOT EXISTS (SELECT FROM start_token AS other
                WHERE other.sdk_app_id = for_app AND other.installation = line.installation
                    AND other.account <> line.account)
            AND NOT EXISTS (SELECT FROM start_token AS other
                WHERE other.sdk_app_id = for_app AND other.token = line.token
                    AND other.installation <> line.installation)
            AND (replaces OR NOT EXISTS (SELECT FROM registration_clear AS clear
                WHERE clear.sdk_app_id = for_app AND clear.installation = line.installation AND clear.kind = 'start'
                    AND clear.la_id IN ('', line.attributes_type)
                    AND clear.cleared_at > right_now - interval '24 hours'))
        ON CONFLICT DO NOTHING
        -- An installation has no blank.
        RETURNING installation || ' ' || attributes_type AS place
    )
    SELECT array_agg(place) INTO made_starts FROM made;
    UPDATE device SET frequent_pushes_enabled = line.frequent_pushes_enabled
        FROM unnest(lines) AS line
        WHERE line.kind = 'activity' AND NOT line.in_turn AND line.frequent_pushes_enabled IS NOT NULL
            AND device.sdk_app_id = for_app AND device.account = line.account
            AND device.installation = line.installation AND (replaces OR device.content_hash IS NULL)
            AND device.frequent_pushes_enabled IS DISTINCT FROM line.frequent_pushes_enabled;
    imported := coalesce(cardinality(made_devices), 0) + coalesce(cardinality(made_activities), 0)
        + coalesce(cardinality(made_starts), 0);
    unchanged := 0;
    kept := 0;

    -- The rest one by one, in the order of the file, so that the later of two lines wins.
    FOR line IN
        SELECT * FROM unnest(lines) AS rest
        WHERE imported < cardinality(lines) AND (rest.in_turn OR CASE rest.kind
            WHEN 'device' THEN rest.installation NOT IN (SELECT unnest(made_devices))
            WHEN 'start' THEN rest.installation || ' ' || rest.attributes_type NOT IN (SELECT unnest(made_starts))
            ELSE rest.token NOT IN (SELECT unnest(made_activities)) END)
        ORDER BY rest.position
    LOOP
        IF line.kind = 'device' THEN
            SELECT * INTO own_device FROM device
                WHERE sdk_app_id = for_app AND account = line.account AND installation = line.installation;
            IF own_device.token = line.token AND own_device.business_id = line.business_id
                AND (coalesce(line.environment, own_device.environment),
                    coalesce(line.os_version, own_device.os_version),
                    coalesce(line.app_version, own_device.app_version),
                    coalesce(line.language, own_device.language),
                    coalesce(line.notification_permission, own_device.notification_permission),
                    coalesce(line.frequent_pushes_enabled, own_device.frequent_pushes_enabled))
                IS NOT DISTINCT FROM (own_device.environment, own_device.os_version, own_device.app_version,
                    own_device.language, own_device.notification_permission, own_device.frequent_pushes_enabled) THEN
                unchanged := unchanged + 1;
                CONTINUE;
            END IF;
            SELECT installation INTO former FROM device
                WHERE sdk_app_id = for_app AND token = line.token AND installation <> line.installation;
            IF NOT replaces AND (
                is_cleared(for_app, line.installation, 'device', '')
                OR EXISTS (SELECT FROM device
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND (installation = line.installation OR token = line.token))
                OR EXISTS (SELECT FROM live_activity
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND installation IN (line.installation, former) AND account <> line.account)
                OR EXISTS (SELECT FROM start_token
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND installation IN (line.installation, former) AND account <> line.account)) THEN
                kept := kept + 1;
                CONTINUE;
            END IF;
            PERFORM register_device(
                for_app, line.account, line.installation, line.token, line.business_id, line.environment,
                line.os_version, line.app_version, line.language, line.notification_permission,
                line.frequent_pushes_enabled, NULL);
            UPDATE device SET content_hash = NULL
                WHERE sdk_app_id = for_app AND account = line.account AND installation = line.installation;
        ELSIF line.kind = 'start' THEN
            SELECT * INTO own_start FROM start_token
                WHERE sdk_app_id = for_app AND account = line.account AND installation = line.installation
                    AND attributes_type = line.attributes_type;
            IF own_start.token = line.token AND own_start.business_id = line.business_id
                AND (coalesce(line.environment, own_start.environment),
                    coalesce(line.os_version, own_start.os_version),
                    coalesce(line.app_version, own_start.app_version))
                IS NOT DISTINCT FROM (own_start.environment, own_start.os_version, own_start.app_version) THEN
                unchanged := unchanged + 1;
                CONTINUE;
            END IF;
            IF NOT replaces AND (
                is_cleared(for_app, line.installation, 'start', line.attributes_type)
                OR EXISTS (SELECT FROM device
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND installation = line.installation AND account <> line.account)
                OR EXISTS (SELECT FROM live_activity
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND installation = line.installation AND account <> line.account)
                OR EXISTS (SELECT FROM start_token
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND (token = line.token AND installation <> line.installation
                            OR installation = line.installation
                            AND (attributes_type = line.attributes_type OR account <> line.account)))) THEN
                kept := kept + 1;
                CONTINUE;
            END IF;
            PERFORM register_start_token(
                for_app, line.account, line.attributes_type, line.installation, line.token, line.business_id,
                line.environment, line.os_version, line.app_version, NULL);
            UPDATE start_token SET content_hash = NULL
                WHERE sdk_app_id = for_app AND account = line.account AND installation = line.installation
                    AND attributes_type = line.attributes_type;
        ELSE
            SELECT * INTO own_activity FROM live_activity
                WHERE sdk_app_id = for_app AND account = line.account AND la_id = line.la_id
                    AND installation = line.installation;
            IF own_activity.token = line.token AND own_activity.business_id = line.business_id
                AND (coalesce(line.environment, own_activity.environment),
                    coalesce(line.attributes_type, own_activity.attributes_type),
                    coalesce(line.app_version, own_activity.app_version),
                    least(line.started_at, own_activity.started_at))
                IS NOT DISTINCT FROM (own_activity.environment, own_activity.attributes_type,
                    own_activity.app_version, own_activity.started_at) THEN
                unchanged := unchanged + 1;
                CONTINUE;
            END IF;
            IF NOT replaces AND (
                is_cleared(for_app, line.installation, 'activity', line.la_id)
                OR EXISTS (SELECT FROM device
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND installation = line.installation AND account <> line.account)
                OR EXISTS (SELECT FROM live_activity
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND (token = line.token OR (installation = line.installation
                            AND (la_id = line.la_id OR account <> line.account))))
                OR EXISTS (SELECT FROM start_token
                    WHERE sdk_app_id = for_app AND content_hash IS NOT NULL
                        AND installation = line.installation AND account <> line.account)) THEN
                kept := kept + 1;
                CONTINUE;
            END IF;
            PERFORM register_activity(
                for_app, line.account, line.la_id, line.installation, line.token, line.business_id, line.environment,
                line.attributes_type, line.app_version, line.started_at, line.frequent_pushes_enabled, NULL);
            UPDATE live_activity SET content_hash = NULL
                WHERE sdk_app_id = for_app AND account = line.account AND la_id = line.la_id
                    AND installation = line.installation;
        END IF;
        imported := imported + 1;
    END LOOP;
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION import_registrations(bigint, text[], text[], text[], bytea[], bigint[], text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[], boolean[], boolean) IS 'Registers devices, activities and push-to-start tokens of a file as PUT under /v1 would, in order. Unless it replaces, what a phone put or cleared itself is kept; what was imported before is not. Returns how many became what.';
