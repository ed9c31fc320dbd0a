import APNs
import Testing

@Suite(.timeLimit(.minutes(5)))
struct APNsReactionTests {
    /// Apple's tables "Handling notification responses from APNs" and "Handling error responses from APNs".
    private static let table: [(Int, String?, APNsReaction)] = [
        (200, nil, .accepted),
        (400, "BadCollapseId", .requestFault),
        (400, "BadDeviceToken", .suspectToken),
        (400, "BadExpirationDate", .requestFault),
        (400, "BadMessageId", .requestFault),
        (400, "BadPriority", .requestFault),
        (400, "BadTopic", .configurationFault),
        (400, "DeviceTokenNotForTopic", .wrongTopic),
        (400, "DuplicateHeaders", .requestFault),
        (400, "IdleTimeout", .reconnect),
        (400, "InvalidPushType", .requestFault),
        (400, "MissingDeviceToken", .requestFault),
        (400, "MissingTopic", .configurationFault),
        (400, "PayloadEmpty", .requestFault),
        (400, "TopicDisallowed", .configurationFault),
        (403, "BadCertificate", .configurationFault),
        (403, "BadCertificateEnvironment", .configurationFault),
        (403, "ExpiredProviderToken", .expiredProviderToken),
        (403, "Forbidden", .configurationFault),
        (403, "InvalidProviderToken", .configurationFault),
        (403, "MissingProviderToken", .configurationFault),
        (403, "UnrelatedKeyIdInToken", .reconnect),
        (403, "BadEnvironmentKeyIdInToken", .configurationFault),
        (403, "BadEnvironmentKeyInToken", .configurationFault),
        (403, "TopicMismatch", .configurationFault),
        (404, "BadPath", .requestFault),
        (405, "MethodNotAllowed", .requestFault),
        (410, "ExpiredToken", .tokenDead(invalidSinceMilliseconds: 1_796_007_172_000)),
        (410, "Unregistered", .tokenDead(invalidSinceMilliseconds: 1_796_007_172_000)),
        (413, "PayloadTooLarge", .payloadTooLarge),
        (429, "TooManyProviderTokenUpdates", .tooManyProviderTokenUpdates),
        (429, "TooManyRequests", .tooManyRequests(retryAfterSeconds: 17)),
        (500, "InternalServerError", .serverError),
        (503, "ServiceUnavailable", .serverError),
        (503, "Service Unavailable", .serverError),
        (503, "Shutdown", .reconnect),
        (400, "FeatureNotEnabled", .configurationFault),
        (400, "MissingChannelId", .requestFault),
        (400, "BadChannelId", .requestFault),
        (400, "ChannelNotRegistered", .requestFault),
        (400, "BadRequestParams", .requestFault),
        (400, "BadRequestPayload", .requestFault),
        (400, "MissingPushType", .requestFault),
        (400, "CannotCreateChannelConfig", .requestFault),
        // What Apple does not list is decided by the status.
        (400, "SomethingNew", .requestFault),
        (400, nil, .requestFault),
        (403, "SomethingNew", .configurationFault),
        (410, nil, .tokenDead(invalidSinceMilliseconds: 1_796_007_172_000)),
        (413, nil, .payloadTooLarge),
        (418, nil, .requestFault),
        (429, nil, .tooManyRequests(retryAfterSeconds: 17)),
        (502, nil, .serverError),
        (503, "SomethingNew", .serverError),
        (302, nil, .requestFault),
    ]

    @Test("C12, C53: every answer of Apple's tables asks for one reaction", arguments: table)
    func reaction(_ status: Int, _ reason: String?, _ reaction: APNsReaction) {
        let response = APNsResponse(
            status: status,
            reason: reason,
            timestampMilliseconds: 1_796_007_172_000,
            retryAfterSeconds: 17,
        )
        #expect(APNsReaction.of(response) == reaction)
    }

    @Test("What APNs refuses of one recipient while others pass is not to be repeated, and no configuration fault")
    func recipientAlone() {
        var response = APNsResponse(status: 403, reason: "Forbidden")
        response.othersPass = true
        #expect(APNsReaction.of(response) == .recipientRefused)
    }
}
