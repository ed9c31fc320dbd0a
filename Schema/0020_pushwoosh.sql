-- Pushwoosh's API: which app and certificate an application code means, who may call, and what its iOS SDK registers.

CREATE TABLE application_code (
    code text PRIMARY KEY CHECK (code ~ '^[A-Za-z0-9-]{1,64}$'),
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    business_id bigint NOT NULL CHECK (business_id > 0),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX application_code_app ON application_code (sdk_app_id);
COMMENT ON TABLE application_code IS 'Application codes of Pushwoosh''s API. Written by `livepush app code`.';
COMMENT ON COLUMN application_code.code IS 'The code that callers and phones give as application.';
COMMENT ON COLUMN application_code.sdk_app_id IS 'The app that it means.';
COMMENT ON COLUMN application_code.business_id IS 'The certificate of the tokens that phones register under the code.';
COMMENT ON COLUMN application_code.created_at IS 'When the row was made.';

CREATE TABLE api_token (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 64),
    scope text NOT NULL CHECK (scope IN ('server', 'device')),
    digest bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sdk_app_id, name)
);
COMMENT ON TABLE api_token IS 'API tokens of Pushwoosh''s API. Written by `livepush app token`, which shows a token once.';
COMMENT ON COLUMN api_token.sdk_app_id IS 'The app whose codes it opens.';
COMMENT ON COLUMN api_token.name IS 'A name for people.';
COMMENT ON COLUMN api_token.scope IS 'server: may send; device: may register phones, and nothing else, since it is in the app.';
COMMENT ON COLUMN api_token.digest IS 'SHA-256 of the token, which is long and random.';
COMMENT ON COLUMN api_token.created_at IS 'When the row was made.';

COMMENT ON COLUMN start_token.attributes_type IS 'Name of the ActivityAttributes type whose activities it starts; *: of any, as Pushwoosh''s SDK registers it.';

CREATE OR REPLACE FUNCTION claim_starts(
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
        SELECT * FROM start_token AS candidate
        WHERE sdk_app_id = for_app AND account = for_account
            AND (attributes_type = for_attributes_type
                -- A token that was registered without its type starts any; one with it goes before it.
                OR attributes_type = '*' AND NOT EXISTS (
                    SELECT FROM start_token AS exact
                    WHERE exact.sdk_app_id = for_app AND exact.account = for_account
                        AND exact.attributes_type = for_attributes_type AND exact.installation = candidate.installation))
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
            WHERE sdk_app_id = for_app AND account = for_account AND attributes_type = own.attributes_type
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

-- Under /v1 an account that registers an installation takes nothing along of the former one. Pushwoosh's SDK tells its user
-- only with its next call, and registers the device token only when the app starts: the token stays that of the phone.
CREATE FUNCTION move_installation(for_app bigint, for_account text, for_installation text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    moved record;
BEGIN
    PERFORM lock_installation(for_app, for_installation);
    IF NOT EXISTS (
        SELECT FROM device WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account
        UNION ALL
        SELECT FROM live_activity WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account
        UNION ALL
        SELECT FROM start_token WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account)
    THEN
        RETURN;
    END IF;
    PERFORM 1 FROM device WHERE sdk_app_id = for_app AND installation = for_installation
        ORDER BY account, installation FOR UPDATE;
    PERFORM 1 FROM live_activity WHERE sdk_app_id = for_app AND installation = for_installation
        ORDER BY account, la_id, installation FOR UPDATE;
    PERFORM 1 FROM start_token WHERE sdk_app_id = for_app AND installation = for_installation
        ORDER BY account, attributes_type, installation FOR UPDATE;
    FOR moved IN
        SELECT account, sum(devices) AS devices, sum(activities) AS activities, sum(starts) AS starts
        FROM (
            SELECT account, 1 AS devices, 0 AS activities, 0 AS starts FROM device
            WHERE sdk_app_id = for_app AND installation = for_installation
            UNION ALL
            SELECT account, 0, 1, 0 FROM live_activity WHERE sdk_app_id = for_app AND installation = for_installation
            UNION ALL
            SELECT account, 0, 0, 1 FROM start_token WHERE sdk_app_id = for_app AND installation = for_installation
        ) AS registration
        WHERE account <> for_account GROUP BY account
    LOOP
        INSERT INTO registration_transfer
            (sdk_app_id, installation, from_account, to_account, reason, devices, activities, start_tokens)
        VALUES (for_app, for_installation, moved.account, for_account, 'installation', moved.devices, moved.activities,
            moved.starts);
    END LOOP;
    UPDATE device SET account = for_account
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account;
    DELETE FROM start_token AS former
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account AND EXISTS (
            SELECT FROM start_token AS own
            WHERE own.sdk_app_id = for_app AND own.account = for_account AND own.installation = for_installation
                AND own.attributes_type = former.attributes_type);
    UPDATE start_token SET account = for_account
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account;
    -- What began before anybody had logged in goes on; another person's does not.
    UPDATE live_activity SET account = for_account
        WHERE sdk_app_id = for_app AND installation = for_installation AND account = for_installation
            AND account <> for_account;
    DELETE FROM activity_start AS former
        WHERE sdk_app_id = for_app AND installation = for_installation AND account = for_installation
            AND account <> for_account AND EXISTS (
            SELECT FROM activity_start AS own
            WHERE own.sdk_app_id = for_app AND own.account = for_account AND own.installation = for_installation
                AND own.la_id = former.la_id);
    UPDATE activity_start SET account = for_account
        WHERE sdk_app_id = for_app AND installation = for_installation AND account = for_installation
            AND account <> for_account;
    DELETE FROM live_activity
        WHERE sdk_app_id = for_app AND installation = for_installation AND account <> for_account;
END
$$;
COMMENT ON FUNCTION move_installation(bigint, text, text) IS 'Makes an installation that of another account, with its device token and start tokens; activities go along from the account that is called like the installation. Recorded in registration_transfer.';
