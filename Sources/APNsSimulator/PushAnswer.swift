import VerbatimJSON

/// The answer to one request on the wire (Apple: "Handling notification responses from APNs", "Handling error responses from
/// APNs").
struct PushAnswer {
    let status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8] = []
    /// `apns-channel-id` of a channel that was created.
    private(set) var channelID: String?

    var isSuccess: Bool { 200...299 ~= status }

    /// The answer to a request about channels that was done.
    init(toChannelRequest request: PushRequest, status: Int, channelID: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.channelID = channelID
        self.body = body
        let sentID = request.header("apns-request-id").flatMap { PushRequestCheck.isUUID($0) ? $0 : nil }
        self.headers = [(":status", String(status)), ("apns-request-id", sentID ?? UniqueID().text.uppercased())]
        if let channelID {
            headers.append(("apns-channel-id", channelID))
        }
        if !body.isEmpty {
            headers.append(("content-type", "application/json"))
        }
    }

    /// The answer to a request about channels that was refused.
    init(toChannelRequest request: PushRequest, refusal: Refusal) {
        self.init(toChannelRequest: request, status: refusal.status, body: PushAnswer.body(of: refusal))
    }

    /// The answer to a push that was accepted, or refused.
    init(to request: PushRequest, refusal: Refusal? = nil) {
        self.status = refusal?.status ?? 200
        let sentID = request.header("apns-id").flatMap { PushRequestCheck.isUUID($0) ? $0 : nil }
        // The IDs that APNs makes have been seen in upper case.
        self.headers = [
            (":status", String(status)),
            ("apns-id", sentID ?? UniqueID().text.uppercased()),
        ]
        if request.environment == .sandbox {
            headers.append(("apns-unique-id", UniqueID().text))
        }
        if let refusal {
            headers.append(("content-type", "application/json"))
            if let retryAfter = refusal.retryAfter {
                headers.append(("retry-after", String(retryAfter)))
            }
            self.body = PushAnswer.body(of: refusal)
        }
    }

    private static func body(of refusal: Refusal) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("reason", refusal.reason)
        writer.member("timestamp", refusal.timestamp)
        writer.endObject()
        return writer.bytes
    }
}
