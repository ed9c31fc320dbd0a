import APNsSimulator
import Logging

/// `livepush simulator`.
enum SimulatorCommand: Command {
    static let name = "simulator"
    static let summary = "an APNs on this machine that checks like Apple and shows what arrived"
    static let discussion = """
        Prints one JSON line with its ports and runs until SIGTERM. GET / on the control port lists what it can be asked:
        GET /pushes shows what arrived, POST /tokens says how a token behaves, POST /keys registers a signing key.
        """
    static let options = [
        CommandOption(
            name: "listen-production",
            kind: .value("HOST:PORT"),
            help: "TLS port; 127.0.0.1:0 (free) if absent"
        ),
        CommandOption(
            name: "listen-sandbox",
            kind: .value("HOST:PORT"),
            help: "TLS port; 127.0.0.1:0 (free) if absent"
        ),
        CommandOption(
            name: "listen-control",
            kind: .value("HOST:PORT"),
            help: "HTTP port; 127.0.0.1:0 (free) if absent"
        ),
        CommandOption(
            name: "ca-file",
            kind: .value("FILE"),
            help: "where its certificate authority is written, for serve --apns-ca-file",
        ),
        CommandOption(name: "host-name", kind: .values("NAME"), help: "a further name in its certificate; repeatable"),
        CommandOption(name: "certificate-file", kind: .value("FILE"), help: "a certificate chain in place of its own"),
        CommandOption(name: "private-key-file", kind: .value("FILE"), help: "the key of that certificate"),
        CommandOption(
            name: "maximum-streams",
            kind: .value("N"),
            help: "streams it allows after the first good answer; 1000 if absent",
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        var configuration = APNsSimulatorConfiguration()
        if let address = arguments.text("listen-production") { configuration.productionListen = address }
        if let address = arguments.text("listen-sandbox") { configuration.sandboxListen = address }
        if let address = arguments.text("listen-control") { configuration.controlListen = address }
        configuration.authorityOutputFile = arguments.text("ca-file")
        configuration.certificateNames = arguments.texts("host-name")
        configuration.certificateFile = arguments.text("certificate-file")
        configuration.privateKeyFile = arguments.text("private-key-file")
        if let streams = try arguments.integer("maximum-streams", in: 1...100_000) {
            configuration.maximumConcurrentStreams = UInt32(streams)
        }
        try TerminationSignals.install()
        let simulator = try APNsSimulator(configuration, logger: Logger())
        simulator.start()
        StandardOutput.write(simulator.announcement + "\n")
        await TerminationSignals.wait()
        await simulator.stop()
    }
}
