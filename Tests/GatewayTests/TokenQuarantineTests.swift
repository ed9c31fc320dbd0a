import LiveActivity
import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("Days on which APNs did not know a token", .serialized, .timeLimit(.minutes(5)))
struct TokenQuarantineTests {
    private static let kinds = [DeliveryTarget.Kind.device, .activity, .start]

    private static func table(_ kind: DeliveryTarget.Kind) -> String {
        switch kind {
        case .device: "device"
        case .activity: "live_activity"
        case .start: "start_token"
        }
    }

    /// The token of phone-1.
    private static func token(_ kind: DeliveryTarget.Kind) -> UInt8 {
        switch kind {
        case .device: 101
        case .activity: 1
        case .start: 201
        }
    }

    private static func correct(
        _ database: StoreDatabase,
        _ kind: DeliveryTarget.Kind,
        _ changes: RegistrationCorrection.Change...,
    ) async throws {
        let receipt = try #require(try await database.accept(owner: 5).first)
        let corrections = try changes.map { change in
            RegistrationCorrection(
                kind: kind,
                installation: "phone-1",
                token: try Fixture.token(Self.token(kind)),
                change: change,
            )
        }
        try await database.settle([StoreDatabase.entry(receipt, .accepted(), corrections)])
    }

    /// Another day on which the token failed.
    private static func fail(_ database: StoreDatabase, _ kind: DeliveryTarget.Kind) async throws {
        try database.sql("UPDATE \(table(kind)) SET last_bad_day = last_bad_day - 1 WHERE installation = 'phone-1'")
        try await correct(database, kind, .badDay(registeredUntil: try database.time()))
    }

    private static func state(_ database: StoreDatabase, _ kind: DeliveryTarget.Kind) throws -> String {
        try database.sql(
            """
            SELECT bad_days, last_bad_day = (now() AT TIME ZONE 'UTC')::date, quarantined_at IS NOT NULL
            FROM \(table(kind)) WHERE installation = 'phone-1'
            """
        )
    }

    /// Registers phone-1 and another, whose rows no test here may change.
    private static func register(_ database: StoreDatabase) throws {
        try database.registerDevice()
        try database.registerActivity()
        try database.registerDevice(on: "phone-2", token: 102)
        try database.registerActivity(on: "phone-2", token: 2)
        try put(database, .start, token: token(.start))
    }

    /// A PUT of phone-1, as the gateway passes it on.
    private static func put(_ database: StoreDatabase, _ kind: DeliveryTarget.Kind, token: UInt8) throws {
        let bytes = "decode(repeat(lpad('\(String(token, radix: 16))', 2, '0'), 80), 'hex')"
        let app = StoreDatabase.sdkAppID
        switch kind {
        case .device:
            try database.sql(
                """
                SELECT register_device(\(app), 'alice', 'phone-1', \(bytes), 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
                """
            )
        case .activity:
            try database.sql(
                """
                SELECT register_activity(\(app), 'alice', 'order-7', 'phone-1', \(bytes), 1, NULL, NULL, NULL, NULL, NULL,
                    NULL)
                """
            )
        case .start:
            try database.sql(
                """
                SELECT register_start_token(\(app), 'alice', 'Order', 'phone-1', \(bytes), 1, NULL, NULL, NULL, NULL)
                """
            )
        }
    }

    @Test("C44: a day counts once, and the third quarantines the token and no other", arguments: kinds)
    func thirdDay(kind: DeliveryTarget.Kind) async throws {
        try await StoreDatabase.run { _, database in
            try Self.register(database)
            for _ in 0..<5 {
                try await Self.correct(database, kind, .badDay(registeredUntil: try database.time()))
            }
            #expect(try Self.state(database, kind) == "1|t|f")
            try await Self.fail(database, kind)
            #expect(try Self.state(database, kind) == "2|t|f")
            try await Self.fail(database, kind)
            #expect(try Self.state(database, kind) == "3|t|t")
            #expect(
                try database.sql(
                    """
                    SELECT bad_days FROM device WHERE installation = 'phone-2'
                    UNION ALL SELECT bad_days FROM live_activity WHERE installation = 'phone-2'
                    """
                ) == "0\n0"
            )
            #expect(
                try database.sql("SELECT kind FROM registrations WHERE state = 'quarantined'") == "\(kind)"
            )
        }
    }

    @Test("C44: quarantine stays as it began, whatever pushes still come back", arguments: kinds)
    func staysQuarantined(kind: DeliveryTarget.Kind) async throws {
        try await StoreDatabase.run { _, database in
            try Self.register(database)
            let columns = "bad_days = 3, last_bad_day = now()::date - 2, quarantined_at = now() - interval '2 days'"
            try database.sql("UPDATE \(Self.table(kind)) SET \(columns)")
            try await Self.correct(database, kind, .badDay(registeredUntil: try database.time()))
            let sinceBefore = "quarantined_at < now() - interval '1 day'"
            #expect(
                try database.sql("SELECT \(sinceBefore) FROM \(Self.table(kind)) WHERE installation = 'phone-1'") == "t"
            )
        }
    }

    @Test("a push from before the registration is no day against it", arguments: kinds)
    func registeredSince(kind: DeliveryTarget.Kind) async throws {
        try await StoreDatabase.run { _, database in
            try Self.register(database)
            try await Self.correct(database, kind, .badDay(registeredUntil: try database.time(plus: -60)))
            #expect(try Self.state(database, kind) == "0||f")
        }
    }

    @Test("C44: an accepted push forgets the days, also one of the same batch", arguments: kinds)
    func accepted(kind: DeliveryTarget.Kind) async throws {
        try await StoreDatabase.run { _, database in
            try Self.register(database)
            for _ in 0..<3 { try await Self.fail(database, kind) }
            #expect(try Self.state(database, kind) == "3|t|t")
            try await Self.correct(database, kind, .forgetBadDays)
            #expect(try Self.state(database, kind) == "0||f")
            try await Self.fail(database, kind)
            try await Self.correct(database, kind, .forgetBadDays, .badDay(registeredUntil: try database.time()))
            #expect(try Self.state(database, kind) == "0||f")
        }
    }

    @Test(
        "C44: the same token registered again is tried again, and quarantined by the next failure",
        arguments: kinds
    )
    func sameTokenAgain(kind: DeliveryTarget.Kind) async throws {
        try await StoreDatabase.run { _, database in
            try Self.register(database)
            for _ in 0..<3 { try await Self.fail(database, kind) }
            try Self.put(database, kind, token: Self.token(kind))
            #expect(try Self.state(database, kind) == "3|t|f")
            try await Self.correct(database, kind, .badDay(registeredUntil: try database.time()))
            #expect(try Self.state(database, kind) == "3|t|t")
        }
    }

    @Test("C44: a new token begins without bad days", arguments: kinds)
    func newToken(kind: DeliveryTarget.Kind) async throws {
        try await StoreDatabase.run { _, database in
            try Self.register(database)
            for _ in 0..<3 { try await Self.fail(database, kind) }
            try Self.put(database, kind, token: Self.token(kind) + 10)
            #expect(try Self.state(database, kind) == "0||f")
        }
    }

    @Test("C44: the claim and the look-up of devices tell what is quarantined, and what has bad days")
    func found() async throws {
        try await StoreDatabase.run { _, database in
            try Self.register(database)
            try database.sql("UPDATE device SET bad_days = 2 WHERE installation = 'phone-2'")
            try database.sql("UPDATE live_activity SET bad_days = 2 WHERE installation = 'phone-2'")
            for kind in Self.kinds {
                for _ in 0..<3 { try await Self.fail(database, kind) }
            }
            let activities = try await database.claim(12).sorted { $0.installation < $1.installation }
            #expect(activities.map(\.verdict) == [.quarantined, .claimed])
            #expect(activities.map(\.hasBadDays) == [false, true])
            #expect(
                try database.sql("SELECT last_message FROM live_activity ORDER BY installation") == "0\n12"
            )
            let accounts = [(sdkAppID: StoreDatabase.sdkAppID, account: "alice")]
            let devices = try await database.store.devices(of: accounts)[0].sorted { $0.installation < $1.installation }
            #expect(devices.map(\.isQuarantined) == [true, false])
            #expect(devices.map(\.hasBadDays) == [true, true])
        }
    }

    @Test("a badge is not counted in a quarantined device, which gets no notification")
    func badge() async throws {
        try await StoreDatabase.run { _, database in
            try Self.register(database)
            for _ in 0..<3 { try await Self.fail(database, .device) }
            let count = DeliveryStore.BadgeCount(
                sdkAppID: StoreDatabase.sdkAppID,
                account: "alice",
                messageID: 12,
                change: .add(1),
            )
            let found = try await database.store.countedDevices([count], at: try database.time())[0]
                .sorted { $0.installation < $1.installation }
            #expect(found.map(\.isQuarantined) == [true, false])
            #expect(found.map(\.badge) == [0, 1])
        }
    }

    @Test("no index holds a column that failures change")
    func noIndex() async throws {
        try await StoreDatabase.run { _, database in
            let indexed = """
                SELECT count(*) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
                WHERE attname IN ('bad_days', 'last_bad_day', 'quarantined_at')
                """
            let count = try database.sql(indexed)
            #expect(count == "0")
        }
    }
}
