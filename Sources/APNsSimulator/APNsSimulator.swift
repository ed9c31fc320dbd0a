import CLibevent
import EventLoop
import Glibc
public import Logging
import VerbatimJSON

/// An APNs to test against: it checks pushes as Apple documents, answers with Apple's statuses and words, and shows on an
/// HTTP port what arrived and what phones would show of it.
///
/// One process plays both environments, each with its services for broadcast channels, each service on a port of its own with
/// TLS and HTTP/2, all on one thread. It shares
/// no code with the gateway's own APNs client: a simulator that did would share its mistakes.
///
///     let simulator = try APNsSimulator(configuration, logger: logger)
///     print(simulator.announcement)
///     simulator.run()
///
/// It makes the process ignore SIGPIPE.
public actor APNsSimulator {
    /// The port that plays api.push.apple.com.
    public nonisolated let productionPort: UInt16
    /// The port that plays api.sandbox.push.apple.com.
    public nonisolated let sandboxPort: UInt16
    /// The port that plays api-broadcast.push.apple.com.
    public nonisolated let broadcastProductionPort: UInt16
    /// The port that plays api-broadcast.sandbox.push.apple.com.
    public nonisolated let broadcastSandboxPort: UInt16
    /// The port that plays api-manage-broadcast.push.apple.com.
    public nonisolated let manageBroadcastProductionPort: UInt16
    /// The port that plays api-manage-broadcast.sandbox.push.apple.com.
    public nonisolated let manageBroadcastSandboxPort: UInt16
    /// The HTTP port for tests and people: `GET /` is a page of lock screens, `GET /status` lists the routes.
    public nonisolated let controlPort: UInt16

    private nonisolated let loop: EventLoop
    private let production: PushServer
    private let sandbox: PushServer
    private let channelServers: [PushServer]
    private let control: ControlServer

    /// The simulator's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Listens on all ports. Nothing is answered until ``run()`` or ``start()``.
    ///
    /// - Throws: if an address cannot be listened on, or a certificate be made, read or written.
    public init(_ configuration: APNsSimulatorConfiguration, logger: Logger) throws(APNsSimulatorError) {
        signal(SIGPIPE, SIG_IGN)
        let loop: EventLoop
        do throws(EventLoopError) {
            loop = try EventLoop()
        } catch {
            throw .resources(error.description)
        }
        let tls = try APNsSimulator.makeTLS(configuration)
        let apns = SimulatedAPNs(rules: configuration.phoneRules)
        func server(
            _ environment: APNsEnvironment,
            _ address: String,
            _ service: PushService = .device,
        ) throws(APNsSimulatorError) -> PushServer {
            try PushServer(
                environment: environment,
                service: service,
                address: address,
                loop: loop,
                tls: tls,
                apns: apns,
                streamLimit: max(1, configuration.maximumConcurrentStreams),
                logger: logger,
            )
        }
        let production = try server(.production, configuration.productionListen)
        let sandbox = try server(.sandbox, configuration.sandboxListen)
        let broadcastProduction = try server(.production, configuration.broadcastProductionListen, .broadcast)
        let broadcastSandbox = try server(.sandbox, configuration.broadcastSandboxListen, .broadcast)
        let manageProduction = try server(.production, configuration.manageBroadcastProductionListen, .management)
        let manageSandbox = try server(.sandbox, configuration.manageBroadcastSandboxListen, .management)
        let control = try ControlServer(
            address: configuration.controlListen,
            loop: loop,
            api: ControlAPI(apns: apns),
            status: {
                ControlAPI.Status(connections: [
                    .production: production.acceptedConnections, .sandbox: sandbox.acceptedConnections,
                ])
            },
            logger: logger,
        )
        self.loop = loop
        self.productionPort = production.port
        self.sandboxPort = sandbox.port
        self.broadcastProductionPort = broadcastProduction.port
        self.broadcastSandboxPort = broadcastSandbox.port
        self.manageBroadcastProductionPort = manageProduction.port
        self.manageBroadcastSandboxPort = manageSandbox.port
        self.controlPort = control.port
        self.production = production
        self.sandbox = sandbox
        self.channelServers = [broadcastProduction, broadcastSandbox, manageProduction, manageSandbox]
        self.control = control
    }

    private static func makeTLS(_ configuration: APNsSimulatorConfiguration) throws(APNsSimulatorError) -> TLSContext {
        switch (configuration.certificateFile, configuration.privateKeyFile) {
        case (let certificate?, let key?):
            return try TLSContext(certificateFile: certificate, privateKeyFile: key)
        case (nil, nil):
            let names = ["localhost", "127.0.0.1", "::1"] + configuration.certificateNames
            let certificate = try TestCertificate(names: names)
            if let file = configuration.authorityOutputFile {
                try write(certificate.authority, to: file)
            }
            return try TLSContext(certificate)
        default:
            throw .certificate("a certificate file and a private key file go together")
        }
    }

    static func write(_ bytes: [UInt8], to path: String) throws(APNsSimulatorError) {
        guard let file = fopen(path, "we") else {
            throw .certificate("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count else { throw .certificate("cannot write \(path)") }
    }

    // MARK: - Running

    /// One line of JSON with the ports, for whoever started the process: `{"production": 1, "sandbox": 2, ...}`.
    public nonisolated var announcement: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("production", productionPort)
        writer.member("sandbox", sandboxPort)
        writer.member("broadcastProduction", broadcastProductionPort)
        writer.member("broadcastSandbox", broadcastSandboxPort)
        writer.member("manageBroadcastProduction", manageBroadcastProductionPort)
        writer.member("manageBroadcastSandbox", manageBroadcastSandboxPort)
        writer.member("control", controlPort)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Serves on the calling thread until SIGTERM or SIGINT comes, or ``stop()`` is called.
    public nonisolated func run() {
        let signals = [SIGTERM, SIGINT].compactMap { number in
            event_new(
                loop.base,
                number,
                Int16(EV_SIGNAL | EV_PERSIST),
                { _, _, base in event_base_loopbreak(OpaquePointer(base)) },
                UnsafeMutableRawPointer(loop.base),
            )
        }
        for signal in signals {
            event_add(signal, nil)
        }
        loop.run()
        for signal in signals {
            event_free(signal)
        }
    }

    /// Serves on a thread of its own until ``stop()`` is called, which is needed.
    public nonisolated func start() {
        loop.runInNewThread(name: "apns-simulator")
    }

    /// Closes every connection and ends the thread. The simulator cannot be started again.
    public func stop() async {
        production.close()
        sandbox.close()
        for server in channelServers {
            server.close()
        }
        control.close()
        // libevent frees a connection, and closes its socket, in the round after this one.
        await Task.yield()
        loop.stop()
    }
}
