import LiveActivity
import TestSupport
import Testing

@testable import Gateway

@Suite("What an operator sees of waiting work, keys and faults", .serialized, .timeLimit(.minutes(5)))
struct OperatorViewTests {
    private static let app = StoreDatabase.sdkAppID

    private static func certificate(_ businessID: Int = 1) -> String {
        """
        INSERT INTO certificate (sdk_app_id, business_id, bundle_id, team_id, key_id, private_key_sealed, environment,
            updated_at)
        VALUES (\(app), \(businessID), 'com.example.app', 'TEAM567890', 'KEY4567890', '', 'both', now() - interval '1 day');
        """
    }

    /// `count` deliveries that are done since `ago`.
    private static func deliveries(
        _ outcome: String,
        _ count: Int = 1,
        ago: String = "1 minute",
        businessID: Int = 1,
        reason: String? = nil,
    ) -> String {
        """
        INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, route, route_reason, fallback, outcome,
            apns_reason, attempts, business_id, finished_at)
        SELECT number, greatest(now() - interval '\(ago)', date_trunc('day', now() AT TIME ZONE 'UTC')::timestamp
            AT TIME ZONE 'UTC' - interval '1 day'), \(app), 'alice', 'notification', 'x', false, '\(outcome)',
            \(reason.map { "'\($0)'" } ?? "NULL"), 1, \(businessID), now() - interval '\(ago)'
        FROM generate_series(1, \(count)) AS number;
        """
    }

    /// A row that waits, of the message 1.
    private static func waiting(
        _ account: String = "bob",
        reason: String = "InternalServerError",
        due: String = "1 minute",
        accepted: String = "-1 minute",
    ) -> String {
        """
        INSERT INTO pending (message_id, account, accepted_at, sdk_app_id, due, deadline, reason)
        VALUES (1, '\(account)', now() + interval '\(accepted)', \(app), now() + interval '\(due)',
            now() + interval '1 day', '\(reason)');
        """
    }

    private static func alarm(_ kind: String, columns: String = "count = 2") -> String {
        """
        INSERT INTO alarm (kind, sdk_app_id, subject, business_id, environment, detail)
        VALUES ('\(kind)', \(app), 'x', 1, 'sandbox', 'so it is');
        UPDATE alarm SET \(columns) WHERE kind = '\(kind)';
        """
    }

    private static let heartbeat = "INSERT INTO instance (host) VALUES ('host-1');"

    // MARK: - undelivered

    @Test("undelivered shows each recipient of a message that is under way for the first time, until it is decided")
    func recipientsUnderWay() async throws {
        try await StoreDatabase.run { _, database in
            let instance = try database.sql("INSERT INTO instance (host) VALUES ('host-1 4711') RETURNING id")
            let owner = try #require(Int64(instance))
            // A number that no numeric holds, and a name that needs escaping.
            let activity = ActivityInstruction(
                laID: "order-7",
                content: ActivityContent(event: .update, contentState: Array(#"{"n":1e999999999}"#.utf8)),
                defaultDismissal: .immediate,
            )
            let receipts = try await database.accept(
                [Fixture.order(activity, recipients: ["ann", #"bo"b\"#, "carol"])],
                owner: owner,
            )
            let query = "SELECT account, reason, next_attempt_at, outcome FROM undelivered ORDER BY account"
            #expect(
                try database.sql(query) == #"""
                    ann|under way||retrying
                    bo"b\|under way||retrying
                    carol|under way||retrying
                    """#
            )
            let wait = Settlement.Next.waiting(
                until: try database.time(plus: 60),
                reason: "certificate_missing",
                progress: .none,
            )
            try await database.settle(
                [StoreDatabase.entry(receipts[0], wait, account: "ann")],
                completes: false,
                owner: owner,
            )
            try database.sql(
                """
                INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, route, route_reason, fallback, outcome,
                    attempts, finished_at)
                SELECT id, accepted_at, sdk_app_id, 'carol', 'none', 'no_device', false, 'nothing_to_send', 0, now()
                FROM message
                """
            )
            let left = try database.sql("SELECT account, reason_code FROM undelivered ORDER BY account")
            #expect(left == "ann|certificate_missing\n" + #"bo"b\|"#)
            // What this release cannot read is still shown, as a message.
            try database.sql("UPDATE pending SET content = decode('01ff', 'hex') WHERE account IS NULL")
            #expect(try database.sql("SELECT account IS NULL FROM undelivered ORDER BY 1") == "f\nt")
        }
    }

    @Test("undelivered shows who works on what, why a recipient waits, and nothing of a row that waits for others")
    func undelivered() async throws {
        try await StoreDatabase.run { _, database in
            let instance = try database.sql("INSERT INTO instance (host) VALUES ('host-1 4711') RETURNING id")
            let owner = try #require(Int64(instance))
            let receipts = try await database.accept(
                [Fixture.order(), Fixture.order(nil, recipients: ["bob", "carol"])],
                owner: owner,
            )
            let wait = Settlement.Next.waiting(
                until: try database.time(plus: 60),
                reason: "certificate_missing",
                progress: .none,
            )
            try await database.settle([StoreDatabase.entry(receipts[1], wait, account: "bob")], owner: owner)
            let query = """
                SELECT message_id - \(receipts[0].id), sdk_app_id, msg_key, sender, account, la_id, event,
                    next_attempt_at > now() + interval '50 seconds', attempts, reason, host, takeovers, outcome, reason_code
                FROM undelivered ORDER BY message_id
                """
            #expect(
                try database.sql(query) == """
                    0|\(Self.app)|1_2_3|administrator|alice|order-7|update||0|under way|host-1 4711|0|retrying|
                    1|\(Self.app)|1_2_3|administrator|bob|||t|0|no certificate for the businessId of its registration; \
                    waits for livepush certificate add||0|retrying|certificate_missing
                    """
            )
            try database.sql("DELETE FROM instance")
            let left = try database.sql(query)
            #expect(left.contains("its gateway is gone"), "\(left)")
        }
    }

    @Test(
        "every reason for which something is put off has words of its own, others are APNs'",
        arguments: [
            ("", "accepted, not begun yet"), ("taken_over", "its gateway died"), ("connect_failed", "no connection"),
            ("connection_lost", "was lost"), ("timeout", "in time"), ("stream_refused", "no more requests"),
            ("stream_reset", "broke"), ("backlogged", "not sent yet"), ("closed", "on this side"),
            ("database_refused", "PostgreSQL refused"),
            ("not_readable", "newer release"), ("activity_push_refused", "a notification follows"),
            ("InvalidProviderToken", "signing key"), ("SomethingNew", "APNs answered SomethingNew"),
        ],
    )
    func words(reason: String, words: String) async throws {
        try await StoreDatabase.run { _, database in
            let plain = try database.sql("SELECT plain_reason('\(reason)')")
            #expect(plain.contains(words), "\(plain)")
        }
    }

    @Test("each word of a route, of waiting and of a priority has a sentence in SQL; no other passes for APNs'")
    func ownWords() async throws {
        try await StoreDatabase.run { _, database in
            for word in ReasonText.words {
                let plain = try database.sql("SELECT plain_reason('\(word)')")
                #expect(plain.contains(" ") && !plain.contains("APNs answered"), "\(word): \(plain)")
            }
            #expect(try database.sql("SELECT plain_reason('of_a_newer_release')") == "of_a_newer_release")
        }
    }

    // MARK: - app_health

    private static let healthCases: [(rows: [String], expected: String)] = [
        ([certificate()], "idle"),
        ([""], "idle"),
        ([waiting()], "failing"),
        ([certificate(), deliveries("accepted_by_apns")], "ok"),
        ([certificate(), deliveries("accepted_by_apns"), deliveries("token_dead", 5)], "ok"),
        ([certificate(), deliveries("accepted_by_apns", ago: "2 hours")], "idle"),
        ([certificate(), deliveries("accepted_by_apns", 91), deliveries("refused", 9)], "ok"),
        ([certificate(), deliveries("accepted_by_apns", 90), deliveries("refused", 10)], "degraded"),
        ([certificate(), deliveries("refused")], "failing"),
        ([certificate(), deliveries("accepted_by_apns"), waiting()], "ok"),
        ([certificate(), deliveries("accepted_by_apns"), waiting(accepted: "-6 minutes")], "degraded"),
        ([certificate(), deliveries("accepted_by_apns"), alarm("signing_key_refused")], "failing"),
        ([certificate(), deliveries("accepted_by_apns"), alarm("wrong_topic")], "ok"),
        ([certificate(), alarm("signing_key_refused", columns: "ended_at = now()")], "idle"),
        ([certificate(), alarm("secret_not_readable", columns: "fades_at = now()")], "idle"),
        ([certificate(), alarm("topic_refused", columns: "last_seen = now() - interval '2 days'")], "idle"),
    ]

    @Test(
        "health is one word, by the rule in its comment",
        arguments: healthCases,
    )
    func health(rows: [String], health: String) async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(rows.joined())
            #expect(try database.sql("SELECT health FROM app_health WHERE sdk_app_id = \(Self.app)") == health)
        }
    }

    @Test("app_health counts the last hour and day of each certificate, with the last refusal, and what waits")
    func counts() async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(
                Self.certificate(1) + Self.certificate(2) + Self.deliveries("accepted_by_apns", 3)
                    + Self.deliveries("accepted_by_apns", 2, ago: "3 hours")
                    + Self.deliveries("refused", ago: "10 minutes", reason: "BadDeviceToken")
                    + Self.deliveries("refused", ago: "20 minutes", reason: "PayloadTooLarge")
                    + Self.deliveries("token_dead", ago: "2 hours") + Self.waiting("bob") + Self.waiting("carol")
                    + Self.alarm("signing_key_refused")
            )
            #expect(
                try database.sql(
                    """
                    SELECT business_id, bundle_id, environment, key_id, held_because, pushes_hour, accepted_hour,
                        refused_hour, dead_hour, pushes_day, accepted_day, refused_day, dead_day,
                        last_accepted_at > now() - interval '2 minutes', last_refusal, waiting,
                        oldest_waiting BETWEEN interval '1 minute' AND interval '2 minutes'
                    FROM app_health WHERE sdk_app_id = \(Self.app) ORDER BY business_id
                    """
                ) == """
                    1|com.example.app|both|KEY4567890|so it is|5|3|2|0|8|5|2|1|t|BadDeviceToken|2|t
                    2|com.example.app|both|KEY4567890||0|0|0|0|0|0|0|0|||2|t
                    """
            )
        }
    }

    @Test("a settled push says which certificate signed it")
    func businessOfDelivery() async throws {
        try await StoreDatabase.run { _, database in
            var script = DeliveryScript(try Fixture.message(certificates: [Fixture.certificate(3)]))
            _ = script.start()
            _ = script.found([try Fixture.activity(businessID: 3)])
            _ = script.answered(0, .accepted)
            guard case .settle(let settlement)? = script.action else { throw TestFailure("not settled") }
            let receipt = try #require(try await database.accept(owner: 5).first)
            try await database.settle([StoreDatabase.entry(receipt, settlement.next)])
            #expect(try database.sql("SELECT business_id, attempts FROM delivery") == "3|1")
        }
    }

    // MARK: - alarms

    private static let alarmCases: [(rows: [String], expected: String)] = [
        ([heartbeat, certificate(), waiting()], ""),
        ([heartbeat, waiting(due: "-6 minutes")], "backlog 1"),
        ([heartbeat, waiting(due: "-4 minutes")], ""),
        ([waiting(due: "-4 minutes")], "no_gateway 1"),
        ([waiting(due: "1 minute")], ""),
        ([heartbeat, waiting(reason: "certificate_missing")], "pushes_without_certificate 1"),
        ([heartbeat, waiting(reason: "not_readable")], "message_not_readable 1"),
        ([deliveries("quarantined", 3)], "quarantined 3"),
        ([deliveries("quarantined", ago: "25 hours")], ""),
        ([certificate(), alarm("signing_key_refused")], "signing_key_refused 2"),
        ([alarm("signing_key_refused")], ""),
        ([certificate(), alarm("topic_refused", columns: "last_seen = now() - interval '2 days'")], ""),
        ([certificate(), alarm("topic_refused", columns: "ended_at = now()")], ""),
        ([certificate(), alarm("wrong_topic", columns: "fades_at = now() + interval '1 hour'")], "wrong_topic 1"),
        ([certificate(), alarm("wrong_topic", columns: "fades_at = now()")], ""),
        ([alarm("database_refused", columns: "sdk_app_id = 0, business_id = NULL")], "database_refused 1"),
        ([alarm("database_refused", columns: "sdk_app_id = 5, business_id = NULL")], ""),
        (
            [
                """
                INSERT INTO instance (host, heartbeat_at) VALUES ('host-2', now() - interval '2 minutes');
                INSERT INTO instance (host) VALUES ('host-3');
                \(waiting()) UPDATE pending SET instance_id = (SELECT id FROM instance WHERE host = 'host-2');
                """
            ], "work_not_taken_over 1"
        ),
        (["INSERT INTO instance (host, heartbeat_at) VALUES ('host-2', now() - interval '2 minutes');"], ""),
    ]

    @Test(
        "what is wrong is in alarms, and what is not is not",
        arguments: alarmCases,
    )
    func alarms(rows: [String], expected: String) async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(rows.joined())
            #expect(try database.sql("SELECT kind || ' ' || count FROM alarms ORDER BY kind") == expected)
            let wordless = "SELECT count(*) FROM alarms WHERE detail IS NULL OR what_to_do IS NULL OR last_seen IS NULL"
            #expect(try database.sql(wordless) == "0")
        }
    }

    @Test("a key that replaced a refused one and is refused too is wrong since it is there, not since the former one")
    func sinceReplacement() async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(Self.certificate() + Self.alarm("signing_key_refused"))
            let since =
                "SELECT since = (SELECT first_seen FROM alarm), since = (SELECT updated_at FROM certificate) FROM alarms"
            try database.sql("UPDATE alarm SET first_seen = now() - interval '3 hours', last_seen = now()")
            try database.sql("UPDATE certificate SET updated_at = now() - interval '4 hours'")
            #expect(try database.sql(since) == "t|f")
            try database.sql("UPDATE certificate SET updated_at = now() - interval '1 hour'")
            #expect(try database.sql(since) == "f|t")
        }
    }

    @Test("registrations that name a businessId without certificate are an alarm for each businessId")
    func registrationsWithoutCertificate() async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(Self.certificate(2))
            for (number, businessID) in [1, 2, 2, 7, 9].enumerated() {
                try database.registerDevice(
                    on: "phone-\(number)",
                    token: UInt8(100 + number),
                    columns: "business_id = \(businessID)",
                )
            }
            try database.registerActivity(columns: "business_id = 7")
            #expect(
                try database.sql("SELECT kind, sdk_app_id, business_id, count FROM alarms ORDER BY business_id") == """
                    registrations_without_certificate|\(Self.app)|1|1
                    registrations_without_certificate|\(Self.app)|7|2
                    registrations_without_certificate|\(Self.app)|9|1
                    """
            )
        }
    }

    @Test("a partition that is missing for the next two days is an alarm")
    func missingPartition() async throws {
        try await StoreDatabase.run { _, database in
            let day = "(now() AT TIME ZONE 'UTC')::date + 2"
            let name = try database.sql("SELECT 'delivery_' || to_char(\(day), 'YYYYMMDD')")
            try database.sql("ALTER TABLE delivery DETACH PARTITION \(name)")
            #expect(
                try database.sql("SELECT kind, count, detail FROM alarms")
                    == "partition_missing|1|no partition for \(name)"
            )
            try database.sql("DROP TABLE \(name)")
            #expect(try database.sql("SELECT create_partitions(7)") == "1")
            #expect(try database.sql("SELECT kind FROM alarms") == "")
            let indexes = """
                SELECT DISTINCT count(*) FROM pg_index JOIN pg_inherits ON inhrelid = indrelid
                WHERE inhparent = 'delivery'::regclass GROUP BY indrelid
                """
            #expect(try database.sql(indexes) == "4")
        }
    }
}
