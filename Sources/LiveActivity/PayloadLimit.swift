/// How large the body of a push may be (Apple: "Sending notification requests to APNs"). APNs answers 413 to more.
public enum PayloadLimit {
    /// Bytes of the body of a notification or a Live Activity push.
    public static let bytes = 4096
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
