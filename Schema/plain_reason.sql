-- What reasons mean, in words. `livepush migrate` applies this file every time, after the numbered ones: a reason that is
-- added stands here and nowhere else.

CREATE OR REPLACE FUNCTION plain_reason(reason text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE reason
    WHEN '' THEN 'accepted, not begun yet'
    WHEN 'fan_out_waits' THEN 'a message to an audience waits for its turn: others are under way'
    WHEN 'taken_over' THEN 'its gateway died; another goes on with it'
    WHEN 'database_refused' THEN 'PostgreSQL refused to work on it; tried again every minute'
    WHEN 'not_readable' THEN 'stored by a newer release of livepush; waits for a gateway that can read it'
    WHEN 'certificate_missing' THEN 'no certificate for the businessId of its registration; waits for livepush certificate add'
    WHEN 'mass_token_failure' THEN 'APNs knows hardly any of the app''s tokens in this environment (BadDeviceToken): bundle id, key or environment is wrong rather than the token'
    WHEN 'activity_push_refused' THEN 'the Live Activity push was refused for good; a notification follows'
    WHEN 'update_token_awaited' THEN 'its activity was started by a push and may still come up; goes out when the phone registers the update token'
    WHEN 'start_guarded' THEN 'the phone was sent as many starts as iOS takes in a while; this one waits for its turn'
    WHEN 'revoked' THEN 'its sender took the message back; nothing more of it is sent'
    WHEN 'revoked_push_under_way' THEN 'it replaces pushes of a message that was taken back, whose last ones are not answered yet'
    WHEN 'no_answer' THEN 'APNs gave no answer'
    WHEN 'timeout' THEN 'APNs did not answer in time'
    WHEN 'closed' THEN 'the connection to APNs was closed on this side'
    WHEN 'backlogged' THEN 'more pushes of its signing key wait than APNs takes; it keeps its place among them, and is not sent yet'
    WHEN 'connect_failed' THEN 'no connection to APNs'
    WHEN 'connection_lost' THEN 'the connection to APNs was lost'
    WHEN 'stream_refused' THEN 'APNs took no more requests on its connections'
    WHEN 'stream_reset' THEN 'APNs broke the request off'
    WHEN 'provider_token_unavailable' THEN 'the provider token that all gateways share could not be read or stored'
    WHEN 'TooManyRequests' THEN 'APNs wants fewer pushes to this token (TooManyRequests)'
    WHEN 'InternalServerError' THEN 'a fault inside APNs (InternalServerError)'
    WHEN 'ServiceUnavailable' THEN 'APNs is not available (ServiceUnavailable)'
    WHEN 'Shutdown' THEN 'APNs shut the server down (Shutdown)'
    WHEN 'InvalidProviderToken' THEN 'APNs refuses the signing key (InvalidProviderToken): key id, team id or .p8 is wrong, or the key was revoked'
    WHEN 'ExpiredProviderToken' THEN 'APNs takes the provider token for too old (ExpiredProviderToken): the clock of the gateway''s host is wrong'
    WHEN 'TooManyProviderTokenUpdates' THEN 'APNs saw too many provider tokens of this key (TooManyProviderTokenUpdates): something else uses it too'
    WHEN 'BadEnvironmentKeyInToken' THEN 'APNs refuses the signing key in this environment (BadEnvironmentKeyInToken)'
    WHEN 'BadEnvironmentKeyIdInToken' THEN 'APNs refuses the signing key in this environment (BadEnvironmentKeyIdInToken)'
    WHEN 'ProviderTokenNotSigned' THEN 'the gateway cannot sign with the stored key (ProviderTokenNotSigned)'
    WHEN 'TopicDisallowed' THEN 'the signing key may not push to this bundle id (TopicDisallowed)'
    WHEN 'Forbidden' THEN 'the signing key may not push to this bundle id (Forbidden)'
    WHEN 'BadTopic' THEN 'APNs does not know this bundle id (BadTopic)'
    WHEN 'DeviceTokenNotForTopic' THEN 'the token belongs to another bundle id (DeviceTokenNotForTopic)'
    WHEN 'ChannelNotRegistered' THEN 'APNs has no such channel in this environment (ChannelNotRegistered): it was deleted, or belongs to the other environment'
    WHEN 'CannotCreateChannelConfig' THEN 'the app has all the 10,000 channels that APNs allows (CannotCreateChannelConfig): delete some'
    WHEN 'FeatureNotEnabled' THEN 'broadcasts are not enabled for the bundle id (FeatureNotEnabled): enable them in Apple''s developer portal'
    WHEN 'BadChannelId' THEN 'that is no id of a channel (BadChannelId)'
    WHEN 'TopicMismatch' THEN 'the signing key is not for this bundle id (TopicMismatch)'
    ELSE 'APNs answered ' || reason
END;
COMMENT ON FUNCTION plain_reason(text) IS 'A reason as stored, in words for people.';
