import LiveActivity
import Testing

@testable import Gateway

@Suite("The order of starts and later messages", .timeLimit(.minutes(1)))
struct StartOrderTests {
    /// What a message after the start asks.
    private static func asked(_ account: String?, _ message: String = "101") -> String {
        let account = account.map { "'\($0)'" } ?? "NULL"
        return """
            SELECT string_agg(message_id || CASE WHEN is_given_up THEN ' given up' ELSE '' END, ',')
            FROM undecided_start(\(StoreDatabase.sdkAppID), 'order-7', \(message), \(account), interval '10 minutes')
            """
    }

    private static func pending(_ columns: String, _ values: String) -> String {
        """
        INSERT INTO pending (message_id, accepted_at, sdk_app_id, deadline, \(columns))
        VALUES (100, now(), \(StoreDatabase.sdkAppID), now() + interval '1 day', \(values))
        """
    }

    private static let whole = pending("due, content, starts", "now(), '', 'order-7'") + ";"

    @Test(
        "a start is undecided for an account until there is a row of what became of it there",
        arguments: [
            ("", "100", "100"),
            ("UPDATE pending SET starts = 'order-8'", "", ""),
            ("UPDATE pending SET message_id = 102", "", ""),
            ("UPDATE pending SET sdk_app_id = 1", "", ""),
            ("DELETE FROM pending", "", ""),
            ("UPDATE pending SET accepted_at = now() - interval '11 minutes'", "100 given up", "100 given up"),
            (
                """
                UPDATE pending SET accepted_at = now() - interval '1 hour';
                INSERT INTO fan_out (message_id, accepted_at, sdk_app_id, audience, replaces_older, advanced_at)
                VALUES (100, now(), \(StoreDatabase.sdkAppID), 'everyone', false, now())
                """, "100", "100"
            ),
            ("UPDATE pending SET progress = '{\"account\":\"al\"}'", "100", "100"),
            ("UPDATE pending SET progress = '{\"account\":\"alice\"}'", "", "100"),
            ("UPDATE pending SET due = 'infinity'", "", ""),
            (pending("account, due, reason", "'alice', now(), 'ServiceUnavailable'"), "", "100"),
            (pending("account, due, reason", "'bob', now(), 'ServiceUnavailable'"), "100", "100"),
            (pending("account, due, reason", "'alice', now(), 'database_refused'"), "100", "100"),
            (
                "UPDATE pending SET due = 'infinity';"
                    + pending("account, due, reason", "'alice', now(), 'database_refused'"), "100", ""
            ),
            (
                """
                INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, route, route_reason, fallback, outcome,
                    attempts)
                SELECT 100, accepted_at, sdk_app_id, 'alice', 'none', 'no_device', false, 'nothing_to_send', 0 FROM pending
                """, "", "100"
            ),
            (
                """
                INSERT INTO activity_start (sdk_app_id, account, la_id, installation, message_id, token_fingerprint,
                    last_timestamp, expires_at, waits_until)
                VALUES (\(StoreDatabase.sdkAppID), 'alice', 'order-7', 'phone-1', 100, '', 0, now(), now())
                """, "", "100"
            ),
            (
                """
                INSERT INTO activity_start (sdk_app_id, account, la_id, installation, message_id, token_fingerprint,
                    last_timestamp, expires_at, waits_until)
                VALUES (\(StoreDatabase.sdkAppID), 'alice', 'order-7', 'phone-1', 99, '', 0, now(), now())
                """, "100", "100"
            ),
        ]
    )
    func undecided(change: String, forAlice: String, forAll: String) async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(Self.whole + change)
            #expect(try database.sql(Self.asked("alice")) == forAlice)
            #expect(try database.sql(Self.asked(nil)) == forAll)
        }
    }

    @Test("of an undecided start and one that gets no further, the former counts")
    func several() async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(Self.whole)
            try database.sql(
                """
                UPDATE pending SET accepted_at = now() - interval '1 hour', message_id = 90;
                \(Self.pending("due, content, starts", "now(), '', 'order-7'"))
                """
            )
            #expect(try database.sql(Self.asked("alice")) == "100")
            #expect(try database.sql(Self.asked("alice", "100")) == "90 given up")
        }
    }

    @Test("accept and schedule note starts, and nothing else")
    func accepted() async throws {
        try await StoreDatabase.run { _, database in
            var start = Fixture.content()
            start.event = .start
            let contents = [start, Fixture.content(), Fixture.content(.end)]
            let orders = contents.map { content in
                Fixture.order(ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .immediate))
            }
            _ = try await database.accept(orders)
            let starts = "SELECT coalesce(starts, '-') FROM pending ORDER BY message_id"
            #expect(try database.sql(starts) == "order-7\n-\n-")
            try database.sql(
                """
                DELETE FROM pending;
                INSERT INTO scheduled_message (id, accepted_at, send_at, lifetime, sdk_app_id, dialect, endpoint, msg_key,
                    sender, la_id, event, recipients, content)
                SELECT number, now(), now(), 60, \(StoreDatabase.sdkAppID), 'tencent', '', '', '', 'order-7',
                    CASE number WHEN 1 THEN 'start' ELSE 'update' END, '{alice}', ''
                FROM generate_series(1, 2) AS number;
                SELECT release_scheduled(10)
                """
            )
            #expect(try database.sql(starts) == "order-7\n-")
        }
    }

    @Test("a message asks for an older start before it waits for update tokens; one with registrations too")
    func question() async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(Self.whole)
            func verdicts() async throws -> [String] {
                let question = DeliveryStore.StartQuestion(
                    sdkAppID: StoreDatabase.sdkAppID,
                    account: "alice",
                    laID: "order-7",
                    messageID: 101,
                    isEnd: false,
                    deadline: try database.time(plus: 60),
                    mayHaveBeenSent: false,
                    excepted: [],
                )
                return try await database.store.starts([question], rules: .standard)[0].map(\.verdict.rawValue)
            }
            #expect(try await verdicts() == ["undecided"])
            try database.sql(
                """
                INSERT INTO activity_start (sdk_app_id, account, la_id, installation, message_id, token_fingerprint,
                    last_timestamp, sent_at, expires_at, waits_until)
                VALUES (\(StoreDatabase.sdkAppID), 'alice', 'order-7', 'phone-1', 90, '', 0, now(), now(),
                    now() + interval '1 minute')
                """
            )
            #expect(try await verdicts() == ["undecided"])
            #expect(try database.sql("SELECT waiting_message IS NULL FROM activity_start") == "t")
            try database.sql("UPDATE pending SET accepted_at = now() - interval '11 minutes'")
            #expect(try await verdicts() == ["given_up", "under_way"])
            try database.sql("UPDATE activity_start SET message_id = 100")
            #expect(try await verdicts() == ["under_way"])
            #expect(try database.sql("SELECT waiting_message FROM activity_start") == "101")
        }
    }
}
