/// The UserSigs that were found good lately, so that a backend which sends thousands of requests with one has it decoded
/// and its signature computed once. For one lane.
///
/// Whether it has expired is asked every time; another secret key of the app makes it unknown.
public struct UserSigCache {
    private static let limit = 256

    private struct Entry {
        let identifier: [UInt8]
        let sdkAppID: Int64
        let secretKey: [UInt8]
        let verified: UserSig
    }

    /// By the bytes of the text: Swift's `==` of strings would take one for another that only looks like it.
    private struct Text: Hashable {
        let text: String

        static func == (left: Text, right: Text) -> Bool {
            left.text.utf8.elementsEqual(right.text.utf8)
        }

        /// Over the bytes at once: one after the other they would cost a hundred times as much.
        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    private var entries: [Text: Entry] = [:]

    /// Knows none.
    public init() {}

    /// As ``UserSig/verify(_:identifier:sdkAppID:secretKey:now:)``.
    public mutating func verify(
        _ signature: String,
        identifier: String,
        sdkAppID: Int64,
        secretKey: [UInt8],
        now: Int64,
    ) throws(UserSigError) {
        let key = Text(text: signature)
        if let entry = entries[key], entry.sdkAppID == sdkAppID, entry.secretKey == secretKey,
            entry.identifier.elementsEqual(identifier.utf8)
        {
            guard entry.verified.holds(at: now) else { throw .expired }
            return
        }
        let decoded = try UserSig(decoding: signature)
        try decoded.verify(identifier: identifier, sdkAppID: sdkAppID, secretKey: secretKey, now: now)
        if entries.count >= UserSigCache.limit {
            entries.removeAll(keepingCapacity: true)
        }
        entries[key] = Entry(
            identifier: Array(identifier.utf8),
            sdkAppID: sdkAppID,
            secretKey: secretKey,
            verified: decoded,
        )
    }
}
