extension ActivityContent {
    /// Tells the same state apart from another: the first 64 bits of a SHA-256 of the content state byte for byte, the
    /// stale date and the relevance score.
    public var stateDigest: Int64 {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(contentState.count + 64)
        bytes.append(contentsOf: String(contentState.count).utf8)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: contentState)
        bytes.append(contentsOf: (staleDate.map { String($0) } ?? "").utf8)
        bytes.append(UInt8(ascii: ","))
        bytes.append(contentsOf: relevanceScore ?? [])
        return Digest.sha256(bytes).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}
