-- Messages to audiences: whom they go to, how far each has come, and the segments that operators fill.

CREATE TABLE segment (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 128),
    account text NOT NULL CHECK (octet_length(account) BETWEEN 1 AND 128),
    installation text CHECK (installation ~ '^[A-Za-z0-9._-]{1,64}$'),
    added_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX segment_member ON segment (sdk_app_id, name, account, coalesce(installation, ''));
CREATE INDEX segment_account ON segment (sdk_app_id, account);
COMMENT ON TABLE segment IS 'Who is in which segment. Filled by operators, here or with `livepush segment`; a message to a segment goes to whoever is in it when it is sent.';
COMMENT ON COLUMN segment.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN segment.name IS 'The segment: a tag, a group, a filter, 1 to 128 bytes.';
COMMENT ON COLUMN segment.account IS 'The account that is in it. It need not be known here yet.';
COMMENT ON COLUMN segment.installation IS 'The one phone of the account that is in it; null: all its phones.';
COMMENT ON COLUMN segment.added_at IS 'When it was added.';

CREATE TABLE fan_out (
    message_id bigint PRIMARY KEY,
    accepted_at timestamptz NOT NULL,
    sdk_app_id bigint NOT NULL,
    audience text NOT NULL CHECK (audience IN ('activity', 'devices', 'everyone', 'segments')),
    activity text,
    segments_all text[],
    segments_any text[],
    devices integer,
    unknown_devices text[],
    replaces_older boolean NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    listed bigint NOT NULL DEFAULT 0,
    advanced_at timestamptz,
    outcome text CHECK (outcome IN ('listed', 'superseded', 'expired', 'suppressed', 'cancelled', 'quarantined')),
    ended_by bigint,
    finished_at timestamptz,
    CHECK ((outcome IS NULL) = (finished_at IS NULL))
);
CREATE INDEX fan_out_activity ON fan_out (sdk_app_id, activity, message_id) WHERE replaces_older;
CREATE INDEX fan_out_age ON fan_out (accepted_at);
COMMENT ON TABLE fan_out IS 'Messages to audiences, whose recipients are looked up while they are sent: how far each has come, and why it ended. What became of the recipients stands in delivery.';
COMMENT ON COLUMN fan_out.message_id IS 'The message.';
COMMENT ON COLUMN fan_out.accepted_at IS 'When it was accepted.';
COMMENT ON COLUMN fan_out.sdk_app_id IS 'The app.';
COMMENT ON COLUMN fan_out.audience IS 'Whom it goes to. activity: all phones on which an activity runs; devices: the phones with given device tokens; everyone: all accounts of the app; segments: whoever is in them.';
COMMENT ON COLUMN fan_out.activity IS 'Of an activity: its id.';
COMMENT ON COLUMN fan_out.segments_all IS 'Of segments: the recipient is in all of these.';
COMMENT ON COLUMN fan_out.segments_any IS 'Of segments: and in one of these; empty: that is not asked.';
COMMENT ON COLUMN fan_out.devices IS 'Of devices: how many tokens were named.';
COMMENT ON COLUMN fan_out.unknown_devices IS 'Of devices: token_fingerprint() of those that no phone had registered when the message was begun. Nothing was sent to them.';
COMMENT ON COLUMN fan_out.replaces_older IS 'true: an older silent update to the same audience need not go on.';
COMMENT ON COLUMN fan_out.started_at IS 'When its first recipients were looked up.';
COMMENT ON COLUMN fan_out.listed IS 'How many recipients were found so far; each of them has rows in delivery or pending.';
COMMENT ON COLUMN fan_out.advanced_at IS 'When that was counted.';
COMMENT ON COLUMN fan_out.outcome IS 'listed: all recipients were found. superseded: a newer update or end goes to the same audience, so that those who were not found yet get only that. expired, suppressed, cancelled, quarantined: as in delivery, for all who were not found yet. null: it is not done.';
COMMENT ON COLUMN fan_out.ended_by IS 'Of superseded: the newer message.';
COMMENT ON COLUMN fan_out.finished_at IS 'When the outcome was written. Recipients may still wait for another attempt.';

-- Phones on which a start may still come up belong to the audience of its activity.
CREATE INDEX activity_start_fan_out ON activity_start (sdk_app_id, la_id, account);

COMMENT ON COLUMN message.recipients IS 'How many distinct accounts it goes to; of a message to an audience, how many were found so far.';

CREATE VIEW fan_outs AS
SELECT
    fan_out.sdk_app_id, fan_out.message_id, message.msg_key, message.endpoint, message.sender, fan_out.audience,
    fan_out.segments_all, fan_out.segments_any, message.la_id, message.event, fan_out.accepted_at, fan_out.started_at,
    fan_out.listed, fan_out.advanced_at, coalesce(fan_out.outcome, 'under way') AS state,
    (SELECT newer.msg_key FROM message AS newer JOIN fan_out AS other ON other.message_id = newer.id
        WHERE newer.id = fan_out.ended_by AND newer.accepted_at = other.accepted_at) AS ended_by,
    fan_out.finished_at, fan_out.devices, fan_out.unknown_devices
FROM fan_out
LEFT JOIN message ON message.id = fan_out.message_id AND message.accepted_at = fan_out.accepted_at;
COMMENT ON VIEW fan_outs IS 'Messages to audiences that were begun: whom they go to, how far they have come, why they ended.';
COMMENT ON COLUMN fan_outs.sdk_app_id IS 'The app.';
COMMENT ON COLUMN fan_outs.message_id IS 'The message, in accept order.';
COMMENT ON COLUMN fan_outs.msg_key IS 'The key that the caller was given.';
COMMENT ON COLUMN fan_outs.endpoint IS 'The route it came through.';
COMMENT ON COLUMN fan_outs.sender IS 'The sending account.';
COMMENT ON COLUMN fan_outs.audience IS 'activity, devices, everyone or segments.';
COMMENT ON COLUMN fan_outs.segments_all IS 'The recipient is in all of these segments.';
COMMENT ON COLUMN fan_outs.segments_any IS 'And in one of these; empty: that is not asked.';
COMMENT ON COLUMN fan_outs.la_id IS 'The activity; null: a plain notification.';
COMMENT ON COLUMN fan_outs.event IS 'start, update or end; null: a plain notification.';
COMMENT ON COLUMN fan_outs.accepted_at IS 'When the message was accepted.';
COMMENT ON COLUMN fan_outs.started_at IS 'When its first recipients were looked up.';
COMMENT ON COLUMN fan_outs.listed IS 'How many recipients were found so far; what became of each stands in recent_deliveries or undelivered.';
COMMENT ON COLUMN fan_outs.advanced_at IS 'When that was counted.';
COMMENT ON COLUMN fan_outs.state IS 'under way, or how it ended: listed, superseded, expired, suppressed, cancelled, quarantined.';
COMMENT ON COLUMN fan_outs.ended_by IS 'The key of the newer message that superseded it.';
COMMENT ON COLUMN fan_outs.finished_at IS 'When it ended. Recipients may still wait for another attempt.';
COMMENT ON COLUMN fan_outs.devices IS 'How many device tokens were named.';
COMMENT ON COLUMN fan_outs.unknown_devices IS 'token_fingerprint() of those that nobody had registered.';
