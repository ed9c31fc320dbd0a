import VerbatimJSON

/// What APNs checks of one push before it takes it: request, connection and time in, the accepted push or a refusal out.
///
/// Rules and words from Apple's "Sending notification requests to APNs" and "Handling notification responses from
/// APNs". Apple names no order of the checks; here it is request line, headers, provider token, payload, device token.
struct PushRequestCheck {
    let keys: SigningKeyTable
    let tokens: TokenTable

    /// Checks a push.
    ///
    /// - Parameters:
    ///   - request: as it arrived.
    ///   - providerToken: what is in its `authorization` header.
    ///   - connection: the connection's memory of earlier provider tokens.
    func check(
        _ request: PushRequest,
        providerToken: Result<ProviderToken, Refusal>,
        connection: inout ProviderTokenPolicy,
    ) throws(Refusal) -> AcceptedPush {
        let tokenText = try checkRequestLine(request)
        try checkHeaderNames(request)
        let providerToken = try providerToken.get()
        try connection.admit(providerToken, keys: keys, environment: request.environment, time: request.time)
        let (pushType, topic) = try checkTopic(request)
        try keys.authorize(providerToken, bundleID: topic.bundleID)
        try checkDelivery(request, pushType: pushType)
        let payload = try checkPayload(request, pushType: pushType)
        guard let token = DeviceToken(tokenText) else { throw Refusal(400, "BadDeviceToken") }
        if let declared = tokens[token] {
            guard declared.environments.contains(request.environment) else { throw Refusal(400, "BadDeviceToken") }
            guard declared.belongs(to: topic) else { throw Refusal(400, "DeviceTokenNotForTopic") }
        }
        return AcceptedPush(
            token: token,
            topic: topic,
            pushType: pushType,
            priority: request.header("apns-priority").flatMap { Int($0) } ?? 10,
            id: request.header("apns-id"),
            collapseID: request.header("apns-collapse-id"),
            payload: payload,
        )
    }

    // MARK: - Headers

    private func checkRequestLine(_ request: PushRequest) throws(Refusal) -> Substring {
        guard request.method == "POST" else { throw Refusal(405, "MethodNotAllowed") }
        guard let token = PushRequestCheck.token(inPath: request.path) else { throw Refusal(404, "BadPath") }
        guard !token.isEmpty else { throw Refusal(400, "MissingDeviceToken") }
        return token
    }

    /// What stands in the place of the device token; nil if the path is another one.
    static func token(inPath path: String) -> Substring? {
        let prefix = "/3/device"
        guard path.hasPrefix(prefix) else { return nil }
        let rest = path.dropFirst(prefix.count)
        guard let slash = rest.first else { return rest }
        guard slash == "/" else { return nil }
        let token = rest.dropFirst()
        return token.contains("/") ? nil : token
    }

    private func checkHeaderNames(_ request: PushRequest) throws(Refusal) {
        var names: Set<String> = []
        for header in request.headers {
            guard names.insert(header.name).inserted else { throw Refusal(400, "DuplicateHeaders") }
        }
        if let id = request.header("apns-id") {
            guard PushRequestCheck.isUUID(id) else { throw Refusal(400, "BadMessageId") }
        }
    }

    /// Whether the text is a UUID in the form 8-4-4-4-12, in either case: what APNs makes itself is upper-case.
    static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12] && parts.allSatisfy { $0.allSatisfy(\.isHexDigit) }
    }

    /// A push without `apns-push-type` is taken for an alert: Apple calls the header required on watchOS and recommended
    /// elsewhere.
    private func checkTopic(_ request: PushRequest) throws(Refusal) -> (PushType, PushTopic) {
        guard let pushType = PushType(rawValue: request.header("apns-push-type") ?? "alert") else {
            throw Refusal(400, "InvalidPushType")
        }
        guard let text = request.header("apns-topic"), !text.isEmpty else { throw Refusal(400, "MissingTopic") }
        let topic = try PushTopic(text)
        guard topic.suffix == pushType.topicSuffix else { throw Refusal(400, "DeviceTokenNotForTopic") }
        return (pushType, topic)
    }

    private func checkDelivery(_ request: PushRequest, pushType: PushType) throws(Refusal) {
        let priority = request.header("apns-priority")
        switch priority {
        case nil, "1", "5": break
        case "10" where pushType != .background: break
        default: throw Refusal(400, "BadPriority")
        }
        if let expiration = request.header("apns-expiration") {
            guard PushRequestCheck.isUnsignedInteger(expiration) else { throw Refusal(400, "BadExpirationDate") }
        }
        if let collapseID = request.header("apns-collapse-id") {
            guard collapseID.utf8.count <= 64 else { throw Refusal(400, "BadCollapseId") }
        }
    }

    static func isUnsignedInteger(_ text: String) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } && Int64(text) != nil
    }

    // MARK: - Payload

    /// Nothing tells what APNs answers to a body that is not JSON, not an object, or has no `aps`; it is PayloadEmpty
    /// here. A payload of another kind than `apns-push-type` says is InvalidPushType: "the value of this header must
    /// accurately reflect the contents". What is merely wrong inside a Live Activity payload APNs passes on, and
    /// ``Phone`` ignores.
    private func checkPayload(_ request: PushRequest, pushType: PushType) throws(Refusal) -> PushPayload {
        guard request.bodyLength <= pushType.maximumPayload else { throw Refusal(413, "PayloadTooLarge") }
        guard let payload = PushPayload(request.body) else { throw Refusal(400, "PayloadEmpty") }
        let isOfLiveActivity = payload.event != nil || payload.contentState != nil
        let matches =
            switch pushType {
            case .liveactivity: isOfLiveActivity
            case .background: !isOfLiveActivity && !payload.alerts
            default: !isOfLiveActivity
            }
        guard matches else { throw Refusal(400, "InvalidPushType") }
        return payload
    }
}
