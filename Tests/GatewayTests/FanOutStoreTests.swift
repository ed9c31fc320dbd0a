import LiveActivity
import Testing

@testable import Gateway

@Suite("The database's part of messages to audiences", .serialized, .timeLimit(.minutes(5)))
struct FanOutStoreTests {
    private static func order(to audience: Audience, event: ActivityEvent = .update) -> PushOrder {
        var order = Fixture.order(
            ActivityInstruction(laID: "order-7", content: Fixture.content(event), defaultDismissal: .system),
            notification: NotificationContent(),
            recipients: [],
        )
        order.audience = audience
        return order
    }

    /// All of an audience, chunk by chunk.
    private static func chunks(
        _ database: StoreDatabase,
        _ order: PushOrder,
        limit: Int64 = 2,
    ) async throws -> [[FanOutStore.Chunk.Recipient]] {
        let store = FanOutStore(pool: database.pool)
        let receipt = AcceptedMessage(id: 1, acceptedAt: try database.time())
        var chunks: [[FanOutStore.Chunk.Recipient]] = []
        var next: String? = ""
        while let account = next {
            let chunk = try await store.chunk(of: order, receipt, after: account, limit: limit)
            chunks.append(chunk.recipients)
            next = chunk.next
        }
        return chunks
    }

    private static func accounts(_ database: StoreDatabase, _ order: PushOrder) async throws -> [String] {
        try await chunks(database, order).flatMap { $0.map(\.account) }
    }

    // MARK: - Audiences

    @Test("an activity's audience is everybody on whose phones it runs or comes up, each account once")
    func activity() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(of: "a", on: "phone-1", token: 1)
            try database.registerActivity(of: "a", on: "phone-2", token: 2)
            try database.registerActivity("other", of: "b", on: "phone-3", token: 3)
            let over = "started_at = now() - interval '9 hours'"
            try database.registerActivity(of: "c", on: "phone-4", token: 4, columns: over)
            let ended = "end_message = 1, ended_at = now() - interval '2 minutes'"
            try database.registerActivity(of: "d", on: "phone-5", token: 5, columns: ended)
            let lately = "end_message = 1, ended_at = now() - interval '10 seconds'"
            try database.registerActivity(of: "e", on: "phone-6", token: 6, columns: lately)
            try database.sql(
                """
                INSERT INTO activity_start (sdk_app_id, account, la_id, installation, message_id, token_fingerprint,
                    last_timestamp, expires_at, waits_until, registered_at)
                SELECT \(StoreDatabase.sdkAppID), account, 'order-7', 'phone', 1, 'x', 1, now(),
                    now() + wait * interval '1 minute', CASE WHEN is_up THEN now() END
                FROM (VALUES ('f', 1, false), ('g', -1, false), ('h', 1, true)) AS row (account, wait, is_up)
                """
            )
            #expect(try await Self.accounts(database, Self.order(to: .activity("order-7"))) == ["a", "e", "f"])
            let ending = Self.order(to: .activity("order-7"), event: .end)
            #expect(try await Self.accounts(database, ending) == ["a", "c", "e", "f"])
        }
    }

    @Test("everyone is every account that is imported or has registered anything")
    func everyone() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(of: "b", on: "phone-1", token: 1)
            try database.registerDevice(of: "b", on: "phone-2", token: 2)
            try database.registerActivity(of: "c", on: "phone-3", token: 3)
            try database.sql(
                """
                INSERT INTO account (sdk_app_id, account) SELECT \(StoreDatabase.sdkAppID), unnest('{a,b,\u{7528}}'::text[]);
                INSERT INTO start_token (sdk_app_id, account, attributes_type, installation, token, business_id)
                VALUES (\(StoreDatabase.sdkAppID), 'd', 'Order', 'phone-4', '\\x01', 1)
                """
            )
            #expect(try await Self.accounts(database, Self.order(to: .everyone)) == ["a", "b", "c", "d", "\u{7528}"])
        }
    }

    @Test("device tokens are those phones only; tokens that nobody has are written down")
    func devices() async throws {
        try await StoreDatabase.run { _, database in
            for (number, account) in ["a", "a", "b", "b"].enumerated() {
                try database.registerDevice(of: account, on: "phone-\(number)", token: UInt8(number + 1))
            }
            let order = Self.order(to: .devices(try [9, 1, 3, 4].map { try Fixture.token($0) }))
            let chunks = try await Self.chunks(database, order, limit: 1)
            #expect(
                chunks == [
                    [FanOutStore.Chunk.Recipient(account: "a", installations: ["phone-0"])],
                    [FanOutStore.Chunk.Recipient(account: "b", installations: ["phone-2", "phone-3"])], [],
                ]
            )
            let receipt = try await database.accept([order], owner: 5)[0]
            try await FanOutStore(pool: database.pool).begin(receipt, order, owner: 5)
            let unknown = try Fixture.token(9).fingerprint
            #expect(try database.sql("SELECT devices, unknown_devices FROM fan_outs") == "4|{\(unknown)}")
        }
    }

    @Test(
        "segments: all of some, any of others, accounts as a whole and single phones",
        arguments: [
            (["vip"], [], "a b:phone-1 d"), (["vip", "london"], [], "a b:phone-1"),
            ([], ["vip", "paris"], "a b:phone-1 c d"),
            (["vip"], ["london", "paris"], "a b:phone-1 d:phone-2"), (["nobody"], [], ""),
            (["vip", "vip"], ["vip"], "a b:phone-1 d"),
            ([], ["split-1", "split-2"], "e:phone-1,phone-2"), (["split-1", "split-2"], [], ""),
        ] as [([String], [String], String)],
    )
    func segments(all: [String], any: [String], expected: String) async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(
                """
                INSERT INTO segment (sdk_app_id, name, account, installation)
                SELECT \(StoreDatabase.sdkAppID), * FROM (VALUES
                    ('vip', 'a', NULL), ('vip', 'b', 'phone-1'), ('vip', 'd', NULL),
                    ('london', 'a', NULL), ('london', 'b', NULL), ('london', 'c', NULL),
                    ('paris', 'c', NULL), ('paris', 'd', 'phone-2'),
                    ('split-1', 'e', 'phone-1'), ('split-2', 'e', 'phone-2')) AS row (name, account, installation)
                """
            )
            for limit in [1, 2, 100] as [Int64] {
                let order = Self.order(to: .segments(all: all, any: any))
                let found = try await Self.chunks(database, order, limit: limit).flatMap { $0 }
                let words = found.map { $0.account + ($0.installations.map { ":" + $0.joined(separator: ",") } ?? "") }
                #expect(words.joined(separator: " ") == expected, "\(limit)")
            }
        }
    }

    // MARK: - Progress

    @Test("of a chunk that was worked on before, only those that have no rows are left")
    func settled() async throws {
        try await StoreDatabase.run { _, database in
            let order = Self.order(to: .everyone)
            let receipts = try await database.accept([order, order], owner: 5)
            try await database.settle(
                [
                    StoreDatabase.entry(receipts[0], try .accepted(), account: "a"),
                    StoreDatabase.entry(receipts[0], try .waiting(at: Fixture.accepted), account: "b"),
                    StoreDatabase.entry(receipts[1], try .accepted(), account: "c"),
                ],
                completes: false,
                isShared: false,
            )
            let store = FanOutStore(pool: database.pool)
            let settled = try await store.settled(["a", "b", "c", "d"], of: receipts[0], in: StoreDatabase.sdkAppID)
            #expect(settled == AccountSet(["a", "b"]))
            #expect(try database.queue().count == 3)
        }
    }

    @Test("the cursor moves and takeovers are forgotten, but only for whoever owns the message")
    func advance() async throws {
        try await StoreDatabase.run { _, database in
            let order = Self.order(to: .everyone)
            let receipt = try await database.accept([order], owner: 5)[0]
            let store = FanOutStore(pool: database.pool)
            try await store.begin(receipt, order, owner: 6)
            #expect(try database.sql("SELECT count(*) FROM fan_out") == "0")
            try await store.begin(receipt, order, owner: 5)
            try await store.begin(receipt, order, owner: 5)
            try database.sql("UPDATE pending SET takeovers = 2, lone_takeovers = 1")
            let cursor = FanOutCursor(account: "m", listed: 500)
            #expect(try await !store.advance(receipt, to: cursor, owner: 6))
            #expect(try database.sql("SELECT takeovers, progress IS NULL FROM pending") == "2|t")
            #expect(try await store.advance(receipt, to: cursor, owner: 5))
            #expect(try database.sql("SELECT takeovers, lone_takeovers FROM pending") == "0|0")
            #expect(try database.sql("SELECT listed, state FROM fan_outs") == "500|under way")
            #expect(try database.sql("SELECT recipients FROM message") == "500")
            try database.sql("UPDATE pending SET instance_id = NULL")
            let work = try await database.store.takeDue(owner: 7, limit: 1)
            #expect(work[0].progress.flatMap(FanOutCursor.init(decoding:)) == cursor)
        }
    }

    @Test("at the end the row goes, or waits for recipients with rows of their own; only its owner ends it")
    func finish() async throws {
        try await StoreDatabase.run { _, database in
            let order = Self.order(to: .everyone)
            let receipts = try await database.accept([order, order], owner: 5)
            let store = FanOutStore(pool: database.pool)
            for receipt in receipts {
                try await store.begin(receipt, order, owner: 5)
            }
            try await store.finish(receipts[0], as: .listed, listed: 9, owner: 6)
            #expect(try database.sql("SELECT count(*) FROM fan_out WHERE outcome IS NOT NULL") == "0")
            try await database.settle(
                [StoreDatabase.entry(receipts[1], try .waiting(at: Fixture.accepted), account: "b")],
                completes: false,
                isShared: false,
            )
            try await store.finish(receipts[0], as: .listed, listed: 0, owner: 5)
            try await store.finish(receipts[1], as: .superseded(by: receipts[0].id), listed: 1, owner: 5)
            try await store.finish(receipts[1], as: .listed, listed: 7, owner: 5)
            #expect(try database.queue() == ["whole message of nobody, waits, content", "b of nobody"])
            #expect(
                try database.sql("SELECT state, listed, ended_by FROM fan_outs ORDER BY message_id")
                    == "listed|0|\nsuperseded|1|1_2_3"
            )
            #expect(try database.sql("SELECT recipients FROM message ORDER BY id") == "0\n1")
        }
    }

    @Test("a newer message counts once it is begun, of the same activity and app, and only an update or an end")
    func newer() async throws {
        try await StoreDatabase.run { _, database in
            let orders = [
                Self.order(to: .activity("order-7")), Self.order(to: .activity("order-7"), event: .end),
                Self.order(to: .everyone), Self.order(to: .activity("order-8")),
            ]
            let receipts = try await database.accept(orders, owner: 5)
            let store = FanOutStore(pool: database.pool)
            func newer(to activity: String? = "order-7", of app: Int64 = StoreDatabase.sdkAppID) async throws -> Int64?
            {
                try await store.standing(of: receipts[0].id, to: activity, after: nil, patience: .zero, in: app).newer
            }
            for (receipt, order) in zip(receipts, orders).dropFirst(2) {
                try await store.begin(receipt, order, owner: 5)
            }
            try await store.begin(receipts[0], orders[0], owner: 5)
            #expect(try await newer() == nil)
            try await store.begin(receipts[1], orders[1], owner: 5)
            #expect(try await newer() == receipts[1].id)
            #expect(try await newer(of: 1) == nil)
            #expect(try await newer(to: nil) == nil)
            try database.sql(
                """
                INSERT INTO revocation (message_id, accepted_at, sdk_app_id, revoked_by)
                VALUES (\(receipts[1].id), now(), \(StoreDatabase.sdkAppID), 'a')
                """
            )
            for (number, receipt) in receipts.enumerated() {
                let standing = try await store.standing(
                    of: receipt.id,
                    to: nil,
                    after: nil,
                    patience: .zero,
                    in: StoreDatabase.sdkAppID,
                )
                #expect(standing.isRevoked == (number == 1))
            }
            try database.sql("DELETE FROM revocation")
        }
    }

    // MARK: - Single phones

    @Test("a claim for one phone leaves the account's others as they are, beside claims for all")
    func limitedClaim() async throws {
        try await StoreDatabase.run { _, database in
            for (number, account) in ["a", "a", "b", "b"].enumerated() {
                try database.registerActivity(of: account, on: "phone-\(number)", token: UInt8(number + 1))
            }
            let claims = [("a", ["phone-1", "elsewhere"]), ("b", nil)].map { account, installations in
                DeliveryStore.Claim(
                    sdkAppID: StoreDatabase.sdkAppID,
                    account: account,
                    laID: "order-7",
                    messageID: 42,
                    acceptedAt: Fixture.accepted,
                    isEnd: false,
                    installations: installations,
                )
            }
            let found = try await database.store.claim(
                claims,
                pacing: ActivityPacing(interval: .zero),
                at: Fixture.accepted,
            )
            #expect(found.map { $0.map(\.installation).sorted() } == [["phone-1"], ["phone-2", "phone-3"]])
            let claimed = "SELECT installation FROM live_activity WHERE last_message = 42 ORDER BY installation"
            #expect(try database.sql(claimed) == "phone-1\nphone-2\nphone-3")
        }
    }
}
