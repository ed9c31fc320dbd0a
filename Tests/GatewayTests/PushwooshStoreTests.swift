import LiveActivity
import TestSupport
import Testing

@testable import Gateway

@Suite("What only Pushwoosh's API asks of the database", .serialized, .timeLimit(.minutes(5)))
struct PushwooshStoreTests {
    @Test("a local time is one of its zone; a skipped one goes by the time before, of a doubled one the second counts")
    func localTimes() async throws {
        try await StoreDatabase.run { _, database in
            let store = PushwooshStore(pool: database.pool)
            for (local, zone, utc) in [
                ("2026-06-16 16:00", "UTC", "2026-06-16 16:00"),
                ("2026-06-16 16:00", "Europe/Berlin", "2026-06-16 14:00"),
                ("2026-01-16 16:00", "Europe/Berlin", "2026-01-16 15:00"),
                ("2026-06-16 16:00", "Asia/Kolkata", "2026-06-16 10:30"),
                ("2026-06-16 16:00:07", "America/New_York", "2026-06-16 20:00:07"),
                // 02:00 to 03:00 are skipped: 02:30 is 03:30.
                ("2026-03-29 02:30", "Europe/Berlin", "2026-03-29 01:30"),
                ("2026-03-29 01:59", "Europe/Berlin", "2026-03-29 00:59"),
                ("2026-03-29 03:00", "Europe/Berlin", "2026-03-29 01:00"),
                // 02:00 to 03:00 come twice, first in summer time.
                ("2026-10-25 02:30", "Europe/Berlin", "2026-10-25 01:30"),
                ("2026-10-25 01:59", "Europe/Berlin", "2026-10-24 23:59"),
            ] {
                let expected = try #require(CalendarTime(iso8601: utc, assumingUTC: true))
                let time = try await store.time(of: local, in: zone)
                #expect(time?.seconds == expected.seconds, "\(local) \(zone)")
            }
        }
    }

    @Test(
        "what is no name of a zone is none, also what PostgreSQL takes for one",
        arguments: ["Nowhere", "europe/berlin", "UTC+3", "EST5EDT4", "Europe/Berlin ", "", "+02:00", "'; SELECT 1"]
    )
    func noZone(name: String) async throws {
        try await StoreDatabase.run { _, database in
            let store = PushwooshStore(pool: database.pool)
            let time = try await store.time(of: "2026-06-16 16:00", in: name)
            #expect(time == nil)
        }
    }

    @Test("device tokens of installations, as far as they are registered")
    func deviceTokens() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(of: "alice", on: "HW-1", token: 7)
            let tokens = try await PushwooshStore(pool: database.pool).deviceTokens(
                of: ["HW-1", "HW-2"],
                in: StoreDatabase.sdkAppID,
            )
            #expect(tokens == ["HW-1": try Fixture.token(7)])
        }
    }

    @Test("device tokens, as far as phones have registered them")
    func registeredTokens() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(of: "alice", on: "HW-1", token: 7)
            let store = PushwooshStore(pool: database.pool)
            let asked = [try Fixture.token(7), try Fixture.token(8)]
            let known = try await store.registeredTokens(among: asked, in: StoreDatabase.sdkAppID)
            #expect(known == [try Fixture.token(7)])
            let elsewhere = try await store.registeredTokens(among: asked, in: 1)
            #expect(elsewhere.isEmpty)
        }
    }

    @Test("an activity is known while it runs somewhere, for a minute after its end, and while a start may come up")
    func knownActivities() async throws {
        try await StoreDatabase.run { _, database in
            let store = PushwooshStore(pool: database.pool)
            func isKnown(_ event: ActivityEvent = .update, _ laID: String = "order-7") async throws -> Bool {
                try await store.hasActivity(laID, for: event, in: StoreDatabase.sdkAppID)
            }
            #expect(try await isKnown() == false)
            try database.registerActivity("order-7", of: "alice", on: "HW-1", token: 9)
            #expect(try await isKnown())
            #expect(try await isKnown(.update, "order-8") == false)
            try database.sql("UPDATE live_activity SET started_at = now() - interval '9 hours'")
            #expect(try await isKnown() == false)
            #expect(try await isKnown(.end))
            try database.sql("UPDATE live_activity SET started_at = now(), ended_at = now() - interval '30 seconds'")
            #expect(try await isKnown())
            try database.sql("UPDATE live_activity SET ended_at = now() - interval '90 seconds'")
            #expect(try await isKnown() == false)
            try database.sql(
                """
                INSERT INTO activity_start (sdk_app_id, account, la_id, installation, message_id, token_fingerprint,
                    last_timestamp, expires_at, waits_until)
                VALUES (\(StoreDatabase.sdkAppID), 'bob', 'order-7', 'HW-2', 1, 'x', 0, now(), now() + interval '1 hour')
                """
            )
            #expect(try await isKnown())
            try database.sql("UPDATE activity_start SET registered_at = now()")
            #expect(try await isKnown() == false)
        }
    }

    @Test("a start token without its type starts any; one with it goes before it, a phone at a time")
    func startTokens() async throws {
        try await StoreDatabase.run { _, database in
            for (type, installation, byte) in [("*", "HW-1", "01"), ("*", "HW-2", "02"), ("Order", "HW-2", "03")] {
                try database.sql(
                    """
                    SELECT register_start_token(\(StoreDatabase.sdkAppID), 'alice', '\(type)', '\(installation)',
                        decode(repeat('\(byte)', 64), 'hex'), 1, NULL, NULL, NULL, NULL)
                    """
                )
            }
            let claim = """
                SELECT string_agg(installation || ' ' || left(encode(token, 'hex'), 2) || ' ' || verdict, ',' ORDER BY 1)
                FROM claim_starts(\(StoreDatabase.sdkAppID), 'alice', 'order-7', 'TYPE', MESSAGE,
                    now() + interval '1 hour', false, '{}', interval '5 minutes', interval '5 minutes', 8,
                    interval '10 minutes', false)
                """
            func claimed(_ type: String, _ message: Int) throws -> String {
                try database.sql(claim.replacing("TYPE", with: type).replacing("MESSAGE", with: "\(message)"))
            }
            #expect(try claimed("Order", 1) == "HW-1 01 claimed,HW-2 03 claimed")
            try database.sql("DELETE FROM activity_start")
            #expect(try claimed("Ride", 2) == "HW-1 01 claimed,HW-2 02 claimed")
            #expect(
                try database.sql(
                    "SELECT string_agg(cardinality(recent_starts)::text, ',' ORDER BY installation) FROM start_guard"
                ) == "2,2"
            )
        }
    }

    @Test("the priority is 5 unless 10 was demanded, whatever the event, and says why")
    func priority() throws {
        for event in [ActivityEvent.update, .end] {
            for (demanded, expected, reason) in [(nil, 5, "default"), (10, 10, "caller")] as [(Int?, Int, String)] {
                var content = Fixture.content(event)
                content.alert = ActivityAlert(subtitle: "S")
                let instruction = ActivityInstruction(
                    laID: "order-7",
                    content: content,
                    defaultDismissal: .system,
                    priority: demanded,
                    priorityRule: .caller,
                )
                let priority = ActivityPriority(instruction, for: Fixture.application())
                #expect(priority.choose(isBudgetSpent: true) == (expected, reason))
                #expect(priority.spendsBudget == (expected == 10))
                var order = Fixture.order(instruction)
                order.dialect = .pushwoosh
                #expect(try PushOrder(decoding: order.encoded()) == order)
            }
        }
    }
}
