import CLibevent
import COpenSSL
import EventLoop

/// One client's TLS connection to a ``PushSink``: reads frames, writes answers.
final class SinkConnection {
    private static let outputLimit = 65_536
    private static let outputLowWater = 16_384

    private let stream: OpaquePointer
    private let maximumStreams: UInt32
    private let received: (PushSink.Push) -> Void
    private let closed: (SinkConnection) -> Void
    private var session: SinkSession?
    private var output: [UInt8] = []
    private var isOpen = true

    /// Takes an accepted, non-blocking socket over.
    ///
    /// - Returns: nil without memory; the socket is closed then.
    init?(
        socket: Int32,
        loop: EventLoop,
        tls context: TLSContext,
        maximumStreams: UInt32,
        received: @escaping (PushSink.Push) -> Void,
        closed: @escaping (SinkConnection) -> Void,
    ) {
        guard let tls = context.makeSession() else {
            evutil_closesocket(socket)
            return nil
        }
        let options = BEV_OPT_CLOSE_ON_FREE.rawValue | BEV_OPT_DEFER_CALLBACKS.rawValue
        guard
            let stream = bufferevent_openssl_socket_new(
                loop.base,
                socket,
                tls,
                BUFFEREVENT_SSL_ACCEPTING,
                Int32(options),
            )
        else {
            SSL_free(tls)
            evutil_closesocket(socket)
            return nil
        }
        self.stream = stream
        self.maximumStreams = maximumStreams
        self.received = received
        self.closed = closed
        bufferevent_openssl_set_allow_dirty_shutdown(stream, 1)
        bufferevent_setwatermark(stream, Int16(EV_WRITE), SinkConnection.outputLowWater, 0)
        bufferevent_setcb(
            stream,
            { _, context in SinkConnection.with(context) { $0.read() } },
            { _, context in SinkConnection.with(context) { $0.write() } },
            { _, what, context in SinkConnection.with(context) { $0.handleEvent(what) } },
            Unmanaged.passUnretained(self).toOpaque(),
        )
        bufferevent_enable(stream, Int16(EV_READ | EV_WRITE))
    }

    deinit {
        if isOpen {
            bufferevent_free(stream)
        }
    }

    /// Retains the connection for the call, which may drop the owner's reference.
    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (SinkConnection) -> Void) {
        guard let context else { return }
        let connection = Unmanaged<SinkConnection>.fromOpaque(context).takeUnretainedValue()
        withExtendedLifetime(connection) {
            if connection.isOpen {
                body(connection)
            }
        }
    }

    private func close() {
        isOpen = false
        session = nil
        bufferevent_free(stream)
        closed(self)
    }

    private func handleEvent(_ what: Int16) {
        guard Int32(what) & BEV_EVENT_CONNECTED != 0,
            let session = SinkSession(maximumStreams: maximumStreams, received: received)
        else { return close() }
        self.session = session
        write()
    }

    private func read() {
        guard let session, let input = bufferevent_get_input(stream) else { return }
        while case let count = evbuffer_get_contiguous_space(input), count > 0 {
            let bytes = UnsafeBufferPointer(start: evbuffer_pullup(input, count), count: count)
            guard session.receive(bytes) else { return close() }
            evbuffer_drain(input, count)
        }
        write()
    }

    private func write() {
        guard let session, let waiting = bufferevent_get_output(stream) else { return }
        output.removeAll(keepingCapacity: true)
        let room = SinkConnection.outputLimit - evbuffer_get_length(waiting)
        while output.count < room, session.takeOutput({ output.append(contentsOf: $0) }) {}
        if !output.isEmpty {
            evbuffer_add(waiting, output, output.count)
        }
        if session.isFinished {
            close()
        }
    }
}
