-- Starts in accept order: nobody knows yet on which phones a start that was accepted brings an activity up, until it has
-- been worked on. Later messages about the activity wait for that, in whatever lane or process they are.

ALTER TABLE pending ADD COLUMN starts text;
UPDATE pending SET starts = message.la_id
FROM message
WHERE pending.account IS NULL AND message.id = pending.message_id AND message.accepted_at = pending.accepted_at
    AND message.event = 'start';
-- Starts are few, and leave it with their row.
CREATE INDEX pending_start ON pending (sdk_app_id, starts) WHERE starts IS NOT NULL;
COMMENT ON COLUMN pending.starts IS 'Of a whole message that is a start: the activity that it starts. Later messages about that activity wait while some of its recipients are not decided.';

ALTER TABLE fan_out ADD COLUMN undecided_start bigint;
COMMENT ON COLUMN fan_out.undecided_start IS 'A start of the same activity, accepted before, that got no further for so long that this message did not wait any more: phones that the start reaches later have not got it.';

CREATE FUNCTION undecided_start(
    for_app bigint, for_la_id text, for_message bigint, for_account text, patience interval
) RETURNS TABLE (message_id bigint, is_given_up boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
#variable_conflict use_column
BEGIN
    -- What nearly always is all there is to ask.
    IF NOT EXISTS (
        SELECT FROM pending WHERE sdk_app_id = for_app AND starts = for_la_id AND pending.message_id < for_message)
    THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT older.message_id, older.moved_at <= clock_timestamp() - patience
    FROM (
        SELECT whole.message_id, whole.accepted_at, whole.due, whole.progress,
            greatest(whole.accepted_at, fan_out.advanced_at) AS moved_at
        FROM pending AS whole
        LEFT JOIN fan_out ON fan_out.message_id = whole.message_id
        WHERE whole.sdk_app_id = for_app AND whole.starts = for_la_id AND whole.message_id < for_message
    ) AS older
    WHERE CASE
        WHEN for_account IS NULL THEN older.due < 'infinity'
        -- Its recipients that are not done wait in rows of their own, nearly all of them after the decision.
        WHEN older.due = 'infinity' THEN EXISTS (
            SELECT FROM pending AS own
            WHERE own.message_id = older.message_id AND own.account = for_account AND own.reason = 'database_refused')
        ELSE
            -- Of a message to an audience: the account up to which everything is written down.
            coalesce((convert_from(older.progress, 'UTF8')::json ->> 'account') < for_account, true)
            AND NOT EXISTS (
                SELECT FROM activity_start AS started
                WHERE started.sdk_app_id = for_app AND started.account = for_account AND started.la_id = for_la_id
                    AND started.message_id >= older.message_id)
            AND NOT EXISTS (
                SELECT FROM pending AS own
                WHERE own.message_id = older.message_id AND own.account = for_account
                    AND own.reason <> 'database_refused')
            AND NOT EXISTS (
                SELECT FROM delivery
                WHERE delivery.sdk_app_id = for_app AND delivery.account = for_account
                    AND delivery.accepted_at = older.accepted_at AND delivery.message_id = older.message_id)
        END
    ORDER BY 2, 1 LIMIT 1;
END
$$;
COMMENT ON FUNCTION undecided_start(bigint, text, bigint, text, interval) IS 'A start of an activity that was accepted before a message and of which it is not decided yet which phones it goes to: those of one account, or, with null, of all. is_given_up: none of them got any further for that long, so that it is not waited for.';

CREATE OR REPLACE FUNCTION release_scheduled(most bigint) RETURNS bigint
LANGUAGE sql AS $$
    WITH due AS (
        DELETE FROM scheduled_message WHERE id = ANY (ARRAY(
            SELECT id FROM scheduled_message WHERE send_at <= clock_timestamp() AND cancelled_at IS NULL
            ORDER BY send_at, id LIMIT most FOR UPDATE SKIP LOCKED))
        RETURNING *
    ), released AS MATERIALIZED (
        SELECT nextval('message_id') AS message_id, date_trunc('microseconds', now()) AS released_at, due.*
        FROM due ORDER BY send_at, id
    ), stored AS (
        INSERT INTO message (id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients)
        SELECT message_id, released_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event,
            cardinality(recipients)
        FROM released
    ), queued AS (
        INSERT INTO pending (message_id, accepted_at, sdk_app_id, instance_id, due, deadline, content, starts)
        SELECT message_id, released_at, sdk_app_id, NULL, released_at, send_at + lifetime * interval '1 second', content,
            CASE WHEN event = 'start' THEN la_id END
        FROM released
    ), erased AS (
        INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, la_id, event, route, route_reason, fallback,
            outcome, attempts)
        SELECT message_id, released_at, sdk_app_id, account, la_id, event, 'none', 'account_deleted', false,
            'cancelled', 0
        FROM released CROSS JOIN LATERAL unnest(erased_accounts) AS account
    )
    SELECT count(*) FROM released
$$;

-- A phone forgets neither the starts that it was sent nor one that may still come up when somebody else logs in there, or
-- the same person again: that is remembered by the installation, without an account.

CREATE TABLE start_guard (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    installation text NOT NULL,
    recent_starts timestamptz[] NOT NULL,
    PRIMARY KEY (sdk_app_id, installation)
) WITH (fillfactor = 80);
COMMENT ON TABLE start_guard IS 'How many starts phones were sent lately, whoever was logged in there; iOS takes few of them, and APNs answers 200 to the rest.';
COMMENT ON COLUMN start_guard.sdk_app_id IS 'The app.';
COMMENT ON COLUMN start_guard.installation IS 'The app''s own id of the installation.';
COMMENT ON COLUMN start_guard.recent_starts IS 'When starts were sent to it within the window of the start guard, newest first.';
INSERT INTO start_guard (sdk_app_id, installation, recent_starts)
SELECT sdk_app_id, installation, array_agg(start.at ORDER BY start.at DESC)
FROM start_token CROSS JOIN LATERAL unnest(recent_starts) AS start (at)
GROUP BY sdk_app_id, installation;
ALTER TABLE start_token DROP COLUMN recent_starts;

COMMENT ON COLUMN activity_start.account IS 'The recipient; empty: nobody''s any more, since its account is not logged in there. Only that the activity may still come up is remembered.';

CREATE OR REPLACE FUNCTION forget_starts() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
            SELECT FROM start_token
            WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND installation = OLD.installation)
        OR EXISTS (
            SELECT FROM device
            WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND installation = OLD.installation)
        OR EXISTS (
            SELECT FROM live_activity
            WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND installation = OLD.installation) THEN
        RETURN NULL;
    END IF;
    DELETE FROM activity_start AS former
    WHERE sdk_app_id = OLD.sdk_app_id AND installation = OLD.installation AND account = '' AND EXISTS (
        SELECT FROM activity_start AS own
        WHERE own.sdk_app_id = OLD.sdk_app_id AND own.account = OLD.account AND own.la_id = former.la_id
            AND own.installation = OLD.installation);
    UPDATE activity_start SET
        account = '', waiting_message = NULL, waiting_end = NULL, alert_message = NULL, alert = NULL, alert_until = NULL
    WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND installation = OLD.installation
        AND registered_at IS NULL AND sent_at IS NOT NULL AND waits_until > clock_timestamp();
    DELETE FROM activity_start
    WHERE sdk_app_id = OLD.sdk_app_id AND account = OLD.account AND installation = OLD.installation;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION forget_starts() IS 'Trigger: with its last registration on a phone an account loses what was started there, and nothing waits for it any more; that an activity may still come up there is remembered without the account.';
CREATE TRIGGER forget_starts AFTER DELETE ON device
    FOR EACH ROW EXECUTE FUNCTION forget_starts();
COMMENT ON TRIGGER forget_starts ON device IS 'Nothing waits for an activity of an installation that nobody knows any more.';

DROP TRIGGER wake_waiting_updates ON activity_start;
CREATE TRIGGER wake_waiting_updates AFTER DELETE OR UPDATE OF registered_at, account ON activity_start
    FOR EACH ROW EXECUTE FUNCTION wake_waiting_updates();
COMMENT ON TRIGGER wake_waiting_updates ON activity_start IS 'What waits for the update token goes on.';

-- The phone need not repeat of which type its activity is: it came up by a start that said so.

ALTER TABLE activity_start ADD COLUMN attributes_type text;
COMMENT ON COLUMN activity_start.attributes_type IS 'Name of the ActivityAttributes type that it started.';

CREATE OR REPLACE FUNCTION activity_came_up() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    started activity_start;
    former activity_start;
BEGIN
    SELECT * INTO started FROM activity_start
        WHERE sdk_app_id = NEW.sdk_app_id AND account = NEW.account AND la_id = NEW.la_id
            AND installation = NEW.installation AND registered_at IS NULL
        FOR UPDATE;
    -- One that was started for whoever was logged in there before.
    FOR former IN
        DELETE FROM activity_start
        WHERE sdk_app_id = NEW.sdk_app_id AND installation = NEW.installation AND la_id = NEW.la_id
            AND account <> NEW.account AND registered_at IS NULL
        RETURNING *
    LOOP
        started.last_timestamp := greatest(started.last_timestamp, former.last_timestamp);
        started.attributes_type := coalesce(started.attributes_type, former.attributes_type);
    END LOOP;
    IF started.last_timestamp IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE live_activity SET
        last_timestamp = greatest(last_timestamp, started.last_timestamp),
        next_message = greatest(next_message, started.message_id, started.waiting_message),
        -- What the phone says now counts, and what an activity of the same id was before it does not.
        attributes_type = CASE WHEN NEW.attributes_type IS DISTINCT FROM OLD.attributes_type THEN NEW.attributes_type
            ELSE coalesce(started.attributes_type, NEW.attributes_type) END
    WHERE sdk_app_id = NEW.sdk_app_id AND account = NEW.account AND la_id = NEW.la_id
        AND installation = NEW.installation;
    INSERT INTO waiting_alert (sdk_app_id, account, la_id, installation, message_id, content, until)
    SELECT NEW.sdk_app_id, NEW.account, NEW.la_id, NEW.installation, started.alert_message, started.alert,
        started.alert_until
    WHERE started.alert_message < started.waiting_message AND started.alert_until > clock_timestamp()
    ON CONFLICT (sdk_app_id, account, la_id, installation) DO NOTHING;
    UPDATE activity_start SET registered_at = clock_timestamp(), alert = NULL
    WHERE sdk_app_id = NEW.sdk_app_id AND account = NEW.account AND la_id = NEW.la_id
        AND installation = NEW.installation AND registered_at IS NULL;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION activity_came_up() IS 'Trigger: an activity that was started by a push has its update token, and is of the type that was started. Of what waits for it the newest goes out, with a timestamp above that of the start.';

-- A start that waits takes its alert along, as an update that waits does.

DROP FUNCTION claim_starts(
    bigint, text, text, text, bigint, timestamptz, boolean, text[], interval, interval, bigint, interval, boolean);
CREATE FUNCTION claim_starts(
    for_app bigint, for_account text, for_la_id text, for_attributes_type text, for_message bigint,
    deadline timestamptz, may_have_been_sent boolean, excepted text[], lifetime interval, token_wait interval,
    guard_limit bigint, guard_window interval, is_delayed boolean, own_alert bytea DEFAULT NULL
) RETURNS TABLE (
    verdict text, installation text, token bytea, token_fingerprint text, business_id bigint, environment text,
    os_version text, last_timestamp bigint, expires_at timestamptz, until timestamptz, has_bad_days boolean
)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    own start_token;
    started activity_start;
    former activity_start;
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
        IF (NOT is_known OR started.waits_until <= right_now)
            AND NOT runs_activity(for_app, for_account, for_la_id, own.installation) THEN
            -- One that was sent for whoever was logged in there before may still come up: it is the account's from now
            -- on, older than whatever is sent to that.
            SELECT * INTO former FROM activity_start
                WHERE sdk_app_id = for_app AND installation = own.installation AND la_id = for_la_id
                    AND account <> for_account AND registered_at IS NULL AND sent_at IS NOT NULL
                    AND waits_until > right_now
                ORDER BY message_id DESC LIMIT 1 FOR UPDATE;
            IF FOUND THEN
                DELETE FROM activity_start
                    WHERE sdk_app_id = for_app AND account = for_account AND la_id = for_la_id
                        AND installation = own.installation;
                UPDATE activity_start SET
                    account = for_account, message_id = least(former.message_id, for_message - 1),
                    last_timestamp = greatest(former.last_timestamp, started.last_timestamp), waiting_message = NULL,
                    waiting_end = NULL, alert_message = NULL, alert = NULL, alert_until = NULL
                WHERE sdk_app_id = for_app AND account = former.account AND la_id = for_la_id
                    AND installation = own.installation
                RETURNING * INTO started;
                is_known := true;
            END IF;
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
                FROM await_update_tokens(
                    for_app, for_account, for_la_id, for_message, false,
                    -- What another phone of the account waits for is for its own row to decide.
                    ARRAY(
                        SELECT other.installation FROM activity_start AS other
                        WHERE other.sdk_app_id = for_app AND other.account = for_account AND other.la_id = for_la_id
                            AND other.installation <> own.installation),
                    own_alert, deadline) AS awaited
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
            FROM start_guard CROSS JOIN LATERAL unnest(recent_starts) AS start (at)
            WHERE sdk_app_id = for_app AND installation = own.installation AND start.at > right_now - guard_window;
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
            INSERT INTO start_guard AS known (sdk_app_id, installation, recent_starts)
            VALUES (for_app, own.installation, ARRAY[right_now])
            ON CONFLICT (sdk_app_id, installation) DO UPDATE SET recent_starts = right_now || ARRAY(
                SELECT at FROM unnest(known.recent_starts) AS at WHERE at > right_now - guard_window ORDER BY at DESC);
        END IF;
        INSERT INTO activity_start AS stored (
            sdk_app_id, account, la_id, installation, message_id, token_fingerprint, last_timestamp, sent_at,
            expires_at, waits_until, attributes_type)
        VALUES (
            for_app, for_account, for_la_id, own.installation, for_message, claim_starts.token_fingerprint,
            greatest(claim_starts.last_timestamp, started.last_timestamp),
            CASE WHEN verdict = 'claimed' THEN right_now END,
            coalesce(claim_starts.expires_at, until + lifetime),
            coalesce(claim_starts.expires_at, until + lifetime) + token_wait, for_attributes_type)
        ON CONFLICT (sdk_app_id, account, la_id, installation) DO UPDATE SET
            message_id = excluded.message_id, token_fingerprint = excluded.token_fingerprint,
            last_timestamp = excluded.last_timestamp, sent_at = excluded.sent_at, expires_at = excluded.expires_at,
            waits_until = excluded.waits_until, attributes_type = excluded.attributes_type, registered_at = NULL,
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
COMMENT ON FUNCTION claim_starts(bigint, text, text, text, bigint, timestamptz, boolean, text[], interval, interval, bigint, interval, boolean, bytea) IS 'Decides for each phone of an account whether a start may be sent to it now: claimed; under_way (another start may still come up, the message waits for its update token, and its alert with it); superseded (by a newer message); guarded (too many starts lately); came_up (the activity runs there, since the caller looked); expired (it was tried for so long); quarantined. No two calls at one time for one account.';
