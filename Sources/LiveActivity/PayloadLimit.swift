/// How large the body of a push may be (Apple: "Sending notification requests to APNs"). APNs answers 413 to more.
public enum PayloadLimit {
    /// Bytes of the body of a notification or a Live Activity push.
    public static let bytes = 4096
    /// Bytes of the body of a push to a broadcast channel (Apple: "Sending broadcast push notification requests to APNs").
    public static let broadcastBytes = 5120

    /// More than everything in a body but its texts and what is JSON already: names, numbers, brackets.
    private static let frame = 512

    /// Whether a body with these is within the limit even if every byte of the texts has to be escaped, as `\u001f`.
    static func surelyHolds(texts: [String?], json: Int = 0) -> Bool {
        texts.reduce(frame + json) { $0 + 6 * ($1?.utf8.count ?? 0) } <= bytes
    }
}

/// Why no body could be made.
public enum PayloadError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The body would be too large with its texts cut as far as they may be; `bytes` is its size without any text.
    case tooLarge(bytes: Int)

    /// The size; never any content.
    public var description: String {
        switch self {
        case .tooLarge(let bytes): "the push would take \(bytes) bytes before any text"
        }
    }
}
