import CNghttp2

/// The HTTP/2 side of one connection, on nghttp2 and without a socket: bytes in, requests out, answers in, bytes out.
///
/// nghttp2's callbacks only fill the table of exchanges; whoever owns the session acts on ``takeRequests()`` after
/// ``receive(_:)`` has returned.
final class HTTP2ServerSession {
    /// The settings of APNs' first frame as senders have seen it; Apple documents none of them.
    private static let settings: [(nghttp2_settings_id, UInt32)] = [
        (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096),
        (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65_535),
        (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16_384),
        (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(HTTP2Exchange.maximumHeaderListSize)),
    ]

    /// Streams that the client was told it may open.
    private(set) var streamLimit: UInt32
    private let toleratedStreams: UInt32
    private var session: OpaquePointer?
    private var exchanges: [Int32: HTTP2Exchange] = [:]
    private var completed: [Int32] = []
    /// The limits in SETTINGS frames that nghttp2 has yet to hand out, in order.
    private var limitsToAnnounce: [UInt32] = []
    private var patchedFrame: [UInt8] = []

    /// Starts with a SETTINGS frame that allows `streamLimit` streams.
    ///
    /// - Parameter highestStreamLimit: what ``announce(streamLimit:)`` will allow at most.
    /// - Returns: nil without memory.
    init?(streamLimit: UInt32, highestStreamLimit: UInt32) {
        self.streamLimit = streamLimit
        // A client that goes beyond the limit has its streams refused; one that goes far beyond loses the connection,
        // which bounds what unread refusals cost.
        self.toleratedStreams = min(highestStreamLimit, 1_000_000) + 1000
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        HTTP2ServerSession.register(callbacks)
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_server_new(&session, callbacks, context) == 0 else { return nil }
        submitSettings(HTTP2ServerSession.settings, streamLimit: streamLimit)
    }

    deinit {
        nghttp2_session_del(session)
    }

    // MARK: - Bytes

    /// Takes bytes from the client.
    ///
    /// - Returns: false if they are no HTTP/2 at all; a mere protocol error makes nghttp2 write a GOAWAY instead.
    func receive(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        nghttp2_session_mem_recv(session, bytes.baseAddress, bytes.count) == bytes.count
    }

    /// Gives the next bytes for the client to `body`.
    ///
    /// - Returns: false if there are none now.
    func takeOutput(_ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        var start: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(session, &start)
        guard count > 0 else { return false }
        let bytes = UnsafeBufferPointer(start: start, count: count)
        if announcesSettings(bytes), !limitsToAnnounce.isEmpty {
            patchedFrame = Array(bytes)
            patchStreamLimit(limitsToAnnounce.removeFirst())
            patchedFrame.withUnsafeBufferPointer(body)
        } else {
            body(bytes)
        }
        return true
    }

    /// Whether the session is over once its output has been sent.
    var isFinished: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    // MARK: - Requests and answers

    /// The streams whose requests have become complete, in the order in which they did.
    func takeRequests() -> [(stream: Int32, exchange: HTTP2Exchange)] {
        defer { completed.removeAll() }
        return completed.compactMap { stream in
            exchanges[stream].map { (stream, $0) }
        }
    }

    /// Answers a stream.
    func respond(_ stream: Int32, headers: [(name: String, value: String)], body: [UInt8]) {
        guard exchanges[stream] != nil else { return }
        exchanges[stream]?.answer = body
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, stream, buffer, length, flags, _, context in
            guard let buffer, let flags, let session = HTTP2ServerSession.from(context) else {
                return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
            }
            let target = UnsafeMutableBufferPointer(start: buffer, count: length)
            guard let part = session.exchanges[stream]?.copyAnswer(to: target) else {
                return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
            }
            if part.isLast {
                flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
            }
            return part.count
        }
        HTTP2ServerSession.withFields(headers) { fields in
            let hasBody = !body.isEmpty
            _ = withUnsafePointer(to: provider) { provider in
                nghttp2_submit_response(session, stream, fields.baseAddress, fields.count, hasBody ? provider : nil)
            }
        }
    }

    /// Resets a stream instead of answering it.
    func reset(_ stream: Int32, code: nghttp2_error_code) {
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// Tells the client a new number of streams it may open.
    func announce(streamLimit: UInt32) {
        guard streamLimit != self.streamLimit else { return }
        self.streamLimit = streamLimit
        submitSettings([], streamLimit: streamLimit)
    }

    // MARK: - Settings

    /// nghttp2 ends the connection of a client that opens more streams than it has acknowledged; APNs resets those
    /// streams with REFUSED_STREAM. So nghttp2 is told a high limit, the frame on the wire says the real one, and the
    /// session refuses what is beyond.
    private func submitSettings(_ settings: [(nghttp2_settings_id, UInt32)], streamLimit: UInt32) {
        let limit = (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, toleratedStreams)
        let entries = (settings + [limit]).map { id, value in
            nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value)
        }
        limitsToAnnounce.append(streamLimit)
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    }

    /// nghttp2 hands out one frame at a time; a SETTINGS frame that is no acknowledgement has entries (RFC 9113 6.5).
    private func announcesSettings(_ frame: UnsafeBufferPointer<UInt8>) -> Bool {
        frame.count > 9 && frame[3] == UInt8(NGHTTP2_SETTINGS.rawValue) && frame[4] == 0
    }

    private func patchStreamLimit(_ limit: UInt32) {
        for entry in stride(from: 9, to: patchedFrame.count - 5, by: 6)
        where patchedFrame[entry] == 0 && patchedFrame[entry + 1] == 3 {
            for byte in 0..<4 {
                patchedFrame[entry + 2 + byte] = UInt8(truncatingIfNeeded: limit >> UInt32(8 * (3 - byte)))
            }
        }
    }

    // MARK: - Callbacks of nghttp2

    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTP2ServerSession? {
        context.map { Unmanaged<HTTP2ServerSession>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func register(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            guard let frame, let session = HTTP2ServerSession.from(context) else { return 0 }
            if frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
                session.begin(frame.pointee.hd.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _,
            frame,
            name,
            nameLength,
            value,
            length,
            _,
            context in
            guard let frame, let session = HTTP2ServerSession.from(context) else { return 0 }
            // Trailers are no part of a push.
            if frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
                session.addHeader(
                    name: String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self),
                    value: String(decoding: UnsafeBufferPointer(start: value, count: length), as: UTF8.self),
                    to: frame.pointee.hd.stream_id,
                )
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, length, context in
            let part = UnsafeBufferPointer(start: bytes, count: length)
            HTTP2ServerSession.from(context)?.exchanges[stream]?.addBody(part)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            guard let frame, let session = HTTP2ServerSession.from(context) else { return 0 }
            let header = frame.pointee.hd
            let carriesRequest = header.type == NGHTTP2_HEADERS.rawValue || header.type == NGHTTP2_DATA.rawValue
            if carriesRequest, UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
                session.complete(header.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, context in
            HTTP2ServerSession.from(context)?.exchanges[stream] = nil
            return 0
        }
    }

    private func begin(_ stream: Int32) {
        guard exchanges.count < Int(streamLimit) else {
            reset(stream, code: NGHTTP2_REFUSED_STREAM)
            return
        }
        exchanges[stream] = HTTP2Exchange()
    }

    private func addHeader(name: String, value: String, to stream: Int32) {
        guard exchanges[stream]?.addHeader(name: name, value: value) == false else { return }
        exchanges[stream] = nil
        reset(stream, code: NGHTTP2_ENHANCE_YOUR_CALM)
    }

    private func complete(_ stream: Int32) {
        if exchanges[stream] != nil {
            completed.append(stream)
        }
    }

    /// Lends the fields as the C structures that nghttp2 copies from.
    private static func withFields(
        _ headers: [(name: String, value: String)],
        _ body: (UnsafeMutableBufferPointer<nghttp2_nv>) -> Void,
    ) {
        var text: [UInt8] = []
        for header in headers {
            text += header.name.utf8
            text += header.value.utf8
        }
        text.withUnsafeMutableBufferPointer { text in
            var next = text.baseAddress
            var fields = headers.map { header in
                let (nameLength, valueLength) = (header.name.utf8.count, header.value.utf8.count)
                defer { next = next.map { $0 + nameLength + valueLength } }
                return nghttp2_nv(
                    name: next,
                    value: next.map { $0 + nameLength },
                    namelen: nameLength,
                    valuelen: valueLength,
                    flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue),
                )
            }
            fields.withUnsafeMutableBufferPointer { body($0) }
        }
    }
}
