import Logging
import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("Claiming activities", .serialized, .timeLimit(.minutes(5)))
struct DeliveryStoreClaimTests {
    @Test("a claim brings the registration with a timestamp of now")
    func claim() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(token: 7, columns: "environment = 'sandbox', business_id = 3")
            let before = try database.time()
            let found = try await database.claim(10)
            let after = try database.time()
            let activity = try #require(found.first)
            #expect(found.count == 1)
            #expect(activity.verdict == .claimed)
            #expect(activity.installation == "phone-1")
            #expect(activity.token == (try Fixture.token(7)))
            #expect(activity.businessID == 3)
            #expect(activity.environment == .sandbox)
            #expect((before.seconds...after.seconds).contains(activity.timestamp))
            let row = try database.sql("SELECT last_message, last_timestamp, end_message IS NULL FROM live_activity")
            #expect(row == "10|\(activity.timestamp)|t")
        }
    }

    @Test("an account without the activity gets nothing, whatever others have")
    func notRegistered() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(of: "bob")
            try database.registerActivity("order-8", on: "phone-2", token: 2)
            #expect(try await database.claim(10).isEmpty)
        }
    }

    @Test("one statement claims for many recipients, each answer in its place")
    func batch() async throws {
        try await StoreDatabase.run { _, database in
            for number in 1...20 as ClosedRange<UInt8> {
                try database.registerActivity(of: "user-\(number)", on: "phone-\(number)", token: number)
            }
            try database.registerActivity(of: "user-3", on: "tablet-3", token: 103)
            let claims = (0...20).reversed().map { number in
                DeliveryStore.Claim(
                    sdkAppID: StoreDatabase.sdkAppID,
                    account: "user-\(number)",
                    laID: "order-7",
                    messageID: 10,
                    acceptedAt: Fixture.accepted,
                    isEnd: false,
                )
            }
            let found = try await database.store.claim(claims, pacing: .standard, at: Fixture.accepted)
            let installations = found.map { $0.map(\.installation).sorted() }
            let expected = (0...20).reversed().map { number in
                number == 0 ? [] : number == 3 ? ["phone-3", "tablet-3"] : ["phone-\(number)"]
            }
            #expect(installations == expected)
        }
    }

    @Test("C58: two messages in one second get rising timestamps")
    func rising() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            var timestamps: [Int64] = []
            for message in 10..<15 as Range<Int64> {
                timestamps.append(contentsOf: try await database.claim(message).map(\.timestamp))
            }
            #expect(timestamps.count == 5)
            #expect(zip(timestamps, timestamps.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    @Test("an older message after a newer one is superseded and leaves no trace but that")
    func superseded() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.claim(11)
            let row = "SELECT to_jsonb(live_activity) - '{verdict,budget_is_spent}'::text[] FROM live_activity"
            let before = try database.sql(row)
            #expect(try await database.claim(10).map(\.verdict) == [.superseded])
            #expect(try database.sql(row) == before)
        }
    }

    @Test("C88: the same message within 10 s keeps its timestamp, later it gets a new one")
    func resend() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            let first = try await database.claim(10).map(\.timestamp)
            #expect(try await database.claim(10).map(\.timestamp) == first)
            try database.sql("UPDATE live_activity SET last_sent_at = last_sent_at - interval '9 seconds'")
            #expect(try await database.claim(10).map(\.timestamp) == first)
            try database.sql("UPDATE live_activity SET last_sent_at = last_sent_at - interval '2 seconds'")
            let later = try await database.claim(10)
            #expect(later.map(\.verdict) == [.claimed])
            #expect(later.map(\.timestamp) != first)
        }
    }

    @Test("C58: soon after another message an update waits, and goes with the time of its turn")
    func paced() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            let first = try #require(try await database.claim(10, pacing: .slow).first)
            let held = try #require(try await database.claim(11, pacing: .slow).first)
            #expect(held.verdict == .paced)
            let sentAt = "(extract(epoch FROM last_sent_at) * 1000000)::bigint"
            let row = try database.sql("SELECT last_message, last_timestamp, \(sentAt) + 60000000 FROM live_activity")
            #expect(row == "10|\(first.timestamp)|\(held.sendableFrom?.microseconds ?? 0)")

            try database.sql("UPDATE live_activity SET last_sent_at = last_sent_at - interval '60 seconds'")
            let sent = try #require(try await database.claim(11, pacing: .slow).first)
            #expect(sent.verdict == .claimed)
            #expect(sent.sendableFrom == nil)
        }
    }

    @Test("C90: of updates that wait for their turn only the newest goes out, whichever asks first")
    func newestOfThePaced() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.claim(10, pacing: .slow)
            for message in [12, 11, 13] as [Int64] {
                let verdict: ClaimedActivity.Verdict = message == 11 ? .superseded : .paced
                #expect(try await database.claim(message, pacing: .slow).map(\.verdict) == [verdict])
            }
            try database.sql("UPDATE live_activity SET last_sent_at = last_sent_at - interval '61 seconds'")
            #expect(try await database.claim(12, pacing: .slow).map(\.verdict) == [.superseded])
            #expect(try await database.claim(13, pacing: .slow).map(\.verdict) == [.claimed])
        }
    }

    @Test("an end never waits for its turn, and nothing that waited follows it")
    func endPasses() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.claim(10, pacing: .slow)
            #expect(try await database.claim(12, pacing: .slow).map(\.verdict) == [.paced])
            #expect(try await database.claim(11, isEnd: true, pacing: .slow).map(\.verdict) == [.claimed])
            try database.sql("UPDATE live_activity SET last_sent_at = last_sent_at - interval '61 seconds'")
            #expect(try await database.claim(12, pacing: .slow).map(\.verdict) == [.activityEnded])
        }
    }

    @Test("an alert does not wait for its turn, and the same message sent again does not either")
    func doesNotWait() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.claim(10, pacing: .slow)
            #expect(try await database.claim(10, pacing: .slow).map(\.verdict) == [.claimed])
            #expect(try await database.claim(11, hasAlert: true, pacing: .slow).map(\.verdict) == [.claimed])
        }
    }

    @Test("a clock that was set back holds a push for no longer than the interval")
    func pacedByAClockSetBack() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "last_message = 9, last_sent_at = now() + interval '1 hour'")
            let held = try #require(try await database.claim(10, pacing: .slow).first)
            #expect(held.verdict == .paced)
            let until = try #require(held.sendableFrom)
            #expect(until <= (try database.time(plus: 60)))
        }
    }

    @Test("activities of one phone do not wait for each other")
    func pacedByActivity() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            try database.registerActivity(of: "bob", on: "phone-2", token: 2)
            _ = try await database.claim(10, pacing: .slow)
            #expect(try await database.claim(11, account: "bob", pacing: .slow).map(\.verdict) == [.claimed])
        }
    }

    @Test("an end is claimed even after a newer update, with a greater timestamp that a resend keeps")
    func endAfterNewer() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            let update = try #require(try await database.claim(11).first)
            let end = try #require(try await database.claim(10, isEnd: true).first)
            #expect(end.verdict == .claimed)
            #expect(end.timestamp > update.timestamp)
            let resent = try #require(try await database.claim(10, isEnd: true).first)
            #expect(resent.verdict == .claimed)
            #expect(resent.timestamp == end.timestamp)
        }
    }

    @Test(
        "nothing follows an end: neither a newer nor an older update, nor another end",
        arguments: [9, 12] as [Int64]
    )
    func nothingFollows(message: Int64) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.claim(10, isEnd: true)
            #expect(try await database.claim(message).map(\.verdict) == [.activityEnded])
            #expect(try await database.claim(message, isEnd: true).map(\.verdict) == [.activityEnded])
        }
    }

    @Test(
        "what was accepted within 60 s of the end is told apart from what came later",
        arguments: [(-5, .activityEnded), (55, .activityEnded), (65, .notLive)] as [(Int64, ClaimedActivity.Verdict)],
    )
    func afterEnd(seconds: Int64, verdict: ClaimedActivity.Verdict) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "end_message = 10, ended_at = now()")
            let acceptedAt = try database.time(plus: seconds)
            #expect(try await database.claim(12, acceptedAt: acceptedAt).map(\.verdict) == [verdict])
        }
    }

    @Test("an accepted end is not claimed again by its own message")
    func endTwice() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "end_message = 10, ended_at = now()")
            let acceptedAt = try database.time()
            #expect(
                try await database.claim(10, acceptedAt: acceptedAt, isEnd: true).map(\.verdict) == [.activityEnded]
            )
        }
    }

    @Test(
        "C52: updates are claimed for 8 hours, an end for 12",
        arguments: [
            ("7 hours 59 minutes", false, .claimed), ("8 hours", false, .notLive), ("8 hours", true, .claimed),
            ("11 hours 59 minutes", true, .claimed), ("12 hours", true, .notLive),
        ] as [(String, Bool, ClaimedActivity.Verdict)],
    )
    func life(age: String, isEnd: Bool, verdict: ClaimedActivity.Verdict) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "started_at = now() - interval '\(age)'")
            #expect(try await database.claim(10, isEnd: isEnd).map(\.verdict) == [verdict])
        }
    }

    @Test("a clock that was set back does not set the timestamp back")
    func clockSetBack() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "last_timestamp = 4000000000, last_message = 9")
            #expect(try await database.claim(10).map(\.timestamp) == [4_000_000_001])
        }
    }

    @Test("claims at the same time leave one order: a later message never gets the earlier timestamp")
    func concurrent() async throws {
        try await StoreDatabase.run(connections: 8) { lane, database in
            try database.registerActivity()
            let tasks = (1...40 as ClosedRange<Int64>).shuffled().map { message in
                Task {
                    _ = lane
                    return (message, try await database.claim(message))
                }
            }
            var claimed: [(message: Int64, timestamp: Int64)] = []
            for task in tasks {
                let (message, found) = try await task.value
                let activity = try #require(found.first)
                #expect([.claimed, .superseded].contains(activity.verdict))
                if activity.verdict == .claimed {
                    claimed.append((message, activity.timestamp))
                }
            }
            claimed.sort { $0.message < $1.message }
            #expect(claimed.last?.message == 40)
            #expect(zip(claimed, claimed.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        }
    }

    @Test("a claim that waited for a newer message's claim sees it")
    func waitedForNewer() async throws {
        try await StoreDatabase.run(connections: 1) { lane, database in
            try database.registerActivity()
            let other = try await PostgresConnection.open(
                database.url,
                on: lane.loop,
                logger: Logger(minimumLevel: .error),
            )
            defer { other.close() }
            // Committed only once the claim waits for the row.
            let newer = Task {
                _ = lane
                _ = try await other.run([
                    PostgresStatement("UPDATE live_activity SET last_message = 11, last_timestamp = 4000000000"),
                    PostgresStatement(
                        """
                        DO $$ BEGIN
                            FOR attempt IN 1..2000 LOOP
                                PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
                                EXIT WHEN EXISTS (
                                    SELECT FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')
                                        AND pg_backend_pid() = ANY(pg_blocking_pids(pid)));
                            END LOOP;
                        END $$
                        """
                    ),
                ])
            }
            let isHeld = """
                SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %' AND datname = current_database()
                """
            while try database.sql(isHeld) != "1" {
                await Task.yield()
            }
            #expect(try await database.claim(10).map(\.verdict) == [.superseded])
            try await newer.value
        }
    }

    // MARK: - Devices

    @Test("devices come in the place of their account, with what decides about them")
    func devices() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(
                of: "alice",
                token: 101,
                columns: "environment = 'sandbox', notification_permission = 'denied'"
            )
            try database.registerDevice(
                of: "alice",
                on: "phone-2",
                token: 102,
                columns: "notification_permission = 'provisional'"
            )
            try database.registerDevice(
                of: "bob",
                on: "phone-3",
                token: 103,
                columns: "foreground_until = to_timestamp(1796007300)"
            )
            let found = try await database.store.devices(of: [
                (StoreDatabase.sdkAppID, "bob"), (StoreDatabase.sdkAppID, "nobody"), (StoreDatabase.sdkAppID, "alice"),
                (7, "alice"),
            ])
            #expect(
                try found.map { $0.sorted { $0.installation < $1.installation } } == [
                    [
                        Fixture.device(
                            "phone-3",
                            token: 103,
                            environment: nil,
                            foregroundUntil: UnixTime(seconds: 1_796_007_300),
                        )
                    ],
                    [],
                    [
                        Fixture.device("phone-1", token: 101, environment: .sandbox, deniesNotifications: true),
                        Fixture.device("phone-2", token: 102, environment: nil),
                    ],
                    [],
                ]
            )
        }
    }
}
