import Glibc
import TestSupport
import Testing
import VerbatimJSON

/// One gateway with short intervals and two apps, for all tests that break its APNs one after the other.
///
/// Sendable: the tests that use it run one at a time.
final class FaultBench: @unchecked Sendable {
    /// Who must notice nothing of a fault.
    enum Neighbour: String {
        /// Another app, with a key of another team, in the same environment.
        case otherApp
        /// The same app and key, in the other environment.
        case otherEnvironment
    }

    static let otherApp = 1_400_000_001
    static let flags = [
        "--retry-schedule", "0.2,0.4,0.8", "--poll-interval", "0.05", "--too-many-requests-delay", "0.3",
        "--apns-connect-timeout", "3", "--apns-request-timeout", "3", "--apns-ping-interval", "0.5",
        "--apns-ping-timeout", "1.5", "--apns-reconnect-delay", "0.05", "--apns-reconnect-limit", "0.4",
        "--hold-delay", "0.5", "--hold-limit", "1", "--heartbeat-interval", "0.5", "--activity-interval", "0.1",
    ]

    private static let shared = Result { try FaultBench() }

    let gateway: GatewayUnderTest
    let server: GatewayServer
    var peer: APNsPeer { gateway.peer }
    private let neighbours: [Neighbour: TestPhone]

    /// Runs a test on the shared bench, whose APNs is in order before and after.
    static func run(_ test: (FaultBench) throws -> Void) throws {
        let bench = try shared.get()
        try bench.peer.reset()
        defer { try? bench.peer.heal() }
        try test(bench)
        try bench.peer.heal()
        try bench.gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 20)
    }

    private init() throws {
        gateway = try GatewayUnderTest()
        atexit { try? FaultBench.shared.get().gateway.end() }
        try gateway.addCertificate(
            3,
            key: "ABCDE12345",
            team: "TEAM123456",
            bundleID: GatewayUnderTest.bundleID,
            "production",
        )
        try gateway.setAdministrators("administrator", of: Self.otherApp)
        try gateway.addCertificate(
            1,
            of: Self.otherApp,
            key: "FGHIJ67890",
            team: "TEAM654321",
            bundleID: "com.ex.other",
            "sandbox",
        )
        var phones: [Neighbour: TestPhone] = [:]
        for (neighbour, app, certificate) in [
            (Neighbour.otherApp, Self.otherApp, "1, 'sandbox'"),
            (.otherEnvironment, GatewayUnderTest.sdkAppID, "3, 'production'"),
        ] {
            let phone = TestPhone(installation: "phone-of-\(neighbour)")
            try gateway.sql(
                """
                INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment)
                VALUES (\(app), '\(neighbour)', '\(phone.installation)', decode('\(phone.deviceToken)', 'hex'),
                    \(certificate))
                """
            )
            phones[neighbour] = phone
        }
        neighbours = phones
        server = try gateway.serve(Self.flags)
    }

    // MARK: - Phones and messages

    /// Registers a phone with an activity for a new account.
    func phone(_ account: String, laID: String? = "order-1") throws -> TestPhone {
        try gateway.register(account, phone: "phone-of-\(account)", laID: laID)
    }

    /// Registers devices of so many accounts `NAME-1`, `NAME-2` ..., in SQL.
    ///
    /// - Returns: the accounts, and their tokens.
    func devices(
        _ name: String,
        _ count: Int,
        businessID: Int = 1,
    ) throws -> (accounts: [String], tokens: [String]) {
        let rows = try gateway.sql(
            """
            INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment)
            SELECT \(GatewayUnderTest.sdkAppID), '\(name)-' || n, 'phone-of-\(name)-' || n,
                sha256(('\(name)' || n)::bytea), \(businessID), 'sandbox'
            FROM generate_series(1, \(count)) AS n RETURNING encode(token, 'hex')
            """
        )
        return ((1...count).map { "\(name)-\($0)" }, rows.split(separator: "\n").map(String.init))
    }

    /// Sends a notification to an account, or several.
    @discardableResult
    func notify(_ accounts: String..., change: (inout TestMessage) -> Void = { _ in }) throws -> String {
        try notify(accounts, change: change)
    }

    @discardableResult
    func notify(_ accounts: [String], change: (inout TestMessage) -> Void = { _ in }) throws -> String {
        try gateway.send {
            $0.recipients = accounts
            $0.laID = nil
            change(&$0)
        }
    }

    /// Sends an update of the activity of an account.
    @discardableResult
    func update(_ account: String, step: Int) throws -> String {
        try gateway.send {
            $0.recipients = [account]
            $0.contentState = #"{"step":\#(step)}"#
        }
    }

    // MARK: - What must come out

    /// The pushes to a token so far, once there are `count` of them.
    func pushes(
        to token: String,
        _ count: Int = 0,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) throws -> [PeerPush] {
        var pushes: [PeerPush] = []
        let hasThem = try eventually(within: 20) {
            pushes = try peer.pushes().filter { $0.token == token }
            return pushes.count >= count
        }
        #expect(hasThem, "\(pushes)", sourceLocation: sourceLocation)
        try #require(hasThem, sourceLocation: sourceLocation)
        #expect(pushes.flatMap(\.problems).isEmpty, "\(pushes)", sourceLocation: sourceLocation)
        return pushes
    }

    /// Waits until the deliveries of an account, in accept order, are these: `route|outcome|apns_reason|attempts`.
    func expect(_ account: String, _ rows: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
        try gateway.expectSQL(
            """
            SELECT route, outcome, apns_reason, attempts FROM recent_deliveries WHERE account = '\(account)'
            ORDER BY message_id, route
            """,
            rows.joined(separator: "\n"),
            within: 20,
            sourceLocation: sourceLocation,
        )
    }

    /// Waits until a message to an account waits for that reason.
    func expectWaiting(
        _ account: String,
        _ reason: String,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) throws {
        try gateway.expectSQL(
            "SELECT DISTINCT reason_code FROM undelivered WHERE account = '\(account)' AND reason_code <> ''",
            reason,
            sourceLocation: sourceLocation,
        )
    }

    /// Sends to a neighbour, while the fault is there: it must be served at once, at the first attempt.
    func expectServed(_ neighbour: Neighbour, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let app = neighbour == .otherApp ? Self.otherApp : GatewayUnderTest.sdkAppID
        let message = TestMessage {
            $0.recipients = [neighbour.rawValue]
            $0.laID = nil
        }
        let answer = try gateway.begin(message, of: app).answer().json
        let key = try #require(answer["MsgKey"]?.string, "\(answer.text)", sourceLocation: sourceLocation)
        try gateway.expectSQL(
            """
            SELECT outcome, attempts, sent_at - accepted_at < interval '4 s' FROM recent_deliveries
            WHERE msg_key = '\(key)'
            """,
            "accepted_by_apns|1|t",
            within: 20,
            sourceLocation: sourceLocation,
        )
    }

    /// A number of the page /metrics: the sum of all lines that begin so.
    func metric(_ beginning: String) throws -> Double {
        try HTTPExchange("GET", port: server.port, "/metrics").answer().text.split(separator: "\n")
            .filter { $0.hasPrefix(beginning) }.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }
            .reduce(0, +)
    }
}

extension GatewayServer {
    /// How many files it has open.
    var openFiles: Int {
        get throws { try ChildProcess.run("ls", ["/proc/\(program.process)/fd"]).output.split(separator: "\n").count }
    }

    /// Its resident memory in megabytes.
    var megabytes: Int {
        get throws {
            let pages = try ChildProcess.run("cut", ["-d", " ", "-f", "2", "/proc/\(program.process)/statm"]).output
            return try #require(Int(pages.trimmed)) * Int(sysconf(Int32(_SC_PAGESIZE))) / 1_048_576
        }
    }
}
