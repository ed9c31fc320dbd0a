-- `livepush registrations import`: registrations out of a file, many in one statement.

COMMENT ON COLUMN device.content_hash IS 'Hash of the registration as it was last put: tells a repeat from another one with the same sequence. Null: it was imported, and no phone has put it since.';
COMMENT ON COLUMN live_activity.content_hash IS 'Hash of the registration as it was last put: tells a repeat from another one with the same sequence. Null: it was imported, and no phone has put it since.';

CREATE TABLE registration_import (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    digest bytea NOT NULL,
    file text NOT NULL,
    bytes bigint NOT NULL,
    bytes_done bigint NOT NULL DEFAULT 0,
    lines_done bigint NOT NULL DEFAULT 0,
    report_bytes bigint NOT NULL DEFAULT 0,
    imported bigint NOT NULL DEFAULT 0,
    unchanged bigint NOT NULL DEFAULT 0,
    kept bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    PRIMARY KEY (sdk_app_id, digest)
);
COMMENT ON TABLE registration_import IS 'How far each file was imported. Written with each batch, in its transaction, by `livepush registrations import`.';
COMMENT ON COLUMN registration_import.sdk_app_id IS 'The app it was imported into.';
COMMENT ON COLUMN registration_import.digest IS 'SHA-256 of the file: the same file is known again under another name.';
COMMENT ON COLUMN registration_import.file IS 'For people: the path as it was given.';
COMMENT ON COLUMN registration_import.bytes IS 'Size of the file.';
COMMENT ON COLUMN registration_import.bytes_done IS 'How much of it is done: where the next run goes on.';
COMMENT ON COLUMN registration_import.lines_done IS 'How many lines that is.';
COMMENT ON COLUMN registration_import.report_bytes IS 'Size of the report of refused lines then: the next run cuts off what follows.';
COMMENT ON COLUMN registration_import.imported IS 'Registrations that were stored.';
COMMENT ON COLUMN registration_import.unchanged IS 'Registrations that were stored like this already.';
COMMENT ON COLUMN registration_import.kept IS 'Registrations that a phone had made or cleared itself, differently: left as they were.';
COMMENT ON COLUMN registration_import.refused IS 'Registrations that break a rule; the report names line, field and reason.';
COMMENT ON COLUMN registration_import.started_at IS 'When it began.';
COMMENT ON COLUMN registration_import.updated_at IS 'When the last batch was stored.';
COMMENT ON COLUMN registration_import.finished_at IS 'When the end of the file was reached; null: not yet.';

CREATE TYPE registration_line AS (
    kind text, account text, installation text, token bytea, business_id bigint, environment text, os_version text,
    app_version text, language text, notification_permission text, frequent_pushes_enabled boolean, la_id text,
    attributes_type text, started_at timestamptz, in_turn boolean, position bigint
);
COMMENT ON TYPE registration_line IS 'A device or an activity to import. in_turn: a line before it in the batch has its installation or token too.';

CREATE FUNCTION is_cleared(for_app bigint, for_installation text, of_kind text, for_la_id text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM registration_clear
        WHERE sdk_app_id = for_app AND installation = for_installation AND kind = of_kind
            AND la_id IN ('', for_la_id) AND cleared_at > clock_timestamp() - interval '24 hours')
$$;
COMMENT ON FUNCTION is_cleared(bigint, text, text, text) IS 'Whether the installation cleared this registration in the last 24 hours.';

-- The tables grow a thousandfold between two looks at their statistics: no plan may read one as a whole.
CREATE FUNCTION import_registrations(
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
    line registration_line;
    own_device device;
    own_activity live_activity;
    former text;
BEGIN
    -- As each registration does, here in one order, so that two imports never wait for each other in a circle. A token
    -- needs no lock: its index makes whoever comes second wait for the first.
    PERFORM lock_installation(for_app, installation)
        FROM (SELECT DISTINCT unnest(installations) AS installation ORDER BY 1) AS sorted;
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
            AND (replaces OR NOT EXISTS (SELECT FROM registration_clear AS clear
                WHERE clear.sdk_app_id = for_app AND clear.installation = line.installation AND clear.kind = 'activity'
                    AND clear.la_id IN ('', line.la_id) AND clear.cleared_at > right_now - interval '24 hours'))
        ON CONFLICT DO NOTHING
        RETURNING token
    )
    SELECT array_agg(token) INTO made_activities FROM made;
    UPDATE device SET frequent_pushes_enabled = line.frequent_pushes_enabled
        FROM unnest(lines) AS line
        WHERE line.kind = 'activity' AND NOT line.in_turn AND line.frequent_pushes_enabled IS NOT NULL
            AND device.sdk_app_id = for_app AND device.account = line.account
            AND device.installation = line.installation AND (replaces OR device.content_hash IS NULL)
            AND device.frequent_pushes_enabled IS DISTINCT FROM line.frequent_pushes_enabled;
    imported := coalesce(cardinality(made_devices), 0) + coalesce(cardinality(made_activities), 0);
    unchanged := 0;
    kept := 0;

    -- The rest one by one, in the order of the file, so that the later of two lines wins.
    FOR line IN
        SELECT * FROM unnest(lines) AS rest
        WHERE imported < cardinality(lines) AND (rest.in_turn OR CASE rest.kind
            WHEN 'device' THEN rest.installation NOT IN (SELECT unnest(made_devices))
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
                            AND (la_id = line.la_id OR account <> line.account))))) THEN
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
COMMENT ON FUNCTION import_registrations(bigint, text[], text[], text[], bytea[], bigint[], text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[], boolean[], boolean) IS 'Registers devices and activities of a file as PUT under /v1 would, in order. Unless it replaces, what a phone put or cleared itself is kept; what was imported before is not. Returns how many became what.';
