import VerbatimJSON

/// How far a message to an audience has come: `pending.progress` of the whole message, a JSON object with a version; see
/// `PushOrder`'s encoding for the rule.
struct FanOutCursor: Sendable, Equatable {
    static let encodingVersion: Int64 = 1

    /// The last account of which everything is written down; empty before the first.
    var account = ""
    /// How many recipients were found.
    var listed: Int64 = 0

    func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("version", FanOutCursor.encodingVersion)
        writer.member("account", account)
        writer.member("listed", listed)
        writer.endObject()
        return writer.bytes
    }
}

extension FanOutCursor {
    /// Reads a cursor back; nil if a newer release wrote it or it is damaged.
    init?(decoding bytes: [UInt8]) {
        guard let root = try? JSONDocument(parsing: bytes).root,
            let version = root["version"]?.integer, 1...FanOutCursor.encodingVersion ~= version,
            let account = root["account"]?.string, let listed = root["listed"]?.integer
        else { return nil }
        self.init(account: account, listed: listed)
    }
}
