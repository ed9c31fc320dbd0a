import Logging
import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("The queue and its instances", .serialized, .timeLimit(.minutes(5)))
struct DeliveryStoreQueueTests {
    // MARK: - Taking up

    @Test("what is due and owned by nobody is taken up once, oldest first")
    func takeDue() async throws {
        try await StoreDatabase.run { _, database in
            let receipts = try await database.accept([Fixture.order(), Fixture.order(), Fixture.order()])
            try database.sql(
                """
                UPDATE pending SET due = due - interval '1 minute' WHERE message_id = \(receipts[2].id);
                UPDATE pending SET due = due + interval '1 minute' WHERE message_id = \(receipts[0].id)
                """
            )
            let first = try await database.store.takeDue(owner: 5, limit: 1)
            #expect(first.map(\.receipt) == [receipts[2]])
            #expect(first.map(\.account) == [nil])
            #expect(first.map(\.progress) == [nil])
            let second = try await database.store.takeDue(owner: 6, limit: 10)
            #expect(second.map(\.receipt) == [receipts[1]])
            #expect(
                try database.sql("SELECT coalesce(instance_id, 0) FROM pending ORDER BY message_id") == "0\n6\n5"
            )
        }
    }

    @Test("instances that look at the same time share the rows, none is taken twice")
    func concurrent() async throws {
        try await StoreDatabase.run(connections: 6) { lane, database in
            let receipts = try await database.accept([PushOrder](repeating: Fixture.order(), count: 60))
            let tasks = (1...6 as ClosedRange<Int64>).map { owner in
                Task {
                    _ = lane
                    var taken: [Int64] = []
                    while true {
                        let work = try await database.store.takeDue(owner: owner, limit: 4)
                        taken.append(contentsOf: work.map(\.receipt.id))
                        let left = try await database.store.backlog(upTo: 100).rows
                        if left == 0 { return taken }
                    }
                }
            }
            var taken: [Int64] = []
            for task in tasks {
                taken.append(contentsOf: try await task.value)
            }
            #expect(taken.sorted() == receipts.map(\.id))
        }
    }

    @Test("a row that another transaction holds is passed over, not waited for")
    func skipLocked() async throws {
        try await StoreDatabase.run(connections: 2) { lane, database in
            let receipts = try await database.accept([Fixture.order(), Fixture.order()])
            // The row stays locked until the gate opens.
            let gate = try await PostgresConnection.open(
                database.url,
                on: lane.loop,
                logger: Logger(minimumLevel: .error)
            )
            defer { gate.close() }
            _ = try await gate.run(PostgresStatement("SELECT pg_advisory_lock(1)"))
            // With one connection the second statement would wait for the first.
            while database.pool.openConnections < 2 {
                _ = try await gate.run(PostgresStatement("SELECT"))
            }
            let holder = Task {
                _ = lane
                _ = try await database.pool.run([
                    PostgresStatement(
                        "SELECT FROM pending WHERE message_id = $1::bigint FOR UPDATE",
                        [.integer(receipts[0].id)],
                    ),
                    PostgresStatement("SELECT pg_advisory_xact_lock(1)"),
                ])
            }
            let waiting = PostgresStatement(
                """
                SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            )
            while try await gate.run(waiting).rows.first?.integer(0) != 1 {}
            let work = try await database.store.takeDue(owner: 5, limit: 10)
            #expect(work.map(\.receipt.id) == [receipts[1].id])
            _ = try await gate.run(PostgresStatement("SELECT pg_advisory_unlock(1)"))
            try await holder.value
        }
    }

    @Test("what instances died with is taken up apart from the rest, by how much company it is to have, oldest first")
    func suspects() async throws {
        try await StoreDatabase.run { _, database in
            let deaths: [(Int64, Int64)] = [(3, 1), (2, 0), (1, 0), (0, 0), (1, 0), (2, 1), (3, 0)]
            let receipts = try await database.accept([PushOrder](repeating: Fixture.order(), count: deaths.count))
            for (receipt, (number, alone)) in zip(receipts, deaths) {
                try database.sql(
                    """
                    UPDATE pending SET takeovers = \(number), lone_takeovers = \(alone) WHERE message_id = \(receipt.id)
                    """
                )
            }
            let areThere = try await database.store.hasSuspects()
            #expect(areThere)
            var taken: [[Int64]] = []
            for isolation in [InstanceDeaths.Isolation.none, .inCompany, .inFewCompany, .alone, .alone] {
                let work = try await database.store.takeDue(owner: 5, limit: isolation == .alone ? 2 : 9, isolation)
                #expect(work.allSatisfy { $0.deaths.isolation == isolation })
                taken.append(work.map { $0.receipt.id - receipts[0].id })
            }
            #expect(taken == [[3], [2, 4], [1], [0, 5], [6]])
            let isLeft = try await database.store.hasSuspects()
            #expect(!isLeft)
        }
    }

    @Test(
        "a row that this release cannot read is put aside for a minute, by its owner only",
        arguments: [5, 6] as [Int64]
    )
    func postpone(owner: Int64) async throws {
        try await StoreDatabase.run { _, database in
            _ = try await database.accept()
            let work = try #require(try await database.store.takeDue(owner: 5, limit: 1).first)
            try await database.store.postpone(work, owner: owner, reason: "not_readable")
            #expect(
                try database.sql("SELECT instance_id IS NULL, due > now() + interval '50 seconds', reason FROM pending")
                    == (owner == 5 ? "t|t|not_readable" : "f|f|")
            )
        }
    }

    @Test("the backlog counts what is due and owned by nobody, up to its limit, and what is due later by itself")
    func backlog() async throws {
        try await StoreDatabase.run { _, database in
            _ = try await database.accept([Fixture.order(), Fixture.order(), Fixture.order()])
            _ = try await database.accept(owner: 5)
            let receipt = try #require(try await database.accept(owner: 5).first)
            try await database.settle([StoreDatabase.entry(receipt, .waiting(at: try database.time(plus: 60)))])
            #expect(try await database.store.backlog(upTo: 100).rows == 3)
            #expect(try await database.store.backlog(upTo: 2).rows == 2)
            #expect(try await database.store.backlog(upTo: 2).oldestMicroseconds > 0)
            let scheduled = try await database.store.scheduled(upTo: 100)
            #expect(scheduled.rows.values.map { $0 } == [1])
            #expect(scheduled.oldestMicroseconds > 0)
            #expect(try await database.store.scheduled(upTo: 0) == QueueDepth.Scheduled())
        }
    }

    // MARK: - Lines

    private static func inLine(_ line: String = "TEAM/KEY/sandbox") throws -> Settlement.Next {
        guard case .waiting(_, _, let progress) = try Settlement.Next.waiting(at: Fixture.accepted) else {
            throw TestFailure("no progress")
        }
        return .inLine(line, reason: "backlogged", progress: progress)
    }

    @Test("what stands in a line keeps its place, whenever it came back, and is nobody's but who asks for the line")
    func line() async throws {
        try await StoreDatabase.run { _, database in
            #expect(try await database.store.lines().isEmpty)
            let receipts = try await database.accept([PushOrder](repeating: Fixture.order(), count: 4), owner: 5)
            for index in [2, 0, 1] {
                try await database.settle([StoreDatabase.entry(receipts[index], Self.inLine())])
            }
            try await database.settle([StoreDatabase.entry(receipts[3], Self.inLine("TEAM/OTHER/production"))])
            #expect(try await database.store.lines() == ["TEAM/KEY/sandbox", "TEAM/OTHER/production"])
            #expect(try await database.store.takeDue(owner: 6, limit: 10).isEmpty)
            let first = try await database.store.takeDue(owner: 6, limit: 1, from: "TEAM/KEY/sandbox")
            #expect(first.map(\.receipt) == [receipts[0]])
            // Back again: in front, where it was.
            try await database.settle([StoreDatabase.entry(receipts[0], Self.inLine())], owner: 6)
            let second = try await database.store.takeDue(owner: 7, limit: 2, from: "TEAM/KEY/sandbox")
            #expect(second.map(\.receipt) == [receipts[0], receipts[1]])
            #expect(second.map(\.account) == ["alice", "alice"])
            #expect(
                try database.sql("SELECT count(*), count(line) FROM pending WHERE instance_id = 7") == "2|0"
            )
        }
    }

    @Test("a row that waited for another attempt has its place in the line by the time at which that was due")
    func lineAfterAttempt() async throws {
        try await StoreDatabase.run { _, database in
            let receipts = try await database.accept([Fixture.order(), Fixture.order()], owner: 5)
            try await database.settle([StoreDatabase.entry(receipts[0], .waiting(at: try database.time()))])
            let work = try await database.store.takeDue(owner: 5, limit: 10)
            #expect(work.map(\.receipt) == [receipts[0]])
            for receipt in receipts {
                try await database.settle([StoreDatabase.entry(receipt, Self.inLine())])
            }
            let taken = try await database.store.takeDue(owner: 5, limit: 1, from: "TEAM/KEY/sandbox")
            #expect(taken.map(\.receipt) == [receipts[1]])
            // Released by an instance that leaves, or freed by another, it is in no line.
            try await database.store.release(owner: 5)
            #expect(try await database.store.takeDue(owner: 6, limit: 10).map(\.receipt) == [receipts[1]])
        }
    }

    @Test("what stands in a line counts for its app, not for all, and ends at its deadline or when it is taken back")
    func endOfLine() async throws {
        try await StoreDatabase.run { _, database in
            let receipts = try await database.accept([PushOrder](repeating: Fixture.order(), count: 3), owner: 5)
            for receipt in receipts {
                try await database.settle([StoreDatabase.entry(receipt, Self.inLine())])
            }
            #expect(try await database.store.backlog(upTo: 100).rows == 0)
            #expect(try await database.store.scheduled(upTo: 100).rows == [StoreDatabase.sdkAppID: 3])
            #expect(try await database.store.scheduled(upTo: 2).rows == [StoreDatabase.sdkAppID: 2])
            #expect(try await database.store.takeExpired(owner: 5, limit: 10).isEmpty)
            try database.sql("UPDATE pending SET deadline = now() WHERE message_id = \(receipts[1].id)")
            #expect(try await database.store.takeExpired(owner: 5, limit: 10).map(\.receipt) == [receipts[1]])

            let key = try database.sql("SELECT msg_key FROM message WHERE id = \(receipts[2].id)")
            let found = try #require(try await database.store.revocable(key, in: StoreDatabase.sdkAppID))
            try await database.store.revoke(found, of: StoreDatabase.sdkAppID, by: "administrator", replacements: [])
            let taken = try await database.store.takeDue(owner: 5, limit: 10)
            #expect(taken.map(\.isRevoked) == [true])
        }
    }

    @Test("recipients with delivery rows or rows of their own need nothing more from the whole message")
    func recipientsSettled() async throws {
        try await StoreDatabase.run { _, database in
            let order = Fixture.order(recipients: ["alice", "bob", "carol"])
            let receipts = try await database.accept([order, order], owner: 5)
            try await database.settle(
                [
                    StoreDatabase.entry(receipts[0], .accepted()),
                    StoreDatabase.entry(receipts[0], .waiting(at: try database.time(plus: 60)), account: "bob"),
                ],
                completes: false,
            )
            let settled = try await database.store.recipientsSettled(of: receipts)
            #expect(settled == [receipts[0].id: ["alice", "bob"]])
        }
    }

    @Test("a recipient whose name only looks like a settled one's is not settled")
    func recipientsSettledByBytes() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try await database.accept(
                [Fixture.order(recipients: ["caf\u{E9}", "cafe\u{301}"])],
                owner: 5
            )[0]
            try await database.settle(
                [StoreDatabase.entry(receipt, .accepted(), account: "caf\u{E9}")],
                completes: false
            )
            let settled = try #require(try await database.store.recipientsSettled(of: [receipt])[receipt.id])
            #expect(settled.contains("caf\u{E9}"))
            #expect(!settled.contains("cafe\u{301}"))
        }
    }

    // MARK: - Instances

    @Test("an instance gets a number of its own, and its heartbeat moves its counter")
    func heartbeat() async throws {
        try await StoreDatabase.run { _, database in
            let first = try await database.instances.register(host: "one")
            let second = try await database.instances.register(host: "two")
            #expect(first < second)
            let before = try database.time()
            let heartbeat = try await database.instances.heartbeat(of: first)
            #expect(heartbeat.isKnown)
            #expect(heartbeat.others == [second: 0])
            #expect(heartbeat.time >= before)
            #expect(try await database.instances.heartbeat(of: second).others == [first: 1])
            #expect(try database.sql("SELECT host, heartbeat FROM instance ORDER BY id") == "one|1\ntwo|1")
        }
    }

    @Test("an instance that was taken over learns it from its heartbeat")
    func declaredDead() async throws {
        try await StoreDatabase.run { _, database in
            let id = try await database.instances.register(host: "one")
            #expect(try await database.instances.takeOver(id) == 0)
            #expect(try await database.instances.heartbeat(of: id).isKnown == false)
        }
    }

    @Test("the work of a dead instance is taken over once, whoever tries, and counted")
    func takeOver() async throws {
        try await StoreDatabase.run(connections: 4) { lane, database in
            let dead = try await database.instances.register(host: "dead")
            let alive = try await database.instances.register(host: "alive")
            _ = try await database.accept([Fixture.order(), Fixture.order()], owner: dead)
            _ = try await database.accept(owner: alive)
            let tasks = (1...4).map { _ in
                Task {
                    _ = lane
                    return try await database.instances.takeOver(dead)
                }
            }
            var freed: [Int64?] = []
            for task in tasks {
                freed.append(try await task.value)
            }
            #expect(freed.filter { $0 != nil } == [2])
            #expect(
                try database.sql(
                    "SELECT coalesce(instance_id, 0), takeovers, reason FROM pending ORDER BY message_id"
                ) == "0|1|taken_over\n0|1|taken_over\n\(alive)|0|"
            )
            #expect(try database.sql("SELECT id FROM instance") == "\(alive)")
        }
    }

    @Test("a takeover tells what ran alone among suspects: the only one counts, several do not, nor the first time")
    func loneTakeovers() async throws {
        try await StoreDatabase.run { _, database in
            let receipts = try await database.accept([PushOrder](repeating: Fixture.order(), count: 3))
            func die(with owned: [Int]) async throws -> [String] {
                let dead = try await database.instances.register(host: "dead")
                for index in owned {
                    try database.sql(
                        "UPDATE pending SET instance_id = \(dead) WHERE message_id = \(receipts[index].id)"
                    )
                }
                let freed = try await database.instances.takeOver(dead)
                #expect(freed == Int64(owned.count))
                return try database.sql("SELECT takeovers || ' ' || lone_takeovers FROM pending ORDER BY message_id")
                    .split(separator: "\n").map(String.init)
            }
            #expect(try await die(with: [0, 1]) == ["1 0", "1 0", "0 0"])
            #expect(try await die(with: [0, 1, 2]) == ["2 0", "2 0", "1 0"])
            #expect(try await die(with: [0]) == ["3 1", "2 0", "1 0"])
            // What never lost an instance before is no company.
            try database.sql("UPDATE pending SET takeovers = 0 WHERE message_id = \(receipts[2].id)")
            #expect(try await die(with: [0, 2]) == ["4 2", "2 0", "1 0"])
            // A row that came through meanwhile starts afresh.
            try database.sql("UPDATE pending SET takeovers = 0 WHERE message_id = \(receipts[0].id)")
            #expect(try await die(with: [0]) == ["1 0", "2 0", "1 0"])
        }
    }

    @Test("a dead instance's late settlement changes nothing")
    func lateSettlement() async throws {
        try await StoreDatabase.run { _, database in
            let dead = try await database.instances.register(host: "dead")
            let receipt = try #require(try await database.accept(owner: dead).first)
            _ = try await database.instances.takeOver(dead)
            try await database.settle([StoreDatabase.entry(receipt, .accepted())], owner: dead)
            #expect(try database.deliveries() == [])
            #expect(try database.queue() == ["whole message of nobody, content"])
        }
    }

    @Test("rows of an instance that is not registered at all are freed, and only those")
    func orphans() async throws {
        try await StoreDatabase.run { _, database in
            let alive = try await database.instances.register(host: "alive")
            _ = try await database.accept(owner: 999_999)
            _ = try await database.accept(owner: alive)
            _ = try await database.accept()
            try await database.instances.releaseOrphans()
            #expect(
                try database.sql("SELECT coalesce(instance_id, 0), takeovers FROM pending ORDER BY message_id")
                    == "0|1\n\(alive)|0\n0|0"
            )
        }
    }

    @Test("an instance that leaves gives everything back without a count, but not as if nothing had been sent of it")
    func release() async throws {
        try await StoreDatabase.run { _, database in
            let id = try await database.instances.register(host: "leaves")
            _ = try await database.accept(owner: id)
            try await database.store.release(owner: id)
            #expect(
                try database.sql("SELECT instance_id IS NULL, takeovers, reason FROM pending") == "t|0|given_back"
            )
            #expect(try database.sql("SELECT count(*) FROM instance") == "0")
            #expect(try await database.store.takeDue(owner: 5, limit: 10).map(\.fate) == [.takenOver])
        }
    }

    @Test("what nobody has worked on, or an instance died with, is known for it when it is taken up")
    func takenOver() async throws {
        try await StoreDatabase.run { _, database in
            _ = try await database.accept(owner: 999_999)
            _ = try await database.accept()
            try await database.instances.releaseOrphans()
            #expect(try await database.store.takeDue(owner: 5, limit: 10).map(\.fate) == [.toBeSent])
            #expect(try await database.store.takeDue(owner: 5, limit: 10, .inCompany).map(\.fate) == [.takenOver])
        }
    }
}
