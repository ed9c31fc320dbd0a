/// Looks at the first frame of the peer before nghttp2 does.
///
/// The first has to be SETTINGS (RFC 9113, 3.4), and nghttp2 ends the connection at anything else; but APNs has been
/// seen to begin with GOAWAY, whose reason an operator needs.
struct OpeningFrame: Equatable {
    enum Result: Equatable {
        /// More bytes are needed.
        case incomplete
        /// The frame is for nghttp2, and so is everything after it.
        case usual([UInt8])
        case goAway(lastStream: Int32, code: UInt32, debugData: [UInt8])
    }

    private static let headCount = 9
    private static let goAwayType: UInt8 = 7

    private var bytes: [UInt8] = []

    mutating func receive(_ more: some Sequence<UInt8>) -> Result {
        bytes.append(contentsOf: more)
        guard bytes.count >= OpeningFrame.headCount else { return .incomplete }
        let length = Int(OpeningFrame.number(bytes[0..<3]))
        guard bytes[3] == OpeningFrame.goAwayType, (8...PendingPush.bodyLimit).contains(length) else {
            return .usual(bytes)
        }
        guard bytes.count >= OpeningFrame.headCount + length else { return .incomplete }
        let payload = bytes[OpeningFrame.headCount..<OpeningFrame.headCount + length]
        return .goAway(
            lastStream: Int32(truncatingIfNeeded: OpeningFrame.number(payload.prefix(4)) & 0x7FFF_FFFF),
            code: OpeningFrame.number(payload.dropFirst(4).prefix(4)),
            debugData: Array(payload.dropFirst(8)),
        )
    }

    /// Big-endian, of at most four bytes.
    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
}
