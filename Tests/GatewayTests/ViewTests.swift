import TestSupport
import Testing

@testable import Gateway

@Suite("What people read in SQL", .serialized, .timeLimit(.minutes(5)))
struct ViewTests {
    @Test(
        "a view has exactly the columns that are promised, in their order",
        arguments: [
            (
                "registrations",
                """
                sdk_app_id, account, installation, kind, la_id, attributes_type, business_id, bundle_id, environment, \
                token_fingerprint, state, registered_at, sequence, expires_at, app_version, os_version, language, \
                foreground_until, last_push_at, last_outcome, last_reason
                """
            ),
            (
                "recent_deliveries",
                """
                accepted_at, sent_at, finished_at, message_id, msg_key, dialect, sdk_app_id, sender, account, \
                installation, la_id, event, route, route_reason, fallback, outcome, apns_status, apns_reason, apns_id, \
                attempts, priority, priority_reason, timestamp_sent, payload_bytes, token_fingerprint, environment, \
                answers_lost
                """
            ),
            (
                "undelivered",
                """
                sdk_app_id, message_id, msg_key, sender, account, la_id, event, accepted_at, deadline, \
                next_attempt_at, attempts, reason, host, takeovers, outcome, reason_code
                """
            ),
            (
                "app_health",
                """
                sdk_app_id, name, business_id, bundle_id, environment, key_id, health, held_because, pushes_hour, \
                accepted_hour, refused_hour, dead_hour, pushes_day, accepted_day, refused_day, dead_day, \
                last_accepted_at, last_refused_at, last_refusal, waiting, oldest_waiting
                """
            ),
            (
                "alarms",
                """
                kind, sdk_app_id, business_id, environment, key_id, since, last_seen, count, detail, what_to_do
                """
            ),
        ],
    )
    func columns(view: String, columns: String) async throws {
        try await StoreDatabase.run { _, database in
            let found = try database.sql(
                """
                SELECT string_agg(column_name, ', ' ORDER BY ordinal_position) FROM information_schema.columns
                WHERE table_schema = 'public' AND table_name = '\(view)'
                """
            )
            #expect(found == columns)
        }
    }

    @Test("every table, view, column and function has a comment")
    func comments() async throws {
        try await StoreDatabase.run { _, database in
            let without = try database.sql(
                """
                SELECT relname FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition
                    AND obj_description(oid, 'pg_class') IS NULL
                UNION ALL
                SELECT relname || '.' || attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition
                    AND attnum > 0 AND NOT attisdropped AND col_description(pg_class.oid, attnum) IS NULL
                UNION ALL
                SELECT proname FROM pg_proc
                WHERE pronamespace = 'public'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
                """
            )
            #expect(without == "")
        }
    }

    @Test("registrations shows what a phone registered, and what last became of it")
    func registrations() async throws {
        try await StoreDatabase.run { _, database in
            try database.sql(
                """
                INSERT INTO certificate (sdk_app_id, business_id, bundle_id, team_id, key_id, private_key_sealed,
                    environment)
                VALUES (\(StoreDatabase.sdkAppID), 1, 'com.example.app', 'TEAM567890', 'KEY4567890', '', 'both')
                """
            )
            try database.registerActivity(columns: "environment = 'sandbox', app_version = '1.2', sequence = 3")
            try database.registerDevice(columns: "os_version = '18.1', language = 'en', sequence = 4")
            #expect(
                try database.sql(
                    """
                    SELECT kind, la_id, bundle_id, environment, state, sequence, expires_at - registered_at, app_version,
                        os_version, language, last_push_at, last_outcome, last_reason
                    FROM registrations ORDER BY kind
                    """
                )
                    == """
                    activity|order-7|com.example.app|sandbox|live|3|08:00:00|1.2|18.1|en|||
                    device||com.example.app||live|4|||18.1|en|||
                    """
            )
            #expect(
                try database.sql("SELECT token_fingerprint FROM registrations ORDER BY kind")
                    == "\(Fixture.token(1).fingerprint)\n\(Fixture.token(101).fingerprint)"
            )
            let receipt = try #require(try await database.accept(owner: 5).first)
            try await database.settle([StoreDatabase.entry(receipt, .accepted())])
            #expect(
                try database.sql(
                    """
                    SELECT kind, last_push_at IS NOT NULL, last_outcome, last_reason FROM registrations ORDER BY kind
                    """
                ) == "activity|t|accepted_by_apns|activity_registered\ndevice|f||"
            )
        }
    }

    @Test("the last push to a registration is the last one that was sent, whatever was decided against since or before")
    func lastPush() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            func decided(_ outcome: String, sent: String, seconds ago: Int) throws {
                try database.sql(
                    """
                    INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, installation, la_id, route,
                        route_reason, fallback, outcome, attempts, sent_at, finished_at)
                    VALUES (\(ago), now() - interval '1 second' * \(ago), \(StoreDatabase.sdkAppID), 'alice',
                        'phone-1', 'order-7', 'live_activity', 'x', false, '\(outcome)', 0, \(sent), now())
                    """
                )
            }
            let seen = "SELECT last_push_at, last_outcome FROM registrations"
            try decided("unchanged", sent: "NULL", seconds: 4)
            #expect(try database.sql(seen) == "|unchanged")
            try decided("accepted_by_apns", sent: "'2026-01-01 12:00Z'", seconds: 3)
            try decided("refused", sent: "'2026-01-02 12:00Z'", seconds: 2)
            try decided("superseded", sent: "NULL", seconds: 1)
            let expected = "SELECT '2026-01-02 12:00Z'::timestamptz"
            #expect(try database.sql(seen) == database.sql(expected) + "|superseded")
        }
    }

    @Test(
        "a registration is live, ended or expired",
        arguments: [
            ("sequence = NULL", "live"), ("end_message = 9", "live"), ("end_message = 9, ended_at = now()", "ended"),
            ("started_at = now() - interval '7 hours 59 minutes'", "live"),
            ("started_at = now() - interval '8 hours'", "expired"),
        ],
    )
    func states(columns: String, state: String) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: columns)
            #expect(try database.sql("SELECT state FROM registrations") == state)
        }
    }

    @Test("recent_deliveries joins a delivery with its message, for seven days")
    func recentDeliveries() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            try await database.settle([StoreDatabase.entry(receipt, .accepted())])
            #expect(
                try database.sql(
                    """
                    SELECT message_id, msg_key, dialect, sender, account, la_id, event, route, outcome, fallback
                    FROM recent_deliveries
                    """
                ) == "\(receipt.id)|1_2_3|tencent|administrator|alice|order-7|update|live_activity|accepted_by_apns|f"
            )
            try database.sql(
                """
                CREATE TABLE message_old PARTITION OF message FOR VALUES FROM ('2020-01-01') TO ('2020-01-02');
                CREATE TABLE delivery_old PARTITION OF delivery FOR VALUES FROM ('2020-01-01') TO ('2020-01-02');
                UPDATE message SET accepted_at = '2020-01-01 12:00';
                UPDATE delivery SET accepted_at = '2020-01-01 12:00'
                """
            )
            let left = try database.sql("SELECT count(*) FROM recent_deliveries")
            #expect(left == "0")
            try database.sql("DROP TABLE message_old, delivery_old")
        }
    }

    @Test("token_fingerprint finds a token as it is logged: hex, in groups, base64")
    func fingerprint() async throws {
        try await StoreDatabase.run { _, database in
            let token = try Fixture.token(0xA7)
            let hexadecimal = token.hexadecimal
            let spellings = [
                hexadecimal, hexadecimal.uppercased(), "<\(hexadecimal.prefix(8)) \(hexadecimal.dropFirst(8))>",
                try database.sql("SELECT encode(decode('\(hexadecimal)', 'hex'), 'base64')"),
            ]
            for spelling in spellings {
                #expect(try database.sql("SELECT token_fingerprint('\(spelling)'::text)") == token.fingerprint)
            }
        }
    }
}
