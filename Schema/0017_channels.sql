-- Broadcast channels (iOS 18): what is known of each, and every request about one with Apple's answer.

CREATE TABLE channel (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    bundle_id text NOT NULL,
    environment text NOT NULL CHECK (environment IN ('sandbox', 'production')),
    channel_id text NOT NULL,
    storage text NOT NULL CHECK (storage IN ('none', 'recent')),
    created_at timestamptz,
    known_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_timestamp bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (sdk_app_id, bundle_id, environment, channel_id)
);
COMMENT ON TABLE channel IS 'Broadcast channels that APNs has, as far as they were made or used here; deleted ones are not kept. `livepush channel list` asks APNs for all.';
COMMENT ON COLUMN channel.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN channel.bundle_id IS 'Bundle id of the iOS app.';
COMMENT ON COLUMN channel.environment IS 'sandbox or production: they share no channel.';
COMMENT ON COLUMN channel.channel_id IS 'Its id in base64, as APNs gave it.';
COMMENT ON COLUMN channel.storage IS 'none: nothing is kept for phones that are away; recent: the most recent push, for 8 hours at most. It never changes.';
COMMENT ON COLUMN channel.created_at IS 'When it was made here; null: it was made elsewhere.';
COMMENT ON COLUMN channel.known_since IS 'When this database first heard of it.';
COMMENT ON COLUMN channel.last_timestamp IS 'The newest aps.timestamp that was claimed for it. A phone ignores older ones.';

CREATE TABLE channel_request (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    answered_at timestamptz,
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    business_id bigint NOT NULL,
    bundle_id text NOT NULL,
    environment text NOT NULL CHECK (environment IN ('sandbox', 'production')),
    requested_by text NOT NULL,
    operation text NOT NULL CHECK (operation IN ('create', 'read', 'list', 'delete', 'send')),
    channel_id text,
    request_id uuid NOT NULL DEFAULT gen_random_uuid(),
    event text CHECK (event IN ('update', 'end')),
    priority smallint,
    expiration bigint,
    timestamp_sent bigint,
    payload_bytes integer,
    warnings text[] NOT NULL DEFAULT '{}',
    outcome text CHECK (outcome IN ('accepted_by_apns', 'refused', 'held', 'no_answer')),
    apns_status smallint,
    apns_reason text,
    may_have_been_processed boolean NOT NULL DEFAULT false
);
CREATE INDEX channel_request_app ON channel_request (sdk_app_id, requested_at);
CREATE INDEX channel_request_age ON channel_request (requested_at);
COMMENT ON TABLE channel_request IS 'Every request about a broadcast channel that went to APNs. The row is there before the request goes out.';
COMMENT ON COLUMN channel_request.id IS 'Rises in the order of the requests.';
COMMENT ON COLUMN channel_request.requested_at IS 'When it was handed to the connection.';
COMMENT ON COLUMN channel_request.answered_at IS 'When its end was known; null: it is under way, or the gateway died before it could write the answer.';
COMMENT ON COLUMN channel_request.sdk_app_id IS 'The app.';
COMMENT ON COLUMN channel_request.business_id IS 'The certificate that it was signed with.';
COMMENT ON COLUMN channel_request.bundle_id IS 'Bundle id of the iOS app.';
COMMENT ON COLUMN channel_request.environment IS 'sandbox or production.';
COMMENT ON COLUMN channel_request.requested_by IS 'The account whose UserSig asked for it.';
COMMENT ON COLUMN channel_request.operation IS 'create, read, list or delete a channel, or send to one.';
COMMENT ON COLUMN channel_request.channel_id IS 'Which channel; of a create the one that APNs made; null for a list.';
COMMENT ON COLUMN channel_request.request_id IS 'apns-request-id, by which Apple finds the request.';
COMMENT ON COLUMN channel_request.event IS 'send: update or end.';
COMMENT ON COLUMN channel_request.priority IS 'send: apns-priority.';
COMMENT ON COLUMN channel_request.expiration IS 'send: apns-expiration in Unix seconds; 0: APNs stores nothing.';
COMMENT ON COLUMN channel_request.timestamp_sent IS 'send: aps.timestamp.';
COMMENT ON COLUMN channel_request.payload_bytes IS 'send: size of the body, 5120 at most.';
COMMENT ON COLUMN channel_request.warnings IS 'send: what the caller was warned of, as `field: code`.';
COMMENT ON COLUMN channel_request.outcome IS 'accepted_by_apns: 200, 201 or 204, which proves no display; refused: APNs said no; held: not sent, since APNs refuses the signing key; no_answer: APNs did not answer. null: see answered_at.';
COMMENT ON COLUMN channel_request.apns_status IS 'HTTP status of APNs.';
COMMENT ON COLUMN channel_request.apns_reason IS 'APNs'' reason, or why there is no answer.';
COMMENT ON COLUMN channel_request.may_have_been_processed IS 'no_answer: APNs may have done it all the same.';

CREATE VIEW channels AS
SELECT
    channel.sdk_app_id, channel.bundle_id, channel.environment, channel.channel_id, channel.storage, channel.created_at,
    channel.known_since, newest.requested_at AS last_sent_at, newest.event AS last_event,
    newest.outcome AS last_outcome, newest.apns_reason AS last_reason
FROM channel
LEFT JOIN LATERAL (
    SELECT requested_at, event, outcome, apns_reason FROM channel_request
    WHERE channel_request.sdk_app_id = channel.sdk_app_id AND channel_request.bundle_id = channel.bundle_id
        AND channel_request.environment = channel.environment AND channel_request.channel_id = channel.channel_id
        AND operation = 'send'
    ORDER BY requested_at DESC LIMIT 1
) AS newest ON true;
COMMENT ON VIEW channels IS 'Broadcast channels that were made or used here, each with the last push to it.';

CREATE VIEW channel_requests AS
SELECT
    requested_at, answered_at, sdk_app_id, business_id, bundle_id, environment, requested_by, operation, channel_id,
    event, outcome, apns_status, apns_reason,
    CASE WHEN apns_reason IS NOT NULL THEN plain_reason(apns_reason) END AS explanation,
    may_have_been_processed, priority, expiration, timestamp_sent, payload_bytes, warnings, request_id
FROM channel_request
WHERE requested_at > now() - interval '7 days'
ORDER BY requested_at DESC;
COMMENT ON VIEW channel_requests IS 'Requests about broadcast channels of the last 7 days with APNs'' answers, newest first.';
COMMENT ON COLUMN channels.sdk_app_id IS 'The app.';
COMMENT ON COLUMN channels.bundle_id IS 'Bundle id of the iOS app.';
COMMENT ON COLUMN channels.environment IS 'sandbox or production.';
COMMENT ON COLUMN channels.channel_id IS 'Its id in base64.';
COMMENT ON COLUMN channels.storage IS 'none or recent: what APNs keeps for phones that are away.';
COMMENT ON COLUMN channels.created_at IS 'When it was made here; null: it was made elsewhere.';
COMMENT ON COLUMN channels.known_since IS 'When this database first heard of it.';
COMMENT ON COLUMN channels.last_sent_at IS 'When the last push to it went out; null: none did while requests are kept.';
COMMENT ON COLUMN channels.last_event IS 'update or end.';
COMMENT ON COLUMN channels.last_outcome IS 'What became of that push; null: not known yet, or never.';
COMMENT ON COLUMN channels.last_reason IS 'APNs'' reason, or why there was no answer.';
COMMENT ON COLUMN channel_requests.requested_at IS 'When it was handed to the connection.';
COMMENT ON COLUMN channel_requests.answered_at IS 'When its end was known; null: it is under way, or the gateway died before it could write the answer.';
COMMENT ON COLUMN channel_requests.sdk_app_id IS 'The app.';
COMMENT ON COLUMN channel_requests.business_id IS 'The certificate that it was signed with.';
COMMENT ON COLUMN channel_requests.bundle_id IS 'Bundle id of the iOS app.';
COMMENT ON COLUMN channel_requests.environment IS 'sandbox or production.';
COMMENT ON COLUMN channel_requests.requested_by IS 'The account whose UserSig asked for it.';
COMMENT ON COLUMN channel_requests.operation IS 'create, read, list, delete, or send.';
COMMENT ON COLUMN channel_requests.channel_id IS 'Which channel; null for a list.';
COMMENT ON COLUMN channel_requests.event IS 'send: update or end.';
COMMENT ON COLUMN channel_requests.outcome IS 'accepted_by_apns, refused, held or no_answer; null: see answered_at.';
COMMENT ON COLUMN channel_requests.apns_status IS 'HTTP status of APNs.';
COMMENT ON COLUMN channel_requests.apns_reason IS 'APNs'' reason, or why there is no answer.';
COMMENT ON COLUMN channel_requests.explanation IS 'The same in words.';
COMMENT ON COLUMN channel_requests.may_have_been_processed IS 'no_answer: APNs may have done it all the same.';
COMMENT ON COLUMN channel_requests.priority IS 'send: apns-priority.';
COMMENT ON COLUMN channel_requests.expiration IS 'send: apns-expiration in Unix seconds; 0: APNs stores nothing.';
COMMENT ON COLUMN channel_requests.timestamp_sent IS 'send: aps.timestamp.';
COMMENT ON COLUMN channel_requests.payload_bytes IS 'send: size of the body.';
COMMENT ON COLUMN channel_requests.warnings IS 'send: what the caller was warned of.';
COMMENT ON COLUMN channel_requests.request_id IS 'apns-request-id, by which Apple finds the request.';
