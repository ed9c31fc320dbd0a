import VerbatimJSON

/// The answer to one push on the wire (Apple: "Handling notification responses from APNs").
struct PushAnswer {
    var headers: [(name: String, value: String)]
    var body: [UInt8] = []

    /// The answer to a push that was accepted, or refused.
    init(to request: PushRequest, refusal: Refusal? = nil) {
        let sentID = request.header("apns-id").flatMap { PushRequestCheck.isUUID($0) ? $0 : nil }
        // The IDs that APNs makes have been seen in upper case.
        self.headers = [
            (":status", String(refusal?.status ?? 200)),
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
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("reason", refusal.reason)
            writer.member("timestamp", refusal.timestamp)
            writer.endObject()
            self.body = writer.bytes
        }
    }
}
