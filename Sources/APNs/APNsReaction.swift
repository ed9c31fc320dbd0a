/// What an answer of APNs asks of the sender. Apple's table "Handling notification responses from APNs".
public enum APNsReaction: Sendable, Equatable {
    /// 200. Accepted by APNs, which does not prove a display.
    case accepted
    /// 410: the token will not work again. The time, where given, is milliseconds since 1970; a registration made
    /// later is not meant.
    case tokenDead(invalidSinceMilliseconds: Int64?)
    /// BadDeviceToken: most often a token of the other environment. Never a reason to delete a token at once.
    case suspectToken
    /// DeviceTokenNotForTopic: the token belongs to another bundle or another kind of push.
    case wrongTopic
    /// 413.
    case payloadTooLarge
    /// ExpiredProviderToken: a new provider token on a new connection, then once more.
    case expiredProviderToken
    /// TooManyProviderTokenUpdates: the same provider token on another connection; never a new one.
    case tooManyProviderTokenUpdates
    /// An operator has to mend key, team, topic or certificate; repeating does not help, deleting tokens neither.
    case configurationFault
    /// The same answer, to one token whose pushes APNs refuses while it takes others' with the same key and topic.
    /// Apple: not to be repeated.
    case recipientRefused
    /// TooManyRequests: this token only, later.
    case tooManyRequests(retryAfterSeconds: Int64?)
    /// 5xx: later.
    case serverError
    /// The connection has to be replaced; the push may be repeated.
    case reconnect
    /// The request itself is wrong: a fault of this program. Not to be repeated.
    case requestFault

    /// The reaction to an answer. Reasons that Apple does not list are decided by the class of the status.
    public static func of(_ response: APNsResponse) -> APNsReaction {
        if response.othersPass { return .recipientRefused }
        return switch (response.status, response.reason) {
        // 201 and 204 come only to requests about channels.
        case (200, _), (201, _), (204, _):
            .accepted
        case (410, _):
            .tokenDead(invalidSinceMilliseconds: response.timestampMilliseconds)
        case (413, _):
            .payloadTooLarge
        case (400, "BadDeviceToken"):
            .suspectToken
        case (400, "DeviceTokenNotForTopic"):
            .wrongTopic
        case (400, "BadTopic"), (400, "MissingTopic"), (400, "TopicDisallowed"), (400, "FeatureNotEnabled"):
            .configurationFault
        case (400, "IdleTimeout"):
            .reconnect
        case (403, "ExpiredProviderToken"):
            .expiredProviderToken
        case (403, "UnrelatedKeyIdInToken"):
            .reconnect
        case (403, _):
            // Also BadEnvironmentKeyIdInToken, which is spelled BadEnvironmentKeyInToken on the wire.
            .configurationFault
        case (429, "TooManyProviderTokenUpdates"):
            .tooManyProviderTokenUpdates
        case (429, _):
            .tooManyRequests(retryAfterSeconds: response.retryAfterSeconds)
        case (503, "Shutdown"):
            .reconnect
        case (500..., _):
            .serverError
        default:
            .requestFault
        }
    }

    /// Whether an answer or a GOAWAY with that reason refuses the signing key itself, so that no request with it can
    /// succeed. Forbidden and TopicMismatch are about one topic of a key: others of the same key may be fine.
    public static func refusesKey(_ reason: String) -> Bool {
        switch reason {
        case "InvalidProviderToken", "MissingProviderToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
            "BadCertificate", "BadCertificateEnvironment":
            true
        default: false
        }
    }
}
