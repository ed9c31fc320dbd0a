import CLibevent
import CNghttp2
import COpenSSL
import EventLoop

/// One client's TLS connection: reads frames, asks what each push is answered, writes frames.
final class PushConnection {
    /// What the owner does for a connection.
    struct Handlers {
        /// The time.
        var clock: () -> UnixTime
        /// Decides how a request ends.
        var receive: (PushRequest, inout ProviderTokenPolicy) -> Reply
        /// Is called once, when the connection is over.
        var closed: () -> Void
    }

    /// How a request ends on the wire.
    enum Reply {
        case answer(PushAnswer)
        case drop(DeclaredToken.Drop)
    }

    private static let outputLimit = 65_536
    private static let outputLowWater = 16_384
    private static let handshakeDeadline = Duration.seconds(10)
    private static let closeDeadline = Duration.seconds(2)

    private let environment: APNsEnvironment
    private let streamLimit: UInt32
    private let handlers: Handlers
    private let stream: OpaquePointer
    private let tls: OpaquePointer
    private var session: HTTP2ServerSession?
    private var policy = ProviderTokenPolicy()
    private var deadline: EventLoopTimer?
    private var isOpen = true

    /// Takes an accepted, non-blocking socket over.
    ///
    /// - Parameter streamLimit: streams the client may open after its first good answer.
    /// - Returns: nil without memory; the socket is closed then.
    init?(
        socket: Int32,
        loop: EventLoop,
        tls context: TLSContext,
        environment: APNsEnvironment,
        streamLimit: UInt32,
        handlers: Handlers,
    ) {
        guard let tls = context.makeSession() else {
            evutil_closesocket(socket)
            return nil
        }
        // Deferred: the callbacks run from the loop, never from inside a call made here.
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
        self.tls = tls
        self.environment = environment
        self.streamLimit = streamLimit
        self.handlers = handlers
        self.deadline = EventLoopTimer(on: loop) { [weak self] in self?.close() }
        deadline?.schedule(after: PushConnection.handshakeDeadline)
        // A peer that closes without close_notify has closed, no more.
        bufferevent_openssl_set_allow_dirty_shutdown(stream, 1)
        bufferevent_setwatermark(stream, Int16(EV_WRITE), PushConnection.outputLowWater, 0)
        bufferevent_setcb(
            stream,
            { _, context in PushConnection.with(context) { $0.read() } },
            { _, context in PushConnection.with(context) { $0.write() } },
            { _, what, context in PushConnection.with(context) { $0.handleEvent(what) } },
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
    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (PushConnection) -> Void) {
        guard let context else { return }
        let connection = Unmanaged<PushConnection>.fromOpaque(context).takeUnretainedValue()
        withExtendedLifetime(connection) {
            if connection.isOpen {
                body(connection)
            }
        }
    }

    /// Closes the connection at once. Does nothing the second time.
    func close() {
        guard isOpen else { return }
        isOpen = false
        deadline = nil
        session = nil
        bufferevent_free(stream)
        handlers.closed()
    }

    // MARK: - Events of the socket

    private func handleEvent(_ what: Int16) {
        guard Int32(what) & BEV_EVENT_CONNECTED != 0 else {
            close()
            return
        }
        deadline?.cancel()
        // A client that offers no ALPN at all is not asked by OpenSSL; it would speak HTTP/1.1.
        guard
            hasAgreedOnHTTP2,
            let session = HTTP2ServerSession(streamLimit: 1, highestStreamLimit: streamLimit)
        else {
            close()
            return
        }
        self.session = session
        write()
    }

    private var hasAgreedOnHTTP2: Bool {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(tls, &name, &length)
        return UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8)
    }

    private func read() {
        guard let session, let input = bufferevent_get_input(stream) else { return }
        while case let count = evbuffer_get_contiguous_space(input), count > 0 {
            let bytes = UnsafeBufferPointer(start: evbuffer_pullup(input, count), count: count)
            guard session.receive(bytes) else {
                finish()
                return
            }
            evbuffer_drain(input, count)
        }
        for (stream, exchange) in session.takeRequests() {
            answer(stream, exchange, on: session)
            guard isOpen else { return }
        }
        write()
    }

    private func write() {
        guard let session, let output = bufferevent_get_output(stream) else { return }
        while evbuffer_get_length(output) < PushConnection.outputLimit {
            guard session.takeOutput({ evbuffer_add(output, $0.baseAddress, $0.count) }) else { break }
        }
        if session.isFinished {
            finish()
        }
    }

    /// Closes as soon as what was written has left, a GOAWAY for instance, or the peer has had time to take it.
    private func finish() {
        guard let output = bufferevent_get_output(stream), evbuffer_get_length(output) > 0 else {
            SSL_shutdown(tls)
            close()
            return
        }
        bufferevent_disable(stream, Int16(EV_READ))
        bufferevent_setwatermark(stream, Int16(EV_WRITE), 0, 0)
        deadline?.schedule(after: PushConnection.closeDeadline)
    }

    // MARK: - Answers

    private func answer(_ stream: Int32, _ exchange: HTTP2Exchange, on session: HTTP2ServerSession) {
        let request = PushRequest(
            environment: environment,
            time: handlers.clock(),
            method: exchange.method,
            path: exchange.path,
            headers: exchange.headers,
            body: exchange.body,
            bodyLength: exchange.bodyLength,
        )
        switch handlers.receive(request, &policy) {
        case .answer(let answer):
            if answer.isSuccess {
                session.announce(streamLimit: streamLimit)
            }
            session.respond(stream, headers: answer.headers, body: answer.body)
        case .drop(.answer):
            break
        case .drop(.stream):
            session.reset(stream, code: NGHTTP2_INTERNAL_ERROR)
        case .drop(.connection):
            close()
        }
    }
}
