import EventLoop
import Glibc
import LiveActivity
import Logging
import PostgresClient
import Synchronization
import TestSupport

@testable import Gateway

/// A database of one test with the schema applied, one app in it, and the stores under test.
final class StoreDatabase {
    static let sdkAppID: Int64 = 1_400_000_000

    let url: String
    let pool: PostgresPool
    let store: DeliveryStore
    let instances: InstanceStore

    private let server: PrivatePostgres

    /// Databases that no test uses now: making one takes longer than most tests.
    private static let idle = Mutex<[String]>([])

    private init(_ url: String, on server: PrivatePostgres, loop: EventLoop, connections: Int) {
        self.url = url
        self.server = server
        pool = PostgresPool(
            url: url,
            connections: connections,
            on: loop,
            logger: Logger(minimumLevel: .error),
            connectionWait: .seconds(30),
        )
        store = DeliveryStore(pool: pool)
        instances = InstanceStore(pool: pool)
    }

    /// Runs a test on a lane. The database is used again only if the test did not throw.
    static func run(
        connections: Int = 1,
        _ body: @Sendable (isolated LoopActor, StoreDatabase) async throws -> Void,
    ) async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        // All of it on the lane's thread: `psql` blocks, and the threads that all tests share are few.
        try await lane.run { lane in
            let server = try PrivatePostgres.shared()
            let url = try idle.withLock { $0.popLast() } ?? makeDatabase(on: server)
            let database = StoreDatabase(url, on: server, loop: lane.loop, connections: connections)
            database.pool.start(isolation: lane)
            defer { database.pool.close() }
            try await body(lane, database)
            try server.psql(emptying, database: url)
            idle.withLock { $0.append(url) }
        }
    }

    private static func makeDatabase(on server: PrivatePostgres) throws -> String {
        let url = try server.makeDatabase()
        let folder = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/Schema/"
        let files = [
            "0001_tables.sql", "0002_views.sql", "0003_registration_functions.sql", "0004_recent_request.sql",
            "0005_badges_and_presence.sql", "0006_rate_limits.sql", "0007_operators.sql",
            "0008_registration_import.sql", "0009_token_hygiene.sql", "0010_provider_tokens.sql", "0011_pacing.sql",
            "0012_suspects.sql", "0013_claim_answer.sql", "0014_waiting_alerts.sql", "0015_content_schema.sql",
            "0016_start_tokens.sql", "0017_channels.sql", "0018_fan_out.sql", "0019_schedule.sql",
            "0020_pushwoosh.sql", "0021_revocations.sql", "0022_push_lines.sql", "0023_limits_and_imports.sql",
            "0024_start_order.sql", "0025_waiting_recipients.sql", "0026_answers_lost.sql", "0027_last_sent.sql",
            "plain_reason.sql",
        ]
        let app = "INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (\(sdkAppID), '', '{a}')"
        try server.psql(files.map { "\\i '\(folder)\($0)'\n" }.joined() + app, database: url)
        return url
    }

    /// DELETE, not TRUNCATE: the tables are nearly empty and have many partitions.
    private static let emptying = """
        DELETE FROM certificate; DELETE FROM account; DELETE FROM device; DELETE FROM live_activity;
        DELETE FROM start_token; DELETE FROM activity_start; DELETE FROM start_guard;
        DELETE FROM pending; DELETE FROM delivery; DELETE FROM message; DELETE FROM instance;
        DELETE FROM recent_request; DELETE FROM scheduled_message; DELETE FROM fan_out; DELETE FROM segment;
        DELETE FROM application_code; DELETE FROM api_token; DELETE FROM registration_transfer;
        DELETE FROM alarm; DELETE FROM provider_token; DELETE FROM content_schema;
        """

    // MARK: - SQL

    @discardableResult
    func sql(_ text: String) throws -> String {
        try server.psql(text, database: url)
    }

    /// Registers an activity; `columns` are further assignments, such as `started_at = now() - interval '9 hours'`.
    func registerActivity(
        _ laID: String = "order-7",
        of account: String = "alice",
        on installation: String = "phone-1",
        token: UInt8 = 1,
        columns: String = "sequence = NULL",
    ) throws {
        let key = "sdk_app_id = \(StoreDatabase.sdkAppID) AND account = '\(account)' AND la_id = '\(laID)'"
        try sql(
            """
            INSERT INTO live_activity (sdk_app_id, account, la_id, installation, token, business_id, started_at)
            VALUES (\(StoreDatabase.sdkAppID), '\(account)', '\(laID)', '\(installation)', \(Self.bytes(token)), 1, now());
            UPDATE live_activity SET \(columns) WHERE \(key) AND installation = '\(installation)'
            """
        )
    }

    func registerDevice(
        of account: String = "alice",
        on installation: String = "phone-1",
        token: UInt8 = 101,
        columns: String = "sequence = NULL",
    ) throws {
        try sql(
            """
            INSERT INTO device (sdk_app_id, account, installation, token, business_id)
            VALUES (\(StoreDatabase.sdkAppID), '\(account)', '\(installation)', \(Self.bytes(token)), 1);
            UPDATE device SET \(columns) WHERE installation = '\(installation)'
            """
        )
    }

    private static func bytes(_ number: UInt8) -> String {
        "decode(repeat('\(String(number, radix: 16).leftPadded(to: 2))', 80), 'hex')"
    }

    // MARK: - Calls

    /// Accepts messages, one for each order.
    func accept(
        _ orders: [PushOrder] = [Fixture.order()],
        owner: Int64? = nil,
    ) async throws -> [AcceptedMessage] {
        try await store.accept(
            orders.map { DeliveryStore.NewMessage(PlannedOrder(order: $0, digest: nil, sendAt: nil)) },
            owner: owner,
        ).map(\.message)
    }

    /// Claims the activity `order-7` of alice, unless said otherwise without a pause after another message.
    func claim(
        _ messageID: Int64,
        acceptedAt: UnixTime = Fixture.accepted,
        isEnd: Bool = false,
        hasAlert: Bool = false,
        account: String = "alice",
        state: Int64? = nil,
        priority: ActivityPriority = .end,
        pacing: ActivityPacing = ActivityPacing(interval: .zero),
        at now: UnixTime = Fixture.accepted,
    ) async throws -> [ClaimedActivity] {
        let claim = DeliveryStore.Claim(
            sdkAppID: StoreDatabase.sdkAppID,
            account: account,
            laID: "order-7",
            messageID: messageID,
            acceptedAt: acceptedAt,
            isEnd: isEnd,
            hasAlert: hasAlert,
            stateDigest: state,
            spendsBudget: priority.spendsBudget,
            followsBudget: priority == .budget,
        )
        return try await store.claim([claim], pacing: pacing, at: now).flatMap { $0 }
    }

    /// The time by PostgreSQL's clock, moved by seconds.
    func time(plus seconds: Int64 = 0) throws -> UnixTime {
        let text = try sql("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        guard let microseconds = Int64(text) else { throw TestFailure("no time") }
        return UnixTime(microseconds: microseconds) + .seconds(seconds)
    }
}

extension String {
    fileprivate func leftPadded(to count: Int) -> String {
        String(repeating: "0", count: max(0, count - self.count)) + self
    }
}

// MARK: - Settlements

extension StoreDatabase {
    /// An entry for one recipient of a message.
    static func entry(
        _ receipt: AcceptedMessage,
        _ next: Settlement.Next,
        _ corrections: [RegistrationCorrection] = [],
        account: String = "alice",
        event: ActivityEvent = .update,
    ) -> DeliveryStore.Entry {
        DeliveryStore.Entry(
            receipt: receipt,
            sdkAppID: sdkAppID,
            account: account,
            laID: "order-7",
            event: event,
            deadline: receipt.acceptedAt + .seconds(Fixture.lifetime),
            hasRow: false,
            settlement: Settlement(next: next, corrections: corrections),
        )
    }

    /// Settles as the owner 5, with locks as for messages whose recipients have rows of their own.
    ///
    /// - Parameter completes: nothing is left of the messages in this process.
    func settle(
        _ entries: [DeliveryStore.Entry],
        completes: Bool = true,
        owner: Int64 = 5,
        mayBeRepeated: Bool = false,
        isShared: Bool = true,
    ) async throws {
        let rows = try sql("SELECT message_id || ' ' || account FROM pending WHERE account IS NOT NULL")
            .split(separator: "\n").map(String.init)
        let messages = Array(Set(entries.map(\.receipt.id)))
        try await store.settle(
            entries.map { entry in
                DeliveryStore.Entry(
                    receipt: entry.receipt,
                    sdkAppID: entry.sdkAppID,
                    account: entry.account,
                    laID: entry.laID,
                    event: entry.event,
                    deadline: entry.deadline,
                    hasRow: rows.contains("\(entry.receipt.id) \(entry.account)"),
                    settlement: entry.settlement,
                    sent: entry.sent,
                )
            },
            completed: completes ? messages : [],
            shared: isShared ? messages : [],
            owner: owner,
            mayBeRepeated: mayBeRepeated,
        )
    }

    /// What is left in the queue: message, account, owner, whether it waits for its recipients.
    func queue() throws -> [String] {
        try sql(
            """
            SELECT coalesce(account, 'whole message') || ' of ' || coalesce(instance_id::text, 'nobody')
                || CASE WHEN due = 'infinity' THEN ', waits' ELSE '' END
                || CASE WHEN content IS NULL THEN '' ELSE ', content' END
            FROM pending ORDER BY message_id, account NULLS FIRST
            """
        ).split(separator: "\n").map(String.init)
    }

    func deliveries() throws -> [String] {
        try sql("SELECT account || ': ' || outcome FROM delivery ORDER BY message_id, account, outcome")
            .split(separator: "\n").map(String.init)
    }
}

extension Settlement.Next {
    /// One target that APNs accepted.
    static func accepted(_ installation: String = "phone-1") throws -> Settlement.Next {
        var target = DeliveryTarget(
            kind: .activity,
            installation: installation,
            tokenFingerprint: try Fixture.token(1).fingerprint,
            state: .settled(.acceptedByAPNs),
            reason: "activity_registered",
        )
        target.sentAt = Fixture.accepted
        let record = DeliveryRecord(
            route: .liveActivity,
            routeReason: "activity_registered",
            isFallback: false,
            outcome: .acceptedByAPNs,
            target: target,
        )
        return .finished([record])
    }

    static func waiting(at time: UnixTime, attempts: Int = 1) throws -> Settlement.Next {
        .waiting(until: time, reason: "InternalServerError", progress: try progress(.activity, attempts: attempts))
    }

    static func fallingBack() throws -> Settlement.Next {
        .fallingBack(progress: try progress(.recheck, attempts: 1))
    }

    private static func progress(_ stage: RecipientProgress.Stage, attempts: Int) throws -> RecipientProgress {
        var target = DeliveryTarget(
            kind: .activity,
            installation: "phone-1",
            tokenFingerprint: try Fixture.token(1).fingerprint,
            state: .settled(.tokenDead),
            reason: "activity_registered",
        )
        target.attempts = attempts
        return RecipientProgress(stage: stage, notificationReason: "activity_push_refused", targets: [target])
    }
}

extension ActivityPacing {
    /// So long that what the clock of PostgreSQL does during a test is nothing beside it.
    static let slow = ActivityPacing(interval: .seconds(60))
}
