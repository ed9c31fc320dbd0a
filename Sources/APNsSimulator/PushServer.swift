import CLibevent
import EventLoop
import Glibc
import HTTPServer
import Logging

/// One port of the simulator: accepts the connections of one environment and owns them.
final class PushServer {
    /// Connections open at the same time; more are closed at once.
    private static let maximumConnections = 1000

    /// The port it listens on.
    let port: UInt16
    /// Connections accepted so far. More than a client needs look like an attack to Apple.
    private(set) var acceptedConnections = 0

    private let environment: APNsEnvironment
    private let service: PushService
    private let loop: EventLoop
    private let tls: TLSContext
    private let apns: SimulatedAPNs
    private let streamLimit: UInt32
    private let logger: Logger
    private var listener: OpaquePointer?
    private var connections: [Int: PushConnection] = [:]

    /// Listens at once.
    ///
    /// - Parameter address: a numeric IP address and a port, 0 for a free one.
    init(
        environment: APNsEnvironment,
        service: PushService = .device,
        address text: String,
        loop: EventLoop,
        tls: TLSContext,
        apns: SimulatedAPNs,
        streamLimit: UInt32,
        logger: Logger,
    ) throws(APNsSimulatorError) {
        self.environment = environment
        self.service = service
        self.loop = loop
        self.tls = tls
        self.apns = apns
        self.streamLimit = streamLimit
        self.logger = logger
        guard
            let parsed = try? ListenAddress(parsing: text),
            case (var address, let length)? = PushServer.socketAddress(of: parsed)
        else { throw .listen("\(text) is not a numeric address with a port") }
        let listener = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                evconnlistener_new_bind(
                    loop.base,
                    nil,
                    nil,
                    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
                    SOMAXCONN,
                    $0,
                    length,
                )
            }
        }
        guard let listener else { throw .listen("cannot listen on \(text): \(String(cString: strerror(errno)))") }
        self.listener = listener
        self.port = PushServer.boundPort(of: evconnlistener_get_fd(listener))
        evconnlistener_set_cb(
            listener,
            { _, socket, _, _, context in
                guard let context else { return }
                Unmanaged<PushServer>.fromOpaque(context).takeUnretainedValue().accept(socket)
            },
            Unmanaged.passUnretained(self).toOpaque(),
        )
    }

    deinit {
        close()
    }

    private static func socketAddress(of address: ListenAddress) -> (sockaddr_storage, Int32)? {
        var storage = sockaddr_storage()
        var length = Int32(MemoryLayout<sockaddr_storage>.size)
        let isAddress = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                // It takes no port 0, so the port is put in afterwards, at the place both families have it.
                evutil_parse_sockaddr_port(address.host, $0, &length) == 0
            }
        }
        guard isAddress else { return nil }
        withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                $0.pointee.sin_port = address.port.bigEndian
            }
        }
        return (storage, length)
    }

    static func boundPort(of socket: Int32) -> UInt16 {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let failure = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        guard failure == 0 else { return 0 }
        // The port stands at the same place in both families.
        return withUnsafeBytes(of: &address) { UInt16(bigEndian: $0.load(as: sockaddr_in.self).sin_port) }
    }

    /// Stops listening and closes every connection.
    func close() {
        if let listener {
            evconnlistener_free(listener)
        }
        listener = nil
        for connection in connections.values {
            connection.close()
        }
    }

    private func accept(_ socket: Int32) {
        guard connections.count < PushServer.maximumConnections else {
            evutil_closesocket(socket)
            logger.warning("a connection was refused: too many are open", ["environment": environmentField])
            return
        }
        var enabled: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &enabled, socklen_t(MemoryLayout<Int32>.size))
        acceptedConnections += 1
        let number = acceptedConnections
        connections[number] = PushConnection(
            socket: socket,
            loop: loop,
            tls: tls,
            environment: environment,
            streamLimit: streamLimit,
            handlers: PushConnection.Handlers(
                clock: apns.clock,
                receive: { [apns, service] request, policy in
                    PushServer.reply(to: request, service, of: apns, on: number, policy: &policy)
                },
                closed: { [weak self] in self?.connections[number] = nil },
            ),
        )
        logger.debug("a connection was accepted", ["environment": environmentField, "connection": .count(number)])
    }

    private static func reply(
        to request: PushRequest,
        _ service: PushService,
        of apns: SimulatedAPNs,
        on connection: Int,
        policy: inout ProviderTokenPolicy,
    ) -> PushConnection.Reply {
        guard service == .device else {
            return .answer(apns.receiveChannelRequest(request, service, on: connection, policy: &policy))
        }
        switch apns.receive(request, on: connection, policy: &policy) {
        case .accepted: return .answer(PushAnswer(to: request))
        case .refused(let refusal): return .answer(PushAnswer(to: request, refusal: refusal))
        case .dropped(let drop): return .drop(drop)
        }
    }

    private var environmentField: LogValue {
        .string(environment.rawValue)
    }
}
