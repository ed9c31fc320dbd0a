import Metrics

/// Apple's words for why a request was refused or a connection closed.
public enum APNsReason {
    /// Every reason of Apple's tables for pushes and channels, and those that senders report beside them.
    static let known: Set<String> = [
        "BadCertificate", "BadCertificateEnvironment", "BadChannelId", "BadCollapseId", "BadDeviceToken",
        "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadExpirationDate", "BadMessageId", "BadPath",
        "BadPriority", "BadRequestParams", "BadRequestPayload", "BadTopic", "CannotCreateChannelConfig",
        "ChannelNotRegistered", "DeviceTokenNotForTopic", "DuplicateHeaders", "ExpiredProviderToken", "ExpiredToken",
        "FeatureNotEnabled", "Forbidden", "IdleTimeout", "InternalServerError", "InvalidProviderToken",
        "InvalidPushType", "MethodNotAllowed", "MissingChannelId", "MissingDeviceToken", "MissingProviderToken",
        "MissingPushType", "MissingTopic", "PayloadEmpty", "PayloadTooLarge", "Service Unavailable",
        "ServiceUnavailable", "Shutdown", "TooManyProviderTokenUpdates", "TooManyRequests", "TopicDisallowed",
        "TopicMismatch", "Unregistered", "UnrelatedKeyIdInToken",
    ]

    /// The reason as a metric's label: itself if Apple lists it, else `other`; empty for nil.
    public static func label(of reason: String?) -> String {
        bounded(reason, to: known)
    }
}
