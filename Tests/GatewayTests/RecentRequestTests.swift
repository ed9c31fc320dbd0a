import Logging
import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("Accepting a request twice", .serialized, .timeLimit(.minutes(5)))
struct RecentRequestTests {
    private static func message(_ key: String, _ number: Int64?) -> DeliveryStore.NewMessage {
        var order = Fixture.order()
        order.messageKey = key
        let digest = number.map { number in RequestDigest { $0.add(number) } }
        return DeliveryStore.NewMessage(PlannedOrder(order: order, digest: digest, sendAt: nil))
    }

    /// What is stored: `msg_key` of every message, and of every row of the queue.
    private static let stored = """
        SELECT string_agg(msg_key, ',' ORDER BY id), (SELECT count(*) FROM pending) FROM message
        """
    private static let counted =
        "SELECT string_agg(msg_key || ' ' || repeats, ',' ORDER BY msg_key) FROM recent_request"

    @Test("the same request again: the first one's key, id and time, nothing stored, and it is counted")
    func again() async throws {
        try await StoreDatabase.run { _, database in
            let first = try #require(try await database.store.accept([Self.message("a", 1)], owner: 5).first)
            #expect(!first.isRepeat)
            #expect(first.messageKey == "a")
            for key in ["b", "c"] {
                let again = try await database.store.accept([Self.message(key, 1)], owner: 6)
                #expect(again == [Acceptance(message: first.message, messageKey: "a", isRepeat: true)])
            }
            #expect(try database.sql(Self.stored) == "a|1")
            #expect(try database.sql("SELECT instance_id FROM pending") == "5")
            #expect(try database.sql(Self.counted) == "a 2")
        }
    }

    @Test("another request is another message, and one without a digest always is")
    func another() async throws {
        try await StoreDatabase.run { _, database in
            let messages = [Self.message("a", 1), Self.message("b", 2), Self.message("c", nil), Self.message("d", nil)]
            for message in messages + messages.suffix(2) {
                let accepted = try await database.store.accept([message], owner: nil)
                #expect(accepted.map(\.messageKey) == [message.order.messageKey])
                #expect(accepted.map(\.isRepeat) == [false])
            }
            #expect(try database.sql(Self.stored) == "a,b,c,d,c,d|6")
            #expect(try database.sql(Self.counted) == "a 0,b 0")
        }
    }

    @Test("within one transaction, among other messages and repeats of earlier ones")
    func oneTransaction() async throws {
        try await StoreDatabase.run { _, database in
            _ = try await database.store.accept([Self.message("old", 9)], owner: nil)
            let accepted = try await database.store.accept(
                [
                    Self.message("a", 1), Self.message("b", 9), Self.message("c", 1), Self.message("d", nil),
                    Self.message("e", 2), Self.message("f", 9), Self.message("g", 1),
                ],
                owner: nil,
            )
            #expect(accepted.map(\.messageKey) == ["a", "old", "a", "d", "e", "old", "a"])
            #expect(accepted.map(\.isRepeat) == [false, true, true, false, false, true, true])
            #expect(accepted[0].message == accepted[6].message)
            #expect(try database.sql(Self.stored) == "old,a,d,e|4")
            #expect(try database.sql(Self.counted) == "a 2,e 0,old 2")
        }
    }

    @Test("119 seconds later it is a repeat still, 121 seconds later a new message; the count begins again")
    func window() async throws {
        try await StoreDatabase.run { _, database in
            func age(_ seconds: Int) throws {
                try database.sql("UPDATE recent_request SET accepted_at = now() - interval '\(seconds) seconds'")
            }
            _ = try await database.store.accept([Self.message("a", 1)], owner: nil)
            try age(119)
            #expect(try await database.store.accept([Self.message("b", 1)], owner: nil).first?.messageKey == "a")
            // A repeat does not prolong the time.
            #expect(try database.sql("SELECT accepted_at < now() - interval '118 seconds' FROM recent_request") == "t")
            try age(121)
            let new = try await database.store.accept([Self.message("c", 1)], owner: nil)
            #expect(new.map(\.messageKey) == ["c"])
            #expect(new.map(\.isRepeat) == [false])
            #expect(try database.sql(Self.stored) == "a,c|2")
            #expect(try database.sql(Self.counted) == "c 0")
            #expect(try await database.store.accept([Self.message("d", 1)], owner: nil) == new.map(\.asRepeat))
        }
    }

    @Test("across midnight: the first message lies in another partition than the repeat would")
    func midnight() async throws {
        try await StoreDatabase.run { _, database in
            let first = try #require(try await database.store.accept([Self.message("a", 1)], owner: nil).first)
            try database.sql(
                """
                UPDATE message SET accepted_at = accepted_at - interval '1 day';
                UPDATE recent_request SET accepted_at = now() - interval '60 seconds'
                """
            )
            let again = try #require(try await database.store.accept([Self.message("b", 1)], owner: nil).first)
            #expect(again.message.id == first.message.id)
            #expect(try database.sql(Self.stored) == "a|1")
        }
    }

    @Test("a request that could not be stored is not remembered")
    func failed() async throws {
        try await StoreDatabase.run { _, database in
            let whole = Self.message("a", 1)
            var order = whole.order
            order.lifetime = .max
            let broken = DeliveryStore.NewMessage(PlannedOrder(order: order, digest: whole.digest, sendAt: nil))
            await #expect(throws: PostgresError.self) {
                _ = try await database.store.accept([broken, Self.message("b", 2)], owner: nil)
            }
            let accepted = try await database.store.accept([Self.message("c", 1), Self.message("d", 2)], owner: nil)
            #expect(accepted.map(\.messageKey) == ["c", "d"])
            #expect(accepted.map(\.isRepeat) == [false, false])
        }
    }

    @Test(
        "at the same time in two transactions: the second waits for the first one's commit",
        arguments: [true, false]
    )
    func waitsForTheOther(commits: Bool) async throws {
        try await StoreDatabase.run(connections: 1) { lane, database in
            let other = try await PostgresConnection.open(
                database.url,
                on: lane.loop,
                logger: Logger(minimumLevel: .error),
            )
            defer { other.close() }
            let digest = try #require(Self.message("a", 1).digest)
            // Ends only once the accept waits for its row.
            let first = Task {
                _ = lane
                _ = try await other.run([
                    PostgresStatement(
                        "INSERT INTO recent_request VALUES ($1::bytea, 1400000000, 42, 'first', now(), 0)",
                        [.bytes(digest.bytes)],
                    ),
                    PostgresStatement(
                        """
                        DO $$ BEGIN
                            FOR attempt IN 1..2000 LOOP
                                PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
                                EXIT WHEN EXISTS (
                                    SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'
                                        AND pg_backend_pid() = ANY(pg_blocking_pids(pid)));
                            END LOOP;
                        END $$
                        """
                    ),
                    PostgresStatement("SELECT 1 / $1::bigint", [.integer(commits ? 1 : 0)]),
                ])
            }
            let isHeld = """
                SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %' AND datname = current_database()
                """
            while try database.sql(isHeld) != "1" {
                await Task.yield()
            }
            let second = try #require(try await database.store.accept([Self.message("second", 1)], owner: nil).first)
            #expect(second.isRepeat == commits)
            #expect(second.messageKey == (commits ? "first" : "second"))
            #expect(try database.sql("SELECT count(*) FROM message") == (commits ? "0" : "1"))
            _ = try? await first.value
        }
    }

    @Test("many transactions with the same requests in different orders: each is stored once, none fails")
    func manyAtOnce() async throws {
        try await StoreDatabase.run(connections: 8) { lane, database in
            let tasks = (0..<24).map { sender in
                Task {
                    _ = lane
                    let numbers = (1...50 as ClosedRange<Int64>).shuffled()
                    let accepted = try await database.store.accept(
                        numbers.map { Self.message("\(sender)-\($0)", $0) },
                        owner: nil,
                    )
                    return Dictionary(uniqueKeysWithValues: zip(numbers, accepted))
                }
            }
            var keys: [Int64: Set<String>] = [:]
            var news: [Int64: Int] = [:]
            for task in tasks {
                for (number, acceptance) in try await task.value {
                    keys[number, default: []].insert(acceptance.messageKey)
                    news[number, default: 0] += acceptance.isRepeat ? 0 : 1
                }
            }
            #expect(keys.count == 50)
            #expect(keys.values.allSatisfy { $0.count == 1 })
            #expect(news.values.allSatisfy { $0 == 1 })
            #expect(try database.sql("SELECT count(*), (SELECT count(*) FROM pending) FROM message") == "50|50")
            #expect(try database.sql("SELECT DISTINCT repeats FROM recent_request") == "23")
        }
    }

    @Test("what is too old is deleted in steps, what another transaction holds is left")
    func cleanUp() async throws {
        try await StoreDatabase.run { lane, database in
            try database.sql(
                """
                INSERT INTO recent_request
                SELECT decode(lpad(n::text, 4, '0'), 'hex'), 1, n, n::text,
                    now() - interval '121 seconds' + CASE WHEN n > 7 THEN interval '30 seconds' ELSE '0' END, 0
                FROM generate_series(1, 10) AS n
                """
            )
            let other = try await PostgresConnection.open(
                database.url,
                on: lane.loop,
                logger: Logger(minimumLevel: .error),
            )
            defer { other.close() }
            _ = try await other.run([PostgresStatement("SELECT pg_advisory_lock(4)")])
            let holder = Task {
                _ = lane
                _ = try await database.pool.run([
                    PostgresStatement("SELECT FROM recent_request WHERE message_id = 3 FOR UPDATE"),
                    PostgresStatement("SELECT pg_advisory_xact_lock(4)"),
                ])
            }
            let isHeld = """
                SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            while try database.sql(isHeld) != "1" {
                await Task.yield()
            }
            let cleaner = try await Self.pool(of: database, lane)
            defer { cleaner.close() }
            let instances = InstanceStore(pool: cleaner)
            var steps: [Int64] = []
            while steps.last != 0 {
                steps.append(try await instances.forgetRequests(limit: 4))
            }
            #expect(steps == [4, 2, 0])
            #expect(
                try database.sql("SELECT string_agg(msg_key, ',' ORDER BY message_id) FROM recent_request")
                    == "3,8,9,10"
            )
            _ = try await other.run([PostgresStatement("SELECT pg_advisory_unlock(4)")])
            try await holder.value
        }
    }

    private static func pool(of database: StoreDatabase, _ lane: isolated LoopActor) async throws -> PostgresPool {
        let pool = PostgresPool(
            url: database.url,
            connections: 1,
            on: lane.loop,
            logger: Logger(minimumLevel: .error),
            connectionWait: .seconds(30),
        )
        pool.start()
        return pool
    }
}

extension Acceptance {
    /// What the same request gets when it comes again.
    fileprivate var asRepeat: Acceptance {
        Acceptance(message: message, messageKey: messageKey, isRepeat: true)
    }
}
