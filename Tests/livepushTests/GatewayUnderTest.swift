import Glibc
import TestSupport
import Testing
import VerbatimJSON

/// livepush as an operator runs it, for one test: a database of its own, an app, a certificate, an APNs peer, and as
/// many `livepush serve` as the test starts.
final class GatewayUnderTest {
    static let sdkAppID = 1_400_000_000
    static let bundleID = "com.ex.app"
    /// A key of the first team that the peer knows and no certificate has.
    static let spareKeyID = "KLMNO13579"
    static let secretKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

    let folder: String
    let database: String
    let peer: APNsPeer
    let postgres: PrivatePostgres
    /// What commands and servers are started with from now on. The commands own the database.
    var environment: [String: String]
    /// The database as `serve` sees it: its login may do what `livepush_gateway` may, and nothing else.
    private let serveDatabase: String
    private var servers: [GatewayServer] = []
    private var userSigs: [String: String] = [:]
    var server: GatewayServer { get throws { try #require(servers.last) } }
    /// Where requests go.
    var port: Int { get throws { try server.port } }

    /// Runs a test with a gateway and ends everything afterwards.
    ///
    /// - Parameters:
    ///   - certificate: the environment of the certificates.
    ///   - flags: further flags of the first `serve`.
    static func run(
        certificate: String = "sandbox",
        streams: Int = 1000,
        flags: [String] = [],
        _ test: (GatewayUnderTest) throws -> Void,
    ) throws {
        let gateway = try GatewayUnderTest(certificate: certificate, streams: streams)
        defer { gateway.end() }
        try gateway.serve(flags)
        try test(gateway)
    }

    /// All but the first `serve`.
    init(certificate: String = "sandbox", streams: Int = 1000) throws {
        postgres = try PrivatePostgres.shared()
        database = try postgres.makeDatabase()
        let folder = try ChildProcess.run("mktemp", ["-d", "-t", "livepush-test.XXXXXX"]).output.trimmed
        self.folder = folder
        let masterKey = try ChildProcess.run("openssl", ["rand", "-base64", "32"]).output.trimmed
        environment = ["LIVEPUSH_DATABASE_URL": database, "LIVEPUSH_MASTER_KEY": masterKey]
        serveDatabase = postgres.url(database, as: "gateway_login")
        let keys = try [
            ("ABCDE12345", "TEAM123456", Self.bundleID), ("FGHIJ67890", "TEAM654321", "com.ex.other"),
            (Self.spareKeyID, "TEAM123456", Self.bundleID),
        ].map { id, team, bundleID in
            let file = "\(folder)/AuthKey_\(id).p8"
            let generate = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", file]
            _ = try ChildProcess.run("openssl", generate)
            return (id: id, team: team, bundleID: bundleID, file: file)
        }
        peer = try APNsPeer(
            folder: folder,
            keys: keys.map { "\($0.id):\($0.team):\($0.file):\($0.bundleID)" },
            streams: streams,
        )
        _ = try ChildProcess.run("tee", ["\(folder)/secret-key"], input: Self.secretKey + "\n")
        try succeed("migrate")
        try postgres.makeLogin("gateway_login", memberOf: "livepush_gateway")
        try setAdministrators("administrator")
        // Phones register with businessId 1; the other team's key is there for those that say 2.
        for (number, key) in keys.enumerated() where key.id != Self.spareKeyID {
            try addCertificate(number + 1, key: key.id, team: key.team, bundleID: key.bundleID, certificate)
        }
    }

    /// Adds or replaces a certificate.
    ///
    /// - Parameter key: one of the ids that the peer knows.
    func addCertificate(
        _ businessID: Int,
        of sdkAppID: Int = GatewayUnderTest.sdkAppID,
        key: String,
        team: String,
        bundleID: String,
        _ environment: String,
    ) throws {
        let place = ["--sdk-app-id", "\(sdkAppID)", "--business-id", "\(businessID)", "--bundle-id", bundleID]
        let file = ["--key-file", "\(folder)/AuthKey_\(key).p8", "--environment", environment]
        let outcome = try livepush(["certificate", "add", "--team-id", team, "--key-id", key] + place + file)
        guard outcome.status == 0 else { throw ChildProcess.Failure("certificate add: \(outcome.errors)") }
    }

    /// Makes an app, or replaces its administrators.
    func setAdministrators(_ accounts: String..., of sdkAppID: Int = GatewayUnderTest.sdkAppID) throws {
        let app = ["--sdk-app-id", "\(sdkAppID)", "--secret-key-file", "\(folder)/secret-key"]
        let outcome = try livepush(["app", "add"] + app + accounts.flatMap { ["--admin", $0] })
        guard outcome.status == 0 else { throw ChildProcess.Failure("app add: \(outcome.errors)") }
    }

    /// Ends the servers and removes the folder.
    func end() {
        servers.removeAll()
        _ = try? ChildProcess.run("rm", ["-rf", folder])
    }

    // MARK: - The command

    /// Runs `livepush` and waits for its end.
    func livepush(_ arguments: [String]) throws -> ChildProcess.Outcome {
        try ChildProcess.run("env", environment.map { "\($0.key)=\($0.value)" } + [Paths.livepush] + arguments)
    }

    /// Runs `livepush`, which must exit 0.
    ///
    /// - Returns: its output.
    @discardableResult
    func succeed(_ arguments: String...) throws -> String {
        let outcome = try livepush(arguments)
        guard outcome.status == 0 else {
            throw ChildProcess.Failure("livepush \(arguments) ended with \(outcome.status): \(outcome.errors)")
        }
        return outcome.output
    }

    /// Starts a `livepush serve`, with delays that a test can wait for and no pause between pushes to one activity, and
    /// waits until it is ready. Requests go to the last one started.
    ///
    /// - Parameter becomingReady: false: its master key is wrong, and it is waited for that it says so.
    @discardableResult
    func serve(
        _ flags: [String] = [],
        trustsPeer: Bool = true,
        becomingReady: Bool = true,
    ) throws -> GatewayServer {
        let server = try startServer(flags, trustsPeer: trustsPeer)
        guard try server.isReady(orNotFor: becomingReady ? nil : "LIVEPUSH_MASTER_KEY") else {
            throw ChildProcess.Failure("livepush serve is not ready: \(server.log)")
        }
        servers.append(server)
        return server
    }

    /// Kills the last server, as a crash does.
    func crash() throws {
        try server.program.end(SIGKILL)
        servers.removeLast()
    }

    private func startServer(_ flags: [String], trustsPeer: Bool) throws -> GatewayServer {
        let usual = [
            ("--lanes", "1"), ("--apns-production", "https://localhost:\(peer.productionPort)"),
            ("--apns-sandbox", "https://localhost:\(peer.sandboxPort)"), ("--retry-schedule", "0.2,0.4,0.8"),
            ("--poll-interval", "0.1"), ("--drain-grace", "0.2"), ("--activity-interval", "0"),
        ]
        let flags = flags + (trustsPeer ? ["--apns-ca-file", peer.authority] : [])
        return try GatewayServer(
            arguments: usual.filter { !flags.contains($0.0) }.flatMap { [$0.0, $0.1] } + flags,
            environment: environment.merging(["LIVEPUSH_DATABASE_URL": serveDatabase]) { $1 },
        )
    }

    // MARK: - Callers

    /// The UserSig of an account.
    func userSig(_ account: String, of sdkAppID: Int = GatewayUnderTest.sdkAppID) throws -> String {
        let name = "\(account)/\(sdkAppID)"
        if let known = userSigs[name] { return known }
        let made = try succeed("usersig", "--sdk-app-id", "\(sdkAppID)", "--identifier", account).trimmed
        userSigs[name] = made
        return made
    }

    /// Posts a message, without waiting for the answer.
    func begin(
        _ message: TestMessage,
        of sdkAppID: Int = GatewayUnderTest.sdkAppID,
        through server: GatewayServer? = nil,
    ) throws -> HTTPExchange {
        let userSig = try userSig("administrator", of: sdkAppID)
        let query = "sdkappid=\(sdkAppID)&identifier=administrator&usersig=\(userSig)"
        let target = "\(message.path)?\(query)&random=\(message.random)&contenttype=json"
        return try HTTPExchange("POST", port: (server ?? (try self.server)).port, target, body: message.json)
    }

    /// Posts a message, whatever comes of it.
    func post(_ message: TestMessage, through server: GatewayServer? = nil) throws -> JSONValue {
        try begin(message, through: server).answer().json
    }

    /// Posts a message that must be accepted.
    ///
    /// - Returns: its key.
    @discardableResult
    func send(
        through server: GatewayServer? = nil,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout TestMessage) -> Void = { _ in },
    ) throws -> String {
        let answer = try post(TestMessage(change), through: server)
        #expect(answer["ActionStatus"]?.string == "OK", "\(answer.text)", sourceLocation: sourceLocation)
        return answer["MsgKey"]?.string ?? ""
    }

    // MARK: - Phones

    /// A request of a phone that must succeed.
    @discardableResult
    func phone(_ account: String, _ method: String, _ target: String, _ body: String? = nil) throws -> JSONValue {
        let answer = try phoneAnswer(account, method, target, body)
        guard answer.status == 200 else { throw ChildProcess.Failure("\(method) \(target): \(answer.text)") }
        return try answer.json
    }

    /// A request of a phone, whatever comes of it.
    func phoneAnswer(
        _ account: String,
        _ method: String,
        _ target: String,
        _ body: String? = nil,
    ) throws -> HTTPExchange.Answer {
        let headers = ["Authorization: Bearer \(try userSig(account))"]
        return try HTTPExchange(method, port: try server.port, target, headers: headers, body: body).answer()
    }

    /// Registers a phone: its device, and an activity unless `laID` is nil.
    @discardableResult
    func register(
        _ account: String = "alice",
        phone installation: String = "phone-1",
        laID: String? = "order-1",
    ) throws -> TestPhone {
        let phone = TestPhone(installation: installation)
        try register(account, device: phone)
        if let laID {
            try register(account, activity: laID, phone)
        }
        return phone
    }

    /// Registers the device token of a phone.
    ///
    /// - Parameter more: further members, each with a comma before it.
    func register(_ account: String, device phone: TestPhone, businessID: Int = 1, more: String = "") throws {
        let body = #"{"token":"\#(phone.deviceToken)","businessId":\#(businessID)\#(more)}"#
        try self.phone(account, "PUT", "/v1/devices/\(phone.installation)", body)
    }

    /// Registers the activity token of a phone.
    func register(_ account: String, activity laID: String, _ phone: TestPhone) throws {
        let body = #"{"token":"\#(phone.activityToken)","businessId":1,"installation":"\#(phone.installation)"}"#
        try self.phone(account, "PUT", "/v1/activities/\(laID)", body)
    }

    /// Reports whether a phone's app is in front, which must succeed.
    @discardableResult
    func report(_ account: String, _ state: String, of phone: TestPhone, unread: Int? = nil) throws -> JSONValue {
        let unread = unread.map { #","unread":\#($0)"# } ?? ""
        let body = #"{"installation":"\#(phone.installation)","state":"\#(state)"\#(unread)}"#
        return try self.phone(account, "POST", "/v1/presence", body)
    }

    // MARK: - SQL

    /// The answer of an SQL query, columns separated by `|`.
    @discardableResult
    func sql(_ query: String) throws -> String {
        try postgres.psql(query, database: database)
    }

    /// Makes PostgreSQL refuse the rows of a table for which the condition holds.
    func failStatements(on table: String, when condition: String) throws {
        try sql(
            """
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
            CREATE TRIGGER fail BEFORE INSERT ON \(table) FOR EACH ROW WHEN (\(condition)) EXECUTE FUNCTION fail();
            """
        )
    }

    /// Makes PostgreSQL go away: it ends every connection to the database and takes no more.
    func closeDatabase() throws {
        let name = try #require(database.split(separator: "/").last)
        try postgres.psql(
            """
            ALTER DATABASE \(name) ALLOW_CONNECTIONS false;
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '\(name)';
            """
        )
    }

    /// The database's clock, whole Unix seconds.
    func now() throws -> Int64 {
        try #require(Int64(try sql("SELECT floor(extract(epoch FROM now()))::bigint")))
    }

    /// Waits until a query answers so, and records an issue if it does not.
    func expectSQL(
        _ query: String,
        _ expected: String,
        within seconds: Double = 15,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) throws {
        var answer = ""
        let isAsExpected = try eventually(within: seconds) {
            answer = try sql(query)
            return answer == expected
        }
        #expect(isAsExpected, "\(query) answered \(answer), not \(expected)", sourceLocation: sourceLocation)
    }

    /// Waits until nothing waits any more, and compares the outcomes of all deliveries in accept order, columns
    /// `account|installation|route|fallback|outcome|apns_reason`.
    func expectDeliveries(_ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
        try expectSQL("SELECT count(*) FROM pending", "0", sourceLocation: sourceLocation)
        try expectSQL(
            """
            SELECT account, installation, route, CASE WHEN fallback THEN 'fallback' END, outcome, apns_reason
            FROM recent_deliveries ORDER BY message_id, account, fallback, installation
            """,
            expected.joined(separator: "\n"),
            within: 5,
            sourceLocation: sourceLocation,
        )
    }
}

/// The tokens of a phone.
struct TestPhone {
    var installation: String
    /// 32 bytes in hexadecimal, as most device tokens.
    var deviceToken = TestPhone.token(bytes: 32)
    /// 80 bytes in hexadecimal, as activity tokens were seen.
    var activityToken = TestPhone.token(bytes: 80)

    static func token(bytes count: Int) -> String {
        (0..<count).map { _ in
            let byte = UInt8.random(in: .min ... .max)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

/// A running `livepush serve`.
final class GatewayServer {
    let port: Int
    let program: RunningProgram

    init(arguments: [String], environment: [String: String]) throws {
        port = Int(try PrivatePostgres.freePort())
        program = try RunningProgram(
            Paths.livepush,
            ["serve", "--listen", "127.0.0.1:\(port)"] + arguments,
            environment: environment,
        )
    }

    /// Its log so far: JSON lines.
    var log: String { program.errors }

    /// Waits until it answers 200 to `/readyz`, or has ended.
    ///
    /// - Parameter obstacle: a word of the reason for which it is to answer 503 instead.
    func isReady(orNotFor obstacle: String? = nil) throws -> Bool {
        let isUp = eventually(within: 20) {
            if program.status != nil { return true }
            guard let answer = try? HTTPExchange("GET", port: port, "/readyz").answer() else { return false }
            return obstacle.map { answer.status == 503 && answer.text.contains($0) } ?? (answer.status == 200)
        }
        return isUp && program.status == nil
    }
}

extension String {
    /// Without the line ends that programs put at the end of their output.
    var trimmed: String {
        var text = self[...]
        while text.last?.isWhitespace == true {
            text.removeLast()
        }
        return String(text)
    }
}

extension JSONValue {
    /// The value as it was written.
    var text: String { String(decoding: verbatim, as: UTF8.self) }
}
