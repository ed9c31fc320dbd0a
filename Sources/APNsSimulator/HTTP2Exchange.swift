/// One stream of a connection: the request as it comes in, then the body of the answer as it goes out.
struct HTTP2Exchange {
    /// The size at which RFC 9113 section 6.5.2 counts what a header list holds.
    static let maximumHeaderListSize = 8000

    private(set) var method = ""
    private(set) var path = ""
    private(set) var headers: [PushRequest.Header] = []
    private(set) var body: [UInt8] = []
    private(set) var bodyLength = 0
    private var headerListSize = 0

    var answer: [UInt8] = []
    var answered = 0

    /// - Returns: false if the header list has become larger than the connection's SETTINGS allow.
    mutating func addHeader(name: String, value: String) -> Bool {
        headerListSize += name.utf8.count + value.utf8.count + 32
        guard headerListSize <= HTTP2Exchange.maximumHeaderListSize else { return false }
        switch name {
        case ":method": method = value
        case ":path": path = value
        default:
            if !name.hasPrefix(":") {
                headers.append(PushRequest.Header(name: name, value: value))
            }
        }
        return true
    }

    mutating func addBody(_ bytes: UnsafeBufferPointer<UInt8>) {
        bodyLength += bytes.count
        body.append(contentsOf: bytes.prefix(PushRequest.maximumStoredBody - body.count))
    }

    /// Copies the next part of the answer's body.
    ///
    /// - Returns: how many bytes, and whether they are the last.
    mutating func copyAnswer(to buffer: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
        let part = answer[answered...].prefix(buffer.count)
        _ = buffer.update(fromContentsOf: part)
        answered += part.count
        return (part.count, answered == answer.count)
    }
}
