-- Limits of pushes to all.

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
