import CNghttp2
import Glibc

/// The HTTP/2 side of one connection: nghttp2, and the table of open streams.
///
/// It does no I/O. nghttp2's callbacks only note what happened; the owner takes the events after ``receive(_:)`` and
/// ``nextOutput()`` have returned, since handling one may destroy the session.
final class HTTP2Session {
    enum Event {
        /// SETTINGS came, with the streams that the peer allows now.
        case settings(maximumStreams: Int)
        /// The peer takes no more streams.
        case goAway(code: UInt32, debugData: [UInt8])
        /// A stream ended. `NGHTTP2_REFUSED_STREAM` also stands for one beyond the last that a GOAWAY names: APNs did
        /// not process it.
        case ended(PendingPush, code: UInt32)
    }

    /// The open streams. A push that its caller has given up stays until the peer has been told.
    private(set) var pushes: [Int32: PendingPush] = [:]
    private(set) var lastStream: Int32 = 0

    private let session: OpaquePointer
    private var events: [Event] = []
    /// nil once the first frame has come.
    private var opening: OpeningFrame? = OpeningFrame()

    /// nil where there is no memory.
    init?() {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            session,
            frame,
            name,
            nameCount,
            value,
            count,
            _,
            _ in
            guard let frame, let push = HTTP2Session.push(session, frame.pointee.hd.stream_id) else { return 0 }
            push.receive(
                header: UnsafeBufferPointer(start: name, count: nameCount),
                value: UnsafeBufferPointer(start: value, count: count),
            )
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { session, _, stream, data, count, _ in
            HTTP2Session.push(session, stream)?.receive(body: UnsafeBufferPointer(start: data, count: count))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
            guard let frame, let context else { return 0 }
            Unmanaged<HTTP2Session>.fromOpaque(context).takeUnretainedValue().received(frame)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, context in
            guard let context else { return 0 }
            Unmanaged<HTTP2Session>.fromOpaque(context).takeUnretainedValue().ended(stream, code)
            return 0
        }
        var session: OpaquePointer?
        guard nghttp2_session_client_new(&session, callbacks, nil) == 0, let session else { return nil }
        self.session = session
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        var settings = nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
        guard nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, 1) == 0 else { return nil }
    }

    deinit {
        nghttp2_session_del(session)
    }

    // MARK: - Requests

    /// Opens a stream for `push`, which must have been prepared.
    ///
    /// - Returns: false when the connection has no more stream ids: it has to be replaced.
    func submit(_ push: PendingPush, authority: [UInt8], authorization: [UInt8]) -> Bool {
        let stream = RequestHeaders.withFields(of: push.request, authority, authorization) { fields in
            guard !push.payload.isEmpty else {
                push.isSentWhole = true
                return nghttp2_submit_request(
                    session,
                    nil,
                    fields.baseAddress,
                    fields.count,
                    nil,
                    Unmanaged.passUnretained(push).toOpaque(),
                )
            }
            var body = nghttp2_data_provider()
            body.source.ptr = Unmanaged.passUnretained(push).toOpaque()
            body.read_callback = { _, _, target, limit, flags, source, _ in
                guard let target, let flags, let context = source?.pointee.ptr else {
                    return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
                }
                let push = Unmanaged<PendingPush>.fromOpaque(context).takeUnretainedValue()
                let count = push.write(to: UnsafeMutableRawBufferPointer(start: target, count: limit))
                if push.isSentWhole {
                    flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue)
                }
                return count
            }
            return nghttp2_submit_request(
                session,
                nil,
                fields.baseAddress,
                fields.count,
                &body,
                Unmanaged.passUnretained(push).toOpaque(),
            )
        }
        guard stream > 0 else { return false }
        push.stream = stream
        pushes[stream] = push
        lastStream = stream
        return true
    }

    /// Tells the peer that nobody waits for the answer any more.
    func cancel(_ push: PendingPush) {
        nghttp2_submit_rst_stream(
            session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            push.stream,
            UInt32(NGHTTP2_CANCEL.rawValue),
        )
    }

    func ping() {
        nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Tells the peer that the connection ends.
    func goAway() {
        nghttp2_session_terminate_session(session, UInt32(NGHTTP2_NO_ERROR.rawValue))
    }

    // MARK: - Bytes

    /// Takes bytes from the peer.
    ///
    /// - Returns: what is wrong with them; nil if nothing is.
    func receive(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard var opening else { return hand(bytes) }
        let result = opening.receive(bytes)
        self.opening = opening
        switch result {
        case .incomplete:
            return nil
        case .usual(let bytes):
            self.opening = nil
            return bytes.withUnsafeBufferPointer { hand($0) }
        case .goAway(let lastStream, let code, let debugData):
            self.opening = nil
            events.append(.goAway(code: code, debugData: debugData))
            for stream in pushes.keys.sorted() where stream > lastStream {
                ended(stream, NGHTTP2_REFUSED_STREAM.rawValue)
            }
            return "GOAWAY came instead of SETTINGS"
        }
    }

    private func hand(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        let count = nghttp2_session_mem_recv(session, bytes.baseAddress, bytes.count)
        guard count >= 0 else { return HTTP2Session.text(of: count) }
        return nil
    }

    /// The next bytes for the peer, valid until the next call; nil if there are none.
    func nextOutput() -> UnsafeBufferPointer<UInt8>? {
        var start: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(session, &start)
        guard count > 0 else { return nil }
        return UnsafeBufferPointer(start: start, count: count)
    }

    /// Whether the session has nothing more to say or to hear, as after a violation of the protocol.
    var isOver: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    func takeEvents() -> [Event] {
        guard !events.isEmpty else { return [] }
        defer { events = [] }
        return events
    }

    // MARK: - Callbacks

    private static func push(_ session: OpaquePointer?, _ stream: Int32) -> PendingPush? {
        guard let context = nghttp2_session_get_stream_user_data(session, stream) else { return nil }
        return Unmanaged<PendingPush>.fromOpaque(context).takeUnretainedValue()
    }

    private func received(_ frame: UnsafePointer<nghttp2_frame>) {
        let head = frame.pointee.hd
        switch UInt32(head.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
            HTTP2Session.push(session, head.stream_id)?.answerHasEnded = true
        case NGHTTP2_SETTINGS.rawValue:
            guard head.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return }
            let maximum = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            events.append(.settings(maximumStreams: Int(maximum)))
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = frame.pointee.goaway
            let data = UnsafeBufferPointer(
                start: goAway.opaque_data,
                count: min(goAway.opaque_data_len, PendingPush.bodyLimit),
            )
            events.append(.goAway(code: goAway.error_code, debugData: Array(data)))
        default:
            break
        }
    }

    private func ended(_ stream: Int32, _ code: UInt32) {
        guard let push = pushes.removeValue(forKey: stream) else { return }
        events.append(.ended(push, code: code))
    }

    private static func text(of code: Int) -> String {
        String(cString: nghttp2_strerror(Int32(truncatingIfNeeded: code)))
    }

    /// The name of an error code of RFC 9113, 7, for logs.
    static func name(of code: UInt32) -> String {
        String(cString: nghttp2_http2_strerror(code))
    }
}
