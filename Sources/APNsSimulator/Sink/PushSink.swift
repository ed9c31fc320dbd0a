import CLibevent
import EventLoop
import Glibc

/// An APNs that checks nothing: it answers every push with 200 and hands it to a counter.
///
/// It is the far end of a measurement, and costs as little as it can; an ``APNsSimulator`` checks and remembers, which
/// costs more than the sender that is to be measured. One thread, the one that calls ``run()``.
public final class PushSink {
    /// A push as it came; both parts are valid during the call only.
    public struct Push {
        /// What follows `/3/device/` in the path, as it was sent.
        public let token: UnsafeBufferPointer<UInt8>
        /// The payload.
        public let payload: UnsafeBufferPointer<UInt8>
    }

    /// The loopback port it listens on.
    public let port: UInt16

    private let loop: EventLoop
    private let tls: TLSContext
    private let maximumStreams: UInt32
    private let received: (Push) -> Void
    private let listener: OpaquePointer
    private var connections: [ObjectIdentifier: SinkConnection] = [:]

    /// Listens on a free loopback port. Nothing is answered until ``run()``.
    ///
    /// - Parameters:
    ///   - authorityFile: where the authority of its certificate, which is for `localhost`, is written.
    ///   - maximumStreams: how many streams a client may have open on one connection.
    ///   - received: called with each push, before its answer is on its way.
    public init(
        authorityFile: String,
        maximumStreams: UInt32 = 1000,
        received: @escaping (Push) -> Void,
    ) throws(APNsSimulatorError) {
        signal(SIGPIPE, SIG_IGN)
        do throws(EventLoopError) {
            self.loop = try EventLoop()
        } catch {
            throw .resources(error.description)
        }
        let certificate = try TestCertificate(names: ["localhost", "127.0.0.1"])
        try APNsSimulator.write(certificate.authority, to: authorityFile)
        self.tls = try TLSContext(certificate)
        self.maximumStreams = maximumStreams
        self.received = received
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let (base, size) = (loop.base, Int32(MemoryLayout<sockaddr_in>.size))
        let listener = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                evconnlistener_new_bind(
                    base,
                    nil,
                    nil,
                    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
                    SOMAXCONN,
                    $0,
                    size,
                )
            }
        }
        guard let listener else { throw .listen("cannot listen on 127.0.0.1: \(String(cString: strerror(errno)))") }
        self.listener = listener
        self.port = PushServer.boundPort(of: evconnlistener_get_fd(listener))
        evconnlistener_set_cb(
            listener,
            { _, socket, _, _, context in
                guard let context else { return }
                Unmanaged<PushSink>.fromOpaque(context).takeUnretainedValue().accept(socket)
            },
            Unmanaged.passUnretained(self).toOpaque(),
        )
    }

    deinit {
        evconnlistener_free(listener)
    }

    /// Answers on the calling thread for as long as the process lives.
    public func run() {
        loop.run()
    }

    private func accept(_ socket: Int32) {
        var enabled: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &enabled, socklen_t(MemoryLayout<Int32>.size))
        let connection = SinkConnection(
            socket: socket,
            loop: loop,
            tls: tls,
            maximumStreams: maximumStreams,
            received: received,
            closed: { [weak self] connection in self?.connections[ObjectIdentifier(connection)] = nil },
        )
        if let connection {
            connections[ObjectIdentifier(connection)] = connection
        }
    }
}
