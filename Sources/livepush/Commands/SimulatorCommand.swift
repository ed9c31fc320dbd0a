import APNsSimulator
import Logging

/// `livepush simulator`.
enum SimulatorCommand: Command {
    static let name = "simulator"
    static let summary = "an APNs on this machine that checks like Apple and shows what phones would show"
    static let discussion = """
        Prints one JSON line with its ports and runs until SIGTERM. The control port is a page in the browser: the lock
        screen of each phone, as ActivityKit's rules make it, and each push with what became of it. GET /status lists what
        else it can be asked: GET /phones is the page as JSON, GET /pushes shows what arrived, POST /tokens says whose a
        token is and how it behaves, POST /keys registers a signing key.

        Apple says that phones have budgets and publishes no numbers. Those here are guesses, per app and hour.
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
            name: "listen-broadcast-production",
            kind: .value("HOST:PORT"),
            help: "TLS port for pushes to broadcast channels; 127.0.0.1:0 (free) if absent"
        ),
        CommandOption(
            name: "listen-broadcast-sandbox",
            kind: .value("HOST:PORT"),
            help: "the same for the sandbox"
        ),
        CommandOption(
            name: "listen-manage-broadcast-production",
            kind: .value("HOST:PORT"),
            help: "TLS port that manages broadcast channels; 127.0.0.1:0 (free) if absent"
        ),
        CommandOption(
            name: "listen-manage-broadcast-sandbox",
            kind: .value("HOST:PORT"),
            help: "the same for the sandbox"
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
        CommandOption(
            name: "priority-10-budget",
            kind: .value("N"),
            help: "Live Activity pushes of priority 10 before a phone throttles them; 60 if absent",
        ),
        CommandOption(
            name: "frequent-priority-10-budget",
            kind: .value("N"),
            help: "the same with frequent updates on; 240 if absent",
        ),
        CommandOption(
            name: "start-budget",
            kind: .value("N"),
            help: "activities that pushes may start on a phone; 10 if absent",
        ),
        CommandOption(
            name: "background-budget",
            kind: .value("N"),
            help: "background pushes that wake an app; 3 if absent",
        ),
    ]

    private static var channelPorts: [(String, WritableKeyPath<APNsSimulatorConfiguration, String>)] {
        [
            ("listen-broadcast-production", \.broadcastProductionListen),
            ("listen-broadcast-sandbox", \.broadcastSandboxListen),
            ("listen-manage-broadcast-production", \.manageBroadcastProductionListen),
            ("listen-manage-broadcast-sandbox", \.manageBroadcastSandboxListen),
        ]
    }

    static func run(_ arguments: CommandArguments) async throws {
        var configuration = APNsSimulatorConfiguration()
        if let address = arguments.text("listen-production") { configuration.productionListen = address }
        if let address = arguments.text("listen-sandbox") { configuration.sandboxListen = address }
        for (option, address) in channelPorts {
            if let text = arguments.text(option) { configuration[keyPath: address] = text }
        }
        if let address = arguments.text("listen-control") { configuration.controlListen = address }
        configuration.authorityOutputFile = arguments.text("ca-file")
        configuration.certificateNames = arguments.texts("host-name")
        configuration.certificateFile = arguments.text("certificate-file")
        configuration.privateKeyFile = arguments.text("private-key-file")
        if let streams = try arguments.integer("maximum-streams", in: 1...100_000) {
            configuration.maximumConcurrentStreams = UInt32(streams)
        }
        func setBudget(_ option: String, _ budget: WritableKeyPath<PhoneRules, Int>) throws {
            if let number = try arguments.integer(option, in: 0...1_000_000) {
                configuration.phoneRules[keyPath: budget] = Int(number)
            }
        }
        try setBudget("priority-10-budget", \.priority10Budget)
        try setBudget("frequent-priority-10-budget", \.frequentPriority10Budget)
        try setBudget("start-budget", \.startBudget)
        try setBudget("background-budget", \.backgroundBudget)
        try TerminationSignals.install()
        let simulator = try APNsSimulator(configuration, logger: Logger())
        simulator.start()
        StandardOutput.write(simulator.announcement + "\n")
        await TerminationSignals.wait()
        await simulator.stop()
    }
}
