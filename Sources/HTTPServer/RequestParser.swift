import CHTTPParser

/// http-parser, reduced to recording: its callbacks only append to this object, and whoever feeds it looks at what was
/// recorded after the C call has returned.
final class RequestParser {
    /// Whether the head has ended; ``head()`` can be asked for.
    private(set) var headIsComplete = false

    /// Whether the whole request is there.
    private(set) var requestIsComplete = false

    /// Whether the method is HEAD; meaningful once the head is complete.
    var isHeadRequest: Bool { livepush_http_method(parser) == HTTP_HEAD.rawValue }

    private let parser = UnsafeMutablePointer<http_parser>.allocate(capacity: 1)
    private var settings = http_parser_settings()
    private let maximumBodyBytes: Int
    private var recorded = RecordedHead()
    private var body: [UInt8] = []
    private var bodyIsTooLarge = false

    init(maximumBodyBytes: Int) {
        self.maximumBodyBytes = maximumBodyBytes
        parser.initialize(to: http_parser())
        http_parser_settings_init(&settings)
        settings.on_url = { parser, start, count in
            RequestParser.of(parser)?.recorded.target.append(contentsOf: RequestParser.bytes(start, count))
            return 0
        }
        settings.on_header_field = { parser, start, count in
            RequestParser.of(parser)?.recorded.appendName(RequestParser.bytes(start, count))
            return 0
        }
        settings.on_header_value = { parser, start, count in
            RequestParser.of(parser)?.recorded.appendValue(RequestParser.bytes(start, count))
            return 0
        }
        settings.on_headers_complete = { parser in
            guard let parser else { return 0 }
            livepush_http_ignore_upgrade(parser)
            RequestParser.of(parser)?.headIsComplete = true
            RequestParser.of(parser)?.recorded.isComplete = true
            return 0
        }
        settings.on_body = { parser, start, count in
            RequestParser.of(parser)?.recordBody(RequestParser.bytes(start, count)) == true ? 0 : 1
        }
        settings.on_message_complete = { parser in
            RequestParser.of(parser)?.requestIsComplete = true
            // What follows belongs to the next request, which waits until this one is answered.
            http_parser_pause(parser, 1)
            return 0
        }
    }

    deinit {
        parser.deallocate()
    }

    /// The second word of the request line, as far as it was read.
    var targetSoFar: String { String(decoding: recorded.target, as: UTF8.self) }

    /// Forgets the last request.
    func begin() {
        http_parser_init(parser, HTTP_REQUEST)
        parser.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        headIsComplete = false
        requestIsComplete = false
        recorded.begin()
        bodyIsTooLarge = false
        body = []
    }

    /// Parses up to the end of the request, at most.
    ///
    /// - Returns: how many bytes were taken.
    func feed(_ bytes: UnsafeRawBufferPointer) throws(HTTPFault) -> Int {
        guard !bytes.isEmpty else { return 0 }
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        let count = http_parser_execute(parser, &settings, start, bytes.count)
        switch http_errno(livepush_http_errno(parser)) {
        case HPE_OK, HPE_PAUSED: return count
        case HPE_INVALID_METHOD:
            // What came in an earlier call was the beginning of a known method.
            let word = bytes.prefix { $0 != UInt8(ascii: " ") }
            throw word.allSatisfy(RequestHead.isTokenByte) ? .methodNotImplemented : .malformedRequest
        case HPE_HEADER_OVERFLOW where !headIsComplete: throw .headTooLarge
        case HPE_CB_body where bodyIsTooLarge: throw .bodyTooLarge
        default: throw .malformedRequest
        }
    }

    /// The head, checked. To be called once it is complete.
    func head() throws(HTTPFault) -> RequestHead {
        let method = http_method(livepush_http_method(parser))
        let head = try RequestHead(
            method: String(cString: http_method_str(method)),
            version: (Int(parser.pointee.http_major), Int(parser.pointee.http_minor)),
            target: recorded.target,
            headers: recorded.takeHeaders(),
            isChunked: livepush_http_is_chunked(parser) != 0,
            keepsAlive: http_should_keep_alive(parser) != 0,
        )
        if let length = head.contentLength {
            guard length <= maximumBodyBytes else { throw .bodyTooLarge }
            // Not more than a small body's worth on the word of a stranger.
            body.reserveCapacity(min(length, 16 * 1024))
        }
        return head
    }

    /// The body; the parser no longer has it.
    func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }

    // MARK: - Recording

    private func recordBody(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard body.count + bytes.count <= maximumBodyBytes else {
            bodyIsTooLarge = true
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    // MARK: - C

    private static func of(_ parser: UnsafeMutablePointer<http_parser>?) -> RequestParser? {
        guard let data = parser?.pointee.data else { return nil }
        return Unmanaged<RequestParser>.fromOpaque(data).takeUnretainedValue()
    }

    private static func bytes(_ start: UnsafePointer<CChar>?, _ count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: UnsafeRawPointer(start)?.assumingMemoryBound(to: UInt8.self), count: count)
    }
}

/// A request line's target and the headers, as http-parser hands them over. A value: each callback changes it as one,
/// where properties of the class would be checked for overlapping accesses one after the other.
private struct RecordedHead {
    var target: [UInt8] = []
    /// Trailers of a chunked body, which come when the head is complete, are dropped.
    var isComplete = false
    private var bytes: [UInt8] = []
    private var fields: [HTTPHeaders.Field] = []
    private var valueHasStarted = false

    /// Forgets the last one.
    mutating func begin() {
        target.removeAll(keepingCapacity: true)
        isComplete = false
        bytes = []
        bytes.reserveCapacity(512)
        fields = []
        fields.reserveCapacity(12)
        valueHasStarted = true
    }

    mutating func appendName(_ name: UnsafeBufferPointer<UInt8>) {
        guard !isComplete else { return }
        var field = HTTPHeaders.Field(nameStart: bytes.count, nameEnd: 0, valueStart: 0, valueEnd: 0)
        if !valueHasStarted, let last = fields.popLast() {
            field = last
        }
        valueHasStarted = false
        bytes.append(contentsOf: name)
        field.nameEnd = bytes.count
        field.valueStart = bytes.count
        field.valueEnd = bytes.count
        fields.append(field)
    }

    mutating func appendValue(_ value: UnsafeBufferPointer<UInt8>) {
        guard !isComplete, !fields.isEmpty else { return }
        valueHasStarted = true
        bytes.append(contentsOf: value)
        fields[fields.count - 1].valueEnd = bytes.count
    }

    /// The headers, without the blanks behind their values. They are not kept: an idle connection should not hold the
    /// last request's secrets.
    mutating func takeHeaders() -> HTTPHeaders {
        for index in fields.indices {
            while fields[index].valueEnd > fields[index].valueStart,
                RecordedHead.isBlank(bytes[fields[index].valueEnd - 1])
            {
                fields[index].valueEnd -= 1
            }
        }
        defer {
            bytes = []
            fields = []
        }
        return HTTPHeaders(bytes: bytes, fields: fields)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
