import CNghttp2
import Glibc

/// The HTTP/2 side of a connection to a ``PushSink``: every request that is complete is answered with 200 at once, from
/// inside nghttp2's callback, where it allows that.
final class SinkSession {
    /// One open stream; nghttp2 holds it.
    private final class Stream {
        var token: [UInt8] = []
        var apnsID: [UInt8] = []
        var payload: [UInt8] = []

        func clear() {
            token.removeAll(keepingCapacity: true)
            apnsID.removeAll(keepingCapacity: true)
            payload.removeAll(keepingCapacity: true)
        }
    }

    private static let pathPrefixLength = "/3/device/".utf8.count
    private static let payloadLimit = 5120

    private let received: (PushSink.Push) -> Void
    private var session: OpaquePointer?
    private var streams: [Int32: Stream] = [:]
    private var spare: [Stream] = []

    /// nil without memory.
    init?(maximumStreams: UInt32, received: @escaping (PushSink.Push) -> Void) {
        self.received = received
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        SinkSession.register(callbacks)
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_server_new(&session, callbacks, context) == 0 else { return nil }
        let settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: maximumStreams,
            ),
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 8000),
        ]
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        guard nghttp2_submit_settings(session, flags, settings, settings.count) == 0,
            nghttp2_session_set_local_window_size(session, flags, 0, 16 << 20) == 0
        else { return nil }
    }

    deinit {
        nghttp2_session_del(session)
    }

    /// - Returns: false if the bytes are no HTTP/2.
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
        body(UnsafeBufferPointer(start: start, count: count))
        return true
    }

    var isFinished: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    // MARK: - Callbacks

    private static func from(_ context: UnsafeMutableRawPointer?) -> SinkSession? {
        context.map { Unmanaged<SinkSession>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func register(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            guard let frame, let session = SinkSession.from(context) else { return 0 }
            session.begin(frame.pointee.hd.stream_id)
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
            guard let frame, let stream = SinkSession.from(context)?.streams[frame.pointee.hd.stream_id] else {
                return 0
            }
            let name = UnsafeBufferPointer(start: name, count: nameLength)
            let value = UnsafeBufferPointer(start: value, count: length)
            if SinkSession.isEqual(name, ":path") {
                stream.token.append(contentsOf: value.dropFirst(SinkSession.pathPrefixLength))
            } else if SinkSession.isEqual(name, "apns-id") {
                stream.apnsID.append(contentsOf: value)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, length, context in
            guard let stream = SinkSession.from(context)?.streams[id] else { return 0 }
            let room = SinkSession.payloadLimit - stream.payload.count
            stream.payload.append(contentsOf: UnsafeBufferPointer(start: bytes, count: min(length, room)))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            guard let frame, let session = SinkSession.from(context) else { return 0 }
            let header = frame.pointee.hd
            let carriesRequest = header.type == NGHTTP2_HEADERS.rawValue || header.type == NGHTTP2_DATA.rawValue
            if carriesRequest, UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
                session.answer(header.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, context in
            SinkSession.from(context)?.end(stream)
            return 0
        }
    }

    private static func isEqual(_ bytes: UnsafeBufferPointer<UInt8>, _ name: StaticString) -> Bool {
        guard let start = bytes.baseAddress, bytes.count == name.utf8CodeUnitCount else { return false }
        return memcmp(start, name.utf8Start, bytes.count) == 0
    }

    private func begin(_ id: Int32) {
        streams[id] = spare.popLast() ?? Stream()
    }

    private func end(_ id: Int32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        stream.clear()
        spare.append(stream)
    }

    private func answer(_ id: Int32) {
        guard let stream = streams[id] else { return }
        stream.token.withUnsafeBufferPointer { token in
            stream.payload.withUnsafeBufferPointer { received(PushSink.Push(token: token, payload: $0)) }
        }
        let ok: StaticString = "200"
        stream.apnsID.withUnsafeMutableBufferPointer { apnsID in
            let fields = [
                SinkSession.field(
                    ":status",
                    UnsafeMutablePointer(mutating: ok.utf8Start),
                    ok.utf8CodeUnitCount,
                    NGHTTP2_NV_FLAG_NONE,
                ),
                SinkSession.field("apns-id", apnsID.baseAddress, apnsID.count, NGHTTP2_NV_FLAG_NO_INDEX),
            ]
            _ = nghttp2_submit_response(session, id, fields, apnsID.isEmpty ? 1 : 2, nil)
        }
    }

    private static func field(
        _ name: StaticString,
        _ value: UnsafeMutablePointer<UInt8>?,
        _ count: Int,
        _ flag: nghttp2_nv_flag,
    ) -> nghttp2_nv {
        nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.utf8Start),
            value: value,
            namelen: name.utf8CodeUnitCount,
            valuelen: count,
            flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | flag.rawValue),
        )
    }
}
