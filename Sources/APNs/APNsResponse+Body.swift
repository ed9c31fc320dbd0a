import VerbatimJSON

extension APNsResponse {
    /// Reads Apple's `{"reason": ..., "timestamp": ...}`. Anything else leaves both nil, and the status decides.
    init(status: Int, body: [UInt8], apnsID: String?, retryAfterSeconds: Int64?) {
        self.init(status: status, apnsID: apnsID, retryAfterSeconds: retryAfterSeconds)
        guard status != 200, let root = try? JSONDocument(parsing: body, maximumDepth: 8).root else { return }
        reason = APNsResponse.reason(in: root)
        timestampMilliseconds = root["timestamp"]?.integer
    }

    /// The reason in the debug data of a GOAWAY.
    static func reason(inDebugData data: [UInt8]) -> String? {
        guard let root = try? JSONDocument(parsing: data, maximumDepth: 8).root else { return nil }
        return reason(in: root)
    }

    /// Apple's reasons are words; what a stranger in between might answer must not fill logs and rows.
    private static func reason(in root: JSONValue) -> String? {
        guard let text = root["reason"]?.string, !text.isEmpty else { return nil }
        return String(decoding: text.utf8.prefix(64), as: UTF8.self)
    }
}
