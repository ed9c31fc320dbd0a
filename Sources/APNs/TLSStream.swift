import CLibevent
import COpenSSL
import EventLoop
import Glibc

/// One TLS connection: resolves the name, tries one address after the other, and then carries bytes.
///
/// It lives on its loop's thread. libevent's callbacks are deferred: none runs inside a call of this type, so the owner
/// may close the stream, or drop it, in any of its methods.
final class TLSStream {
    /// What hears of a stream. Nothing more comes after `streamEnded` or ``TLSStream/close()``.
    protocol Owner: AnyObject {
        /// The handshake is done: bytes can be written.
        func streamOpened(to address: SocketAddress)
        /// Bytes came. They are gone after the call.
        func streamReceived(_ stream: TLSStream)
        /// What waits for the kernel has shrunk to less than ``TLSStream/lowWatermark``.
        func streamDrained()
        /// It could not be opened, or has ended.
        func streamEnded(_ failure: APNsFailure)
    }

    static let lowWatermark = 16_384

    weak var owner: (any Owner)?

    private let loop: EventLoop
    private let endpoint: APNsEndpoint
    private let tls: TLSContext
    private let deadline: MonotonicTime
    private var timer: EventLoopTimer?
    private var bufferEvent: OpaquePointer?
    private var addresses: ArraySlice<SocketAddress> = []
    private var address: SocketAddress?
    private var lastFault = "no answer"
    private var isOpen = false
    private var isClosed = false

    init(on loop: EventLoop, to endpoint: APNsEndpoint, tls: TLSContext, deadline: MonotonicTime) {
        self.loop = loop
        self.endpoint = endpoint
        self.tls = tls
        self.deadline = deadline
        self.timer = EventLoopTimer(on: loop) { [weak self] in self?.attemptTimedOut() }
    }

    deinit {
        freeBufferEvent()
    }

    // MARK: - Connecting

    /// Resolves the name afresh and connects.
    func connect() {
        timer?.schedule(after: deadline - .now)
        let reference = WeakReference(self)
        let (loop, host, port) = (loop, endpoint.host, endpoint.port)
        Task(executorPreference: loop) {
            let result = await runBlockingWork { SocketAddress.resolve(host: host, port: port) }
            loop.checkIsolated()
            reference.stream?.resolved(result)
        }
    }

    /// Finds its way back to the stream after a blocking call.
    ///
    /// Sendable: it is only read on the loop's thread, which its one reader checks, and a weak reference may be dropped
    /// on any.
    private final class WeakReference: @unchecked Sendable {
        weak var stream: TLSStream?

        init(_ stream: TLSStream) {
            self.stream = stream
        }
    }

    private func resolved(_ result: Result<[SocketAddress], APNsFailure>) {
        guard !isClosed else { return }
        switch result {
        case .success(let addresses):
            self.addresses = addresses[...]
            tryNextAddress()
        case .failure(let failure):
            end(failure)
        }
    }

    private func tryNextAddress() {
        freeBufferEvent()
        let remaining = deadline - .now
        guard remaining > .zero, let address = addresses.popFirst() else {
            end(APNsFailure(.connectFailed, detail: "\(endpoint): \(lastFault)"))
            return
        }
        self.address = address
        // A silent address must not use up the time of those behind it.
        let share = max(remaining / (addresses.count + 1), .seconds(1))
        timer?.schedule(after: min(share, remaining))
        if !startAttempt(address) {
            tryNextAddress()
        }
    }

    private func startAttempt(_ address: SocketAddress) -> Bool {
        let isNumeric = SocketAddress.isNumeric(endpoint.host)
        guard let session = tls.makeSession(host: endpoint.host, isNumeric: isNumeric) else {
            lastFault = "OpenSSL gives no TLS session"
            return false
        }
        let options = BEV_OPT_CLOSE_ON_FREE.rawValue | BEV_OPT_DEFER_CALLBACKS.rawValue
        guard
            let event = bufferevent_openssl_socket_new(
                loop.base,
                -1,
                session,
                BUFFEREVENT_SSL_CONNECTING,
                Int32(options),
            )
        else {
            SSL_free(session)
            lastFault = "libevent gives no bufferevent"
            return false
        }
        bufferEvent = event
        bufferevent_setcb(
            event,
            { _, context in TLSStream.from(context)?.received() },
            { _, context in TLSStream.from(context)?.drained() },
            { _, what, context in
                let code = errno
                TLSStream.from(context)?.happened(what, errorCode: code)
            },
            Unmanaged.passUnretained(self).toOpaque(),
        )
        bufferevent_setwatermark(event, Int16(EV_WRITE), TLSStream.lowWatermark, 0)
        bufferevent_enable(event, Int16(EV_READ | EV_WRITE))
        let failure = address.bytes.withUnsafeBytes { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bufferevent_socket_connect(event, pointer, Int32(bytes.count))
        }
        guard failure == 0 else {
            lastFault = "\(address): \(String(cString: strerror(errno)))"
            return false
        }
        // Without it an answer of the peer is awaited before the rest of a full window goes out.
        var on: Int32 = 1
        setsockopt(
            bufferevent_getfd(event),
            Int32(IPPROTO_TCP),
            TCP_NODELAY,
            &on,
            socklen_t(MemoryLayout<Int32>.size),
        )
        return true
    }

    private func attemptTimedOut() {
        guard !isClosed, !isOpen else { return }
        if address == nil {
            lastFault = "the name does not resolve in time"
        } else {
            lastFault = "\(address?.description ?? ""): no connection in time"
        }
        tryNextAddress()
    }

    // MARK: - Bytes

    /// How many bytes wait for the kernel.
    var outputCount: Int {
        guard let bufferEvent else { return 0 }
        return evbuffer_get_length(bufferevent_get_output(bufferEvent))
    }

    func write(_ bytes: [UInt8]) {
        guard let bufferEvent, !bytes.isEmpty else { return }
        evbuffer_add(bufferevent_get_output(bufferEvent), bytes, bytes.count)
    }

    /// Gives away the bytes that have come, in pieces, until `body` returns false.
    func read(_ body: (UnsafeBufferPointer<UInt8>) -> Bool) {
        guard let bufferEvent, let input = bufferevent_get_input(bufferEvent) else { return }
        while true {
            let count = evbuffer_get_contiguous_space(input)
            guard count > 0, let start = evbuffer_pullup(input, Int(count)) else { return }
            let goesOn = body(UnsafeBufferPointer(start: start, count: count))
            evbuffer_drain(input, count)
            guard goesOn else { return }
        }
    }

    // MARK: - Ending

    /// Closes the connection, without a word to the owner.
    func close() {
        isClosed = true
        timer = nil
        freeBufferEvent()
    }

    private func end(_ failure: APNsFailure) {
        guard !isClosed else { return }
        close()
        owner?.streamEnded(failure)
    }

    private func freeBufferEvent() {
        guard let event = bufferEvent else { return }
        bufferEvent = nil
        if isOpen, let session = bufferevent_openssl_get_ssl(event) {
            SSL_shutdown(session)
        }
        ERR_clear_error()
        bufferevent_setcb(event, nil, nil, nil, nil)
        bufferevent_free(event)
    }

    // MARK: - Callbacks

    private static func from(_ context: UnsafeMutableRawPointer?) -> TLSStream? {
        context.map { Unmanaged<TLSStream>.fromOpaque($0).takeUnretainedValue() }
    }

    private func received() {
        owner?.streamReceived(self)
    }

    private func drained() {
        guard isOpen else { return }
        owner?.streamDrained()
    }

    private func happened(_ what: Int16, errorCode: Int32) {
        guard let bufferEvent, let session = bufferevent_openssl_get_ssl(bufferEvent), let address else { return }
        if what & Int16(BEV_EVENT_CONNECTED) != 0 {
            guard TLSContext.hasChosenHTTP2(session) else {
                lastFault = "\(address): the peer does not speak HTTP/2 (ALPN)"
                tryNextAddress()
                return
            }
            isOpen = true
            timer = nil
            owner?.streamOpened(to: address)
            return
        }
        let fault = fault(session, bufferEvent, what, errorCode)
        if isOpen {
            end(APNsFailure(.connectionLost, detail: "\(endpoint): \(fault)"))
        } else {
            lastFault = "\(address): \(fault)"
            tryNextAddress()
        }
    }

    private func fault(_ session: OpaquePointer, _ event: OpaquePointer, _ what: Int16, _ errorCode: Int32) -> String {
        let error = bufferevent_get_openssl_error(event)
        if !isOpen, let fault = TLSContext.verificationFault(of: session) { return fault }
        if let reason = TLSContext.reason(of: error) { return "TLS: " + reason }
        if what & Int16(BEV_EVENT_EOF) != 0 || errorCode == 0 { return "closed by the peer" }
        return String(cString: strerror(errorCode))
    }
}
