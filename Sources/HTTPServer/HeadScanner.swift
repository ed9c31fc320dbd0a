import Glibc

/// Finds the end of a request's head, so that the parser is never given bytes of the body before the head is judged.
///
/// It also sees what http-parser accepts silently: obsolete line folding (RFC 9112, section 5.2), by which two servers
/// read two different headers out of one head.
struct HeadScanner {
    enum Result: Equatable {
        /// All bytes belong to the head and more must follow.
        case incomplete
        /// The first `count` bytes are the rest of the head, its empty line included.
        case complete(count: Int)
        /// A line starts with a blank.
        case folded
        /// The limit is reached and the head has not ended.
        case tooLarge
    }

    private enum Position {
        case line
        case lineStart
        case lineStartAfterReturn
    }

    private var position = Position.line
    private var remaining: Int

    /// - Parameter limit: the longest head, in bytes.
    init(limit: Int) {
        self.remaining = limit
    }

    /// - Parameter bytes: what follows the bytes of the last call; the very first one belongs to the request line.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Result {
        var index = 0
        let end = min(bytes.count, remaining)
        while index < end {
            switch position {
            case .line:
                guard
                    let start = bytes.baseAddress,
                    let found = memchr(start + index, Int32(UInt8(ascii: "\n")), end - index)
                else {
                    index = end
                    continue
                }
                index = UnsafeRawPointer(found) - start + 1
                position = .lineStart
                continue
            case .lineStart:
                switch bytes[index] {
                case UInt8(ascii: "\n"): return .complete(count: index + 1)
                case UInt8(ascii: "\r"): position = .lineStartAfterReturn
                case UInt8(ascii: " "), UInt8(ascii: "\t"): return .folded
                default: position = .line
                }
            case .lineStartAfterReturn:
                guard bytes[index] != UInt8(ascii: "\n") else { return .complete(count: index + 1) }
                position = .line
            }
            index += 1
        }
        guard bytes.count <= remaining else { return .tooLarge }
        remaining -= bytes.count
        return .incomplete
    }
}
