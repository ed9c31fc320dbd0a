import ClientAPI
import EventLoop
import Gateway
import Glibc
import HTTPServer
import Logging
import PostgresClient
import Synchronization
import TestSupport

/// Calls the API as a phone does, in an app of its own in a database that all tests share.
final class Phone {
    let sdkAppID: Int64
    let pool: PostgresPool
    let gateway: FakeGateway
    let channels = FakeChannels()

    private let api: ClientAPI

    private static let lastApp = Atomic<Int64>(1_400_000_000)
    private static let sharedDatabase = Mutex<String?>(nil)

    init(on loop: EventLoop, connections: Int = 1) throws {
        self.sdkAppID = Phone.lastApp.add(1, ordering: .relaxed).newValue
        let url = try Phone.database()
        let silent = Logger(minimumLevel: .error)
        self.pool = PostgresPool(
            url: url,
            connections: connections,
            on: loop,
            logger: silent,
            connectionWait: .seconds(30)
        )
        self.gateway = FakeGateway(sdkAppID: sdkAppID)
        self.api = ClientAPI(
            gateway: gateway,
            registrations: RegistrationStore(pool: pool, logger: silent),
            messages: MessageRecordStore(pool: pool, logger: silent),
            channels: channels,
            logger: silent,
        )
        try sql("INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (APP, '', '{administrator}')")
    }

    /// Runs a test on a lane.
    static func run(
        connections: Int = 1,
        _ body: @Sendable (isolated LoopActor, Phone) async throws -> Void,
    ) async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        try await lane.run { lane in
            let phone = try Phone(on: lane.loop, connections: connections)
            phone.pool.start(isolation: lane)
            defer { phone.pool.close() }
            try await body(lane, phone)
        }
    }

    private static func database() throws -> String {
        try sharedDatabase.withLock { shared in
            if let shared { return shared }
            let server = try PrivatePostgres.shared()
            let url = try server.makeDatabase()
            let folder = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/Schema/"
            let files = [
                "0001_tables.sql", "0002_views.sql", "0003_registration_functions.sql", "0004_recent_request.sql",
                "0005_badges_and_presence.sql", "0006_rate_limits.sql", "0007_operators.sql",
                "0008_registration_import.sql", "0009_token_hygiene.sql", "0010_provider_tokens.sql", "0011_pacing.sql",
                "0012_suspects.sql", "0013_claim_answer.sql", "0014_waiting_alerts.sql", "0016_start_tokens.sql",
                "0018_fan_out.sql",
                "0019_schedule.sql", "0020_pushwoosh.sql", "0022_push_lines.sql", "0024_start_order.sql",
            ]
            try server.psql(files.map { "\\i '\(folder)\($0)'\n" }.joined(), database: url)
            shared = url
            return url
        }
    }

    // MARK: - Requests

    static func signature(of account: String, sdkAppID: Int64, madeAt time: Int64 = Int64(time(nil))) -> String {
        UserSig.make(
            identifier: account,
            sdkAppID: sdkAppID,
            secretKey: FakeGateway.secretKey,
            expire: 86_400,
            now: time,
        )
    }

    func send(_ method: String, _ target: String, as account: String = "alice", body: String = "") async throws
        -> Answer
    {
        let signature = Phone.signature(of: account, sdkAppID: sdkAppID)
        return try await send(method, target, authorization: "Bearer \(signature)", body: body)
    }

    func send(_ method: String, _ target: String, authorization: String?, body: String) async throws -> Answer {
        let parts = target.split(separator: "?", maxSplits: 1)
        let request = HTTPRequest(
            method: method,
            path: String(parts[0]),
            query: parts.count > 1 ? String(parts[1]) : nil,
            headers: authorization.map { ["Authorization": $0] } ?? [:],
            body: Array(body.utf8),
            remoteAddress: "127.0.0.1",
        )
        return try Answer(await api.respond(to: request))
    }

    /// - Parameter more: further members, each with a comma before it.
    func putDevice(
        _ installation: String = "phone-1",
        token: String = Phone.token(1),
        as account: String = "alice",
        sequence: Int64? = nil,
        more: String = "",
    ) async throws -> Answer {
        let body = "{\"token\":\"\(token)\",\"businessId\":5\(Phone.member(sequence))\(more)}"
        return try await send("PUT", "/v1/devices/\(installation)", as: account, body: body)
    }

    func putActivity(
        _ laID: String = "order-1",
        _ installation: String = "phone-1",
        token: String = Phone.token(100),
        as account: String = "alice",
        sequence: Int64? = nil,
        more: String = "",
    ) async throws -> Answer {
        let body =
            "{\"token\":\"\(token)\",\"businessId\":5,\"installation\":\"\(installation)\""
            + "\(Phone.member(sequence))\(more)}"
        return try await send("PUT", "/v1/activities/\(laID)", as: account, body: body)
    }

    func putStartToken(
        _ attributesType: String = "Order",
        _ installation: String = "phone-1",
        token: String = Phone.token(200),
        as account: String = "alice",
        sequence: Int64? = nil,
        more: String = "",
    ) async throws -> Answer {
        let body =
            "{\"token\":\"\(token)\",\"businessId\":5,\"installation\":\"\(installation)\""
            + "\(Phone.member(sequence))\(more)}"
        return try await send("PUT", "/v1/start-tokens/\(attributesType)", as: account, body: body)
    }

    func delete(_ target: String, as account: String = "alice", sequence: Int64? = nil) async throws -> Answer {
        let query = sequence.map { (target.contains("?") ? "&" : "?") + "sequence=\($0)" } ?? ""
        return try await send("DELETE", "/v1/" + target + query, as: account)
    }

    func registrations(of account: String = "alice") async throws -> Answer {
        try await send("GET", "/v1/registrations", as: account)
    }

    private static func member(_ sequence: Int64?) -> String {
        sequence.map { ",\"sequence\":\($0)" } ?? ""
    }

    /// A token of 32 bytes that ends in `number`, in hexadecimal.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    // MARK: - Database

    /// Runs SQL in which `APP` stands for the app's id; the rows' columns are separated by `|`.
    @discardableResult
    func sql(_ text: String) throws -> String {
        let text = text.split(separator: "APP", omittingEmptySubsequences: false).joined(separator: "\(sdkAppID)")
        return try PrivatePostgres.shared().psql(text, database: Phone.database())
    }

    /// The app's rows of a table, one line each.
    func rows(_ columns: String, of table: String) throws -> String {
        try sql("SELECT \(columns) FROM \(table) WHERE sdk_app_id = APP ORDER BY \(columns)")
    }
}
