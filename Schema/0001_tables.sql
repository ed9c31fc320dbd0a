-- The tables of livepush. PostgreSQL 14 or newer, schema public. Applied by `livepush migrate`, once.

CREATE TABLE app (
    sdk_app_id bigint PRIMARY KEY CHECK (sdk_app_id > 0),
    name text NOT NULL DEFAULT '',
    secret_key_sealed bytea NOT NULL,
    administrators text[] NOT NULL CHECK (cardinality(administrators) > 0),
    require_imported_accounts boolean NOT NULL DEFAULT false,
    live_activity_alert boolean NOT NULL DEFAULT false,
    live_activity_priority smallint CHECK (live_activity_priority IN (5, 10)),
    fallback_collapse text NOT NULL DEFAULT 'message' CHECK (fallback_collapse IN ('message', 'activity')),
    placeholder_language text NOT NULL DEFAULT 'international'
        CHECK (placeholder_language IN ('international', 'chinese')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE app IS 'One row per application (tenant). Written by `livepush app`.';
COMMENT ON COLUMN app.sdk_app_id IS 'The SDKAppID that callers give as sdkappid.';
COMMENT ON COLUMN app.name IS 'A name for people; nothing depends on it.';
COMMENT ON COLUMN app.secret_key_sealed IS 'The key that signs UserSigs, sealed with AES-256-GCM under LIVEPUSH_MASTER_KEY.';
COMMENT ON COLUMN app.administrators IS 'Accounts whose UserSig may call the server API.';
COMMENT ON COLUMN app.require_imported_accounts IS 'true: a recipient that was never imported fails with 70107, as at Tencent.';
COMMENT ON COLUMN app.live_activity_alert IS 'true: Title and Desc are copied into aps.alert of Live Activity pushes.';
COMMENT ON COLUMN app.live_activity_priority IS 'Overrides the apns-priority of Live Activity updates; null: the rule of the dialect.';
COMMENT ON COLUMN app.fallback_collapse IS 'activity: all fallbacks of one (account, activity) share one apns-collapse-id; message: each message has its own.';
COMMENT ON COLUMN app.placeholder_language IS 'Language of texts such as [image] that stand for a message element.';
COMMENT ON COLUMN app.created_at IS 'When the row was made.';
COMMENT ON COLUMN app.updated_at IS 'When the row last changed; running gateways follow within 5 seconds.';

CREATE TABLE certificate (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    business_id bigint NOT NULL CHECK (business_id > 0),
    bundle_id text NOT NULL,
    team_id text NOT NULL,
    key_id text NOT NULL,
    private_key_sealed bytea NOT NULL,
    environment text NOT NULL CHECK (environment IN ('sandbox', 'production', 'both')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sdk_app_id, business_id)
);
COMMENT ON TABLE certificate IS 'APNs signing keys: which key, bundle and environment a businessId means. Written by `livepush certificate`.';
COMMENT ON COLUMN certificate.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN certificate.business_id IS 'The number that phones register with their tokens.';
COMMENT ON COLUMN certificate.bundle_id IS 'Bundle id of the iOS app; the apns-topic derives from it.';
COMMENT ON COLUMN certificate.team_id IS 'Apple developer team, 10 characters.';
COMMENT ON COLUMN certificate.key_id IS 'Id of the .p8 key, 10 characters.';
COMMENT ON COLUMN certificate.private_key_sealed IS 'The .p8 key, sealed with AES-256-GCM under LIVEPUSH_MASTER_KEY.';
COMMENT ON COLUMN certificate.environment IS 'The APNs environment of its tokens; both: production is tried first, then sandbox.';
COMMENT ON COLUMN certificate.created_at IS 'When the row was made.';
COMMENT ON COLUMN certificate.updated_at IS 'When the row last changed; running gateways follow within 5 seconds.';

CREATE TABLE account (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    account text NOT NULL CHECK (octet_length(account) BETWEEN 1 AND 128),
    nickname text NOT NULL DEFAULT '',
    face_url text NOT NULL DEFAULT '',
    imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sdk_app_id, account)
);
COMMENT ON TABLE account IS 'Accounts that the chat backend imported (account_import). Sending does not need them unless the app says so.';
COMMENT ON COLUMN account.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN account.account IS 'UserID, 1 to 128 bytes.';
COMMENT ON COLUMN account.nickname IS 'Put before notification texts that derive from MsgBody; empty: nothing is put there.';
COMMENT ON COLUMN account.face_url IS 'Kept as imported; not used for pushes.';
COMMENT ON COLUMN account.imported_at IS 'When the account was last imported.';

CREATE TABLE device (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    account text NOT NULL,
    installation text NOT NULL,
    token bytea NOT NULL,
    business_id bigint NOT NULL,
    environment text CHECK (environment IN ('sandbox', 'production')),
    os_version text,
    app_version text,
    language text,
    badge integer NOT NULL DEFAULT 0,
    foreground_until timestamptz,
    notification_permission text CHECK (notification_permission IN ('authorized', 'denied', 'provisional', 'ephemeral', 'notDetermined')),
    frequent_pushes_enabled boolean,
    sequence bigint,
    content_hash bigint,
    registered_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sdk_app_id, account, installation)
);
CREATE UNIQUE INDEX device_installation ON device (sdk_app_id, installation);
CREATE UNIQUE INDEX device_token ON device (sdk_app_id, token);
COMMENT ON TABLE device IS 'Device tokens: where normal notifications go. One row per installation; an installation and a token belong to one account.';
COMMENT ON COLUMN device.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN device.account IS 'The account that is logged in on the installation.';
COMMENT ON COLUMN device.installation IS 'The app''s own id of this installation, 1 to 64 of [A-Za-z0-9._-].';
COMMENT ON COLUMN device.token IS 'The APNs device token, raw bytes.';
COMMENT ON COLUMN device.business_id IS 'The certificate that pushes to it.';
COMMENT ON COLUMN device.environment IS 'The APNs environment the phone named or in which a push was accepted; null until known.';
COMMENT ON COLUMN device.os_version IS 'iOS version as reported.';
COMMENT ON COLUMN device.app_version IS 'App version as reported.';
COMMENT ON COLUMN device.language IS 'System language as reported, such as en or zh-Hant.';
COMMENT ON COLUMN device.badge IS 'Badge base that the phone reported.';
COMMENT ON COLUMN device.foreground_until IS 'Until then the app is in front and normal notifications are not sent to it.';
COMMENT ON COLUMN device.notification_permission IS 'The person''s answer to the permission request; denied: no notification is sent.';
COMMENT ON COLUMN device.frequent_pushes_enabled IS 'ActivityKit''s frequentPushesEnabled of this installation; null: unknown.';
COMMENT ON COLUMN device.sequence IS 'The installation''s counter of the last change of this row; null: it sends none.';
COMMENT ON COLUMN device.content_hash IS 'Hash of the registration as it was last put: tells a repeat from another one with the same sequence.';
COMMENT ON COLUMN device.registered_at IS 'When this token was last registered; compared with the time of a 410.';

CREATE TABLE live_activity (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    account text NOT NULL,
    la_id text NOT NULL CHECK (octet_length(la_id) BETWEEN 1 AND 64),
    installation text NOT NULL,
    token bytea NOT NULL,
    business_id bigint NOT NULL,
    environment text CHECK (environment IN ('sandbox', 'production')),
    attributes_type text,
    app_version text,
    sequence bigint,
    content_hash bigint,
    started_at timestamptz NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    last_message bigint NOT NULL DEFAULT 0,
    last_timestamp bigint NOT NULL DEFAULT 0,
    last_sent_at timestamptz,
    end_message bigint,
    ended_at timestamptz,
    PRIMARY KEY (sdk_app_id, account, la_id, installation)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX live_activity_token ON live_activity (sdk_app_id, token);
CREATE INDEX live_activity_installation ON live_activity (sdk_app_id, installation);
CREATE INDEX live_activity_fan_out ON live_activity (sdk_app_id, la_id, account, installation);
COMMENT ON TABLE live_activity IS 'Activity tokens: where Live Activity pushes go. The row is the truth about what was sent to that activity; the claim updates it in place, so no index may hold the columns from last_message on.';
COMMENT ON COLUMN live_activity.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN live_activity.account IS 'The account that is logged in on the installation.';
COMMENT ON COLUMN live_activity.la_id IS 'The app''s own id of the activity (LaId, activityID), 1 to 64 bytes.';
COMMENT ON COLUMN live_activity.installation IS 'The app''s own id of this installation.';
COMMENT ON COLUMN live_activity.token IS 'The ActivityKit push token, raw bytes.';
COMMENT ON COLUMN live_activity.business_id IS 'The certificate that pushes to it.';
COMMENT ON COLUMN live_activity.environment IS 'The APNs environment the phone named or in which a push was accepted; null until known.';
COMMENT ON COLUMN live_activity.attributes_type IS 'Name of the ActivityAttributes type, as reported.';
COMMENT ON COLUMN live_activity.app_version IS 'App version as reported.';
COMMENT ON COLUMN live_activity.sequence IS 'The installation''s counter of the last change of this row; null: it sends none.';
COMMENT ON COLUMN live_activity.content_hash IS 'Hash of the registration as it was last put: tells a repeat from another one with the same sequence.';
COMMENT ON COLUMN live_activity.started_at IS 'Start of the activity''s life: updates go out for 8 hours from here, end for 12.';
COMMENT ON COLUMN live_activity.registered_at IS 'When this token was last registered; compared with the time of a 410.';
COMMENT ON COLUMN live_activity.last_message IS 'Newest message that was claimed for it; an older one is superseded.';
COMMENT ON COLUMN live_activity.last_timestamp IS 'aps.timestamp of the newest claim; the next one is greater.';
COMMENT ON COLUMN live_activity.last_sent_at IS 'When the newest claim was made.';
COMMENT ON COLUMN live_activity.end_message IS 'The message whose end was claimed; nothing follows it.';
COMMENT ON COLUMN live_activity.ended_at IS 'When APNs accepted the end.';

CREATE TABLE registration_clear (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    installation text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('device', 'activity')),
    la_id text NOT NULL DEFAULT '',
    sequence bigint NOT NULL,
    cleared_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sdk_app_id, installation, kind, la_id)
);
CREATE INDEX registration_clear_age ON registration_clear (cleared_at);
COMMENT ON TABLE registration_clear IS 'Clears with a sequence, kept for 24 hours so that a late registration cannot undo them.';
COMMENT ON COLUMN registration_clear.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN registration_clear.installation IS 'The installation that cleared.';
COMMENT ON COLUMN registration_clear.kind IS 'What was cleared.';
COMMENT ON COLUMN registration_clear.la_id IS 'The activity that was cleared; empty: all of the installation, or its device token.';
COMMENT ON COLUMN registration_clear.sequence IS 'The installation''s counter at the clear.';
COMMENT ON COLUMN registration_clear.cleared_at IS 'When it was cleared.';

CREATE TABLE registration_transfer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transferred_at timestamptz NOT NULL DEFAULT now(),
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    installation text NOT NULL,
    from_account text NOT NULL,
    to_account text NOT NULL,
    reason text NOT NULL CHECK (reason IN ('installation', 'token')),
    devices integer NOT NULL,
    activities integer NOT NULL
);
COMMENT ON TABLE registration_transfer IS 'Registrations that an account lost because another account registered the same installation or token.';
COMMENT ON COLUMN registration_transfer.id IS 'Number of the record.';
COMMENT ON COLUMN registration_transfer.transferred_at IS 'When it happened.';
COMMENT ON COLUMN registration_transfer.sdk_app_id IS 'The app it happened in.';
COMMENT ON COLUMN registration_transfer.installation IS 'The installation that lost its registrations.';
COMMENT ON COLUMN registration_transfer.from_account IS 'The account that lost them.';
COMMENT ON COLUMN registration_transfer.to_account IS 'The account that registered.';
COMMENT ON COLUMN registration_transfer.reason IS 'What both had in common.';
COMMENT ON COLUMN registration_transfer.devices IS 'How many device tokens were taken.';
COMMENT ON COLUMN registration_transfer.activities IS 'How many activity tokens were taken.';

CREATE TABLE instance (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    heartbeat bigint NOT NULL DEFAULT 0,
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    host text NOT NULL DEFAULT '',
    started_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE instance IS 'Running gateway processes. Another instance takes over the work of one whose counter it saw unchanged for 25 seconds.';
COMMENT ON COLUMN instance.id IS 'Number of the instance; never used again.';
COMMENT ON COLUMN instance.heartbeat IS 'Counter that the instance increases; the others watch it change, no clock is compared.';
COMMENT ON COLUMN instance.heartbeat_at IS 'For people: time of the last increase.';
COMMENT ON COLUMN instance.host IS 'For people: host name and process id.';
COMMENT ON COLUMN instance.started_at IS 'When the instance registered itself.';

-- Accept order. A sequence of its own since a partitioned table cannot have an identity column before PostgreSQL 17.
CREATE SEQUENCE message_id AS bigint;

CREATE TABLE message (
    id bigint NOT NULL DEFAULT nextval('message_id'),
    accepted_at timestamptz NOT NULL,
    sdk_app_id bigint NOT NULL,
    dialect text NOT NULL,
    endpoint text NOT NULL,
    msg_key text NOT NULL,
    sender text NOT NULL,
    la_id text,
    event text,
    recipients integer NOT NULL,
    PRIMARY KEY (id, accepted_at)
) PARTITION BY RANGE (accepted_at);
CREATE INDEX message_key ON message (sdk_app_id, msg_key);
COMMENT ON TABLE message IS 'Accepted messages, without their content. Partitioned by UTC day.';
COMMENT ON COLUMN message.id IS 'Accept order.';
COMMENT ON COLUMN message.accepted_at IS 'When it was accepted, by PostgreSQL''s clock; also the day of its deliveries'' partition.';
COMMENT ON COLUMN message.sdk_app_id IS 'The app that sent it.';
COMMENT ON COLUMN message.dialect IS 'The API it came through.';
COMMENT ON COLUMN message.endpoint IS 'The route it came through.';
COMMENT ON COLUMN message.msg_key IS 'The key that the caller was given.';
COMMENT ON COLUMN message.sender IS 'The sending account.';
COMMENT ON COLUMN message.la_id IS 'The activity it instructs; null: a plain notification.';
COMMENT ON COLUMN message.event IS 'update or end; null: a plain notification.';
COMMENT ON COLUMN message.recipients IS 'How many distinct accounts it goes to.';

CREATE TABLE delivery (
    message_id bigint NOT NULL,
    accepted_at timestamptz NOT NULL,
    sdk_app_id bigint NOT NULL,
    account text NOT NULL,
    installation text,
    la_id text,
    event text,
    route text NOT NULL CHECK (route IN ('live_activity', 'notification', 'none')),
    route_reason text NOT NULL,
    fallback boolean NOT NULL,
    outcome text NOT NULL CHECK (outcome IN (
        'accepted_by_apns', 'token_dead', 'refused', 'expired', 'superseded', 'unchanged', 'suppressed', 'foreground',
        'activity_ended', 'nothing_to_send', 'cancelled', 'quarantined')),
    apns_status smallint,
    apns_reason text,
    apns_id uuid,
    attempts integer NOT NULL,
    priority smallint,
    priority_reason text,
    timestamp_sent bigint,
    payload_bytes integer,
    token_fingerprint text,
    environment text,
    sent_at timestamptz,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp()
) PARTITION BY RANGE (accepted_at);
CREATE INDEX delivery_message ON delivery (message_id);
CREATE INDEX delivery_account ON delivery (sdk_app_id, account, accepted_at);
COMMENT ON TABLE delivery IS 'What became of each target of each message, written once. Partitioned by the message''s UTC accept day.';
COMMENT ON COLUMN delivery.message_id IS 'The message.';
COMMENT ON COLUMN delivery.accepted_at IS 'When the message was accepted.';
COMMENT ON COLUMN delivery.sdk_app_id IS 'The app.';
COMMENT ON COLUMN delivery.account IS 'The recipient.';
COMMENT ON COLUMN delivery.installation IS 'The installation; null where nothing was sent to any.';
COMMENT ON COLUMN delivery.la_id IS 'The activity; null: a plain notification.';
COMMENT ON COLUMN delivery.event IS 'update or end; null: a plain notification.';
COMMENT ON COLUMN delivery.route IS 'What was chosen: live_activity, notification or none.';
COMMENT ON COLUMN delivery.route_reason IS 'Why that was chosen.';
COMMENT ON COLUMN delivery.fallback IS 'true: the notification stands in for a Live Activity push.';
COMMENT ON COLUMN delivery.outcome IS 'What became of it. accepted_by_apns is not a proof of display.';
COMMENT ON COLUMN delivery.apns_status IS 'HTTP status of APNs'' last answer; null: none came.';
COMMENT ON COLUMN delivery.apns_reason IS 'Reason in APNs'' last answer, or why there was none.';
COMMENT ON COLUMN delivery.apns_id IS 'apns-id of the push; the same on every attempt.';
COMMENT ON COLUMN delivery.attempts IS 'How many pushes were sent for it.';
COMMENT ON COLUMN delivery.priority IS 'apns-priority that was sent.';
COMMENT ON COLUMN delivery.priority_reason IS 'Why that priority.';
COMMENT ON COLUMN delivery.timestamp_sent IS 'aps.timestamp that was sent, Unix seconds.';
COMMENT ON COLUMN delivery.payload_bytes IS 'Size of the body that was sent.';
COMMENT ON COLUMN delivery.token_fingerprint IS 'token_fingerprint() of the token it went to.';
COMMENT ON COLUMN delivery.environment IS 'The APNs environment of the last attempt.';
COMMENT ON COLUMN delivery.sent_at IS 'When the last attempt was sent.';
COMMENT ON COLUMN delivery.finished_at IS 'When the row was written.';

CREATE TABLE pending (
    message_id bigint NOT NULL,
    account text,
    accepted_at timestamptz NOT NULL,
    sdk_app_id bigint NOT NULL,
    instance_id bigint,
    due timestamptz NOT NULL,
    deadline timestamptz NOT NULL,
    takeovers smallint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    reason text NOT NULL DEFAULT '',
    content bytea,
    progress bytea,
    CHECK ((account IS NULL) = (content IS NOT NULL))
) WITH (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2
);
CREATE UNIQUE INDEX pending_message ON pending (message_id) WHERE account IS NULL;
CREATE UNIQUE INDEX pending_recipient ON pending (message_id, account) WHERE account IS NOT NULL;
CREATE INDEX pending_due ON pending (due) WHERE instance_id IS NULL;
CREATE INDEX pending_suspect ON pending (due) WHERE instance_id IS NULL AND takeovers > 1;
CREATE INDEX pending_account ON pending (sdk_app_id, account) WHERE account IS NOT NULL;
COMMENT ON TABLE pending IS 'The only queue: what is under way, waits for a retry, or was left by a dead instance. The row of the whole message holds its content and goes when nothing of the message is left.';
COMMENT ON COLUMN pending.message_id IS 'The message.';
COMMENT ON COLUMN pending.account IS 'The recipient that waits; null: the whole message.';
COMMENT ON COLUMN pending.accepted_at IS 'When the message was accepted.';
COMMENT ON COLUMN pending.sdk_app_id IS 'The app.';
COMMENT ON COLUMN pending.instance_id IS 'The instance that works on it; null: none does.';
COMMENT ON COLUMN pending.due IS 'When it is to be taken up; infinity: its recipients wait in rows of their own.';
COMMENT ON COLUMN pending.deadline IS 'After this nothing more is sent for it.';
COMMENT ON COLUMN pending.takeovers IS 'How often its instance died; after 3 the message is quarantined.';
COMMENT ON COLUMN pending.attempts IS 'How often the recipient was tried.';
COMMENT ON COLUMN pending.reason IS 'Why it waits.';
COMMENT ON COLUMN pending.content IS 'The message''s order, a versioned JSON encoding; only in the row of the whole message. Operators cannot read it.';
COMMENT ON COLUMN pending.progress IS 'Outcome of each target of the recipient so far, a versioned JSON encoding.';

-- Partitions are named after their UTC day. Serve makes them 7 days ahead; there is no default partition, since one
-- would forbid DETACH CONCURRENTLY.
CREATE FUNCTION create_partitions(days_ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
    SET timezone = 'UTC' SET lock_timeout = '2s' AS $$
DECLARE
    first_day date := (now() AT TIME ZONE 'UTC')::date - 1;
    day date;
    parent text;
    partition text;
    made integer := 0;
BEGIN
    -- Two instances that start together would otherwise both find the partition missing.
    PERFORM pg_advisory_xact_lock(5065287241953021);
    FOR day IN SELECT generate_series(first_day, first_day + 1 + days_ahead, interval '1 day')::date LOOP
        FOREACH parent IN ARRAY ARRAY['message', 'delivery'] LOOP
            partition := parent || to_char(day, '_YYYYMMDD');
            IF to_regclass(format('public.%I', partition)) IS NULL THEN
                -- Attached rather than made in place: CREATE ... PARTITION OF would lock the parent against every
                -- reader and writer, and wait behind the slowest of them.
                EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL)', partition, parent);
                EXECUTE format(
                    'ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                    parent, partition, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
                made := made + 1;
            END IF;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
REVOKE ALL ON FUNCTION create_partitions(integer) FROM PUBLIC;
COMMENT ON FUNCTION create_partitions(integer) IS 'Makes the day partitions of message and delivery from yesterday to days_ahead days from today; returns how many were missing.';

SELECT create_partitions(7);
