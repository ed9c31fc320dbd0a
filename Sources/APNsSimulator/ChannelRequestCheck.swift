import VerbatimJSON

/// What APNs checks of a request about broadcast channels before it does it.
///
/// Rules and words from Apple's "Sending channel management requests to APNs", "Sending broadcast push notification requests
/// to APNs" and "Handling error responses from APNs". The order of the checks is that of ``PushRequestCheck``.
struct ChannelRequestCheck {
    /// What is asked of the management service.
    enum Operation {
        case create(policy: Int)
        case read(id: String)
        case list
        case delete(id: String)
    }

    /// A push to a channel that passed every check but that of the channel.
    struct Broadcast {
        let bundleID: String
        let channelID: String
        let priority: Int
        /// `apns-expiration`; nil if the header is not there.
        let expiration: Int64?
        let payload: PushPayload
    }

    /// Bytes that a broadcast may have.
    static let maximumPayload = 5120

    let keys: SigningKeyTable

    // MARK: - Management

    func operation(
        _ request: PushRequest,
        providerToken: Result<ProviderToken, Refusal>,
        connection: inout ProviderTokenPolicy,
    ) throws(Refusal) -> (bundleID: String, operation: Operation) {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "1", parts[2] == "apps",
            ["channels", "all-channels"].contains(parts[4])
        else { throw Refusal(404, "BadPath") }
        let methods = parts[4] == "channels" ? ["POST", "GET", "DELETE"] : ["GET"]
        guard methods.contains(request.method) else { throw Refusal(405, "MethodNotAllowed") }
        try checkHeaderNames(request)
        let bundleID = String(parts[3])
        do throws(Refusal) {
            try authorize(request, providerToken, &connection, bundleID: bundleID)
        } catch {
            throw error.reason == "TopicDisallowed" ? Refusal(403, "TopicMismatch") : error
        }
        switch (parts[4], request.method) {
        case ("all-channels", _): return (bundleID, .list)
        case (_, "POST"): return (bundleID, .create(policy: try policy(in: request)))
        case (_, "GET"): return (bundleID, .read(id: try channelID(in: request)))
        default: return (bundleID, .delete(id: try channelID(in: request)))
        }
    }

    private func policy(in request: PushRequest) throws(Refusal) -> Int {
        guard request.bodyLength == request.body.count,
            let body = try? JSONDocument(parsing: request.body).root, body.kind == .object
        else { throw Refusal(400, "BadRequestPayload") }
        guard let pushType = body["push-type"]?.string else { throw Refusal(400, "MissingPushType") }
        guard pushType == "LiveActivity" else { throw Refusal(400, "InvalidPushType") }
        guard let policy = body["message-storage-policy"]?.integer, [0, 1].contains(policy) else {
            throw Refusal(400, "BadRequestPayload")
        }
        return Int(policy)
    }

    // MARK: - Broadcast

    func broadcast(
        _ request: PushRequest,
        providerToken: Result<ProviderToken, Refusal>,
        connection: inout ProviderTokenPolicy,
    ) throws(Refusal) -> Broadcast {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "4", parts[2] == "broadcasts", parts[3] == "apps" else {
            throw Refusal(404, "BadPath")
        }
        guard request.method == "POST" else { throw Refusal(405, "MethodNotAllowed") }
        try checkHeaderNames(request)
        let bundleID = String(parts[4])
        try authorize(request, providerToken, &connection, bundleID: bundleID)
        let channelID = try channelID(in: request)
        guard let pushType = request.header("apns-push-type") else { throw Refusal(400, "MissingPushType") }
        // Apple's page spells it with a capital once.
        guard pushType.lowercased() == PushType.liveactivity.rawValue else { throw Refusal(400, "InvalidPushType") }
        let priority = request.header("apns-priority") ?? "10"
        guard ["1", "5", "10"].contains(priority) else { throw Refusal(400, "BadPriority") }
        var expiration: Int64?
        if let text = request.header("apns-expiration") {
            guard PushRequestCheck.isUnsignedInteger(text) else { throw Refusal(400, "BadExpirationDate") }
            expiration = Int64(text)
        }
        guard request.bodyLength <= ChannelRequestCheck.maximumPayload else { throw Refusal(413, "PayloadTooLarge") }
        guard let payload = PushPayload(request.body) else { throw Refusal(400, "PayloadEmpty") }
        return Broadcast(
            bundleID: bundleID,
            channelID: channelID,
            priority: Int(priority) ?? 10,
            expiration: expiration,
            payload: payload,
        )
    }

    // MARK: - Both

    private func checkHeaderNames(_ request: PushRequest) throws(Refusal) {
        guard Set(request.headers.map(\.name)).count == request.headers.count else {
            throw Refusal(400, "DuplicateHeaders")
        }
        if let id = request.header("apns-request-id") {
            guard PushRequestCheck.isUUID(id) else { throw Refusal(400, "BadRequestParams") }
        }
    }

    /// The bundle id stands without a topic's suffix; one with it is a topic that no key is for.
    private func authorize(
        _ request: PushRequest,
        _ providerToken: Result<ProviderToken, Refusal>,
        _ connection: inout ProviderTokenPolicy,
        bundleID: String,
    ) throws(Refusal) {
        let providerToken = try providerToken.get()
        try connection.admit(providerToken, keys: keys, environment: request.environment, time: request.time)
        guard PushTopic.isBundleID(bundleID), try PushTopic(bundleID).suffix.isEmpty else {
            throw Refusal(400, "TopicDisallowed")
        }
        try keys.authorize(providerToken, bundleID: bundleID)
    }

    private func channelID(in request: PushRequest) throws(Refusal) -> String {
        guard let id = request.header("apns-channel-id"), !id.isEmpty else { throw Refusal(400, "MissingChannelId") }
        let isBase64 = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): true
            default: false
            }
        }
        guard isBase64, id.utf8.count.isMultiple(of: 4) else { throw Refusal(400, "BadChannelId") }
        return id
    }
}
