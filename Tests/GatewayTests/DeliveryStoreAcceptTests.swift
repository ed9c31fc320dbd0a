import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("Accepting messages", .serialized, .timeLimit(.minutes(5)))
struct DeliveryStoreAcceptTests {
    @Test("messages of one transaction get rising ids in their order, each with its row of the queue")
    func order() async throws {
        try await StoreDatabase.run { _, database in
            let orders = (0..<300).map { index in
                var order = Fixture.order(recipients: ["alice", "bob"])
                order.messageKey = "key-\(index)"
                return order
            }
            let receipts = try await database.accept(orders, owner: 5)
            #expect(receipts.count == 300)
            #expect(receipts.map(\.id) == receipts.map(\.id).sorted())
            #expect(Set(receipts.map(\.id)).count == 300)
            let rows = try database.sql("SELECT msg_key FROM message ORDER BY id").split(separator: "\n")
            #expect(rows.map(String.init) == orders.map(\.messageKey))
            #expect(
                try database.sql(
                    "SELECT DISTINCT dialect, endpoint, sender, la_id, event, recipients FROM message"
                ) == "tencent|openim/sendmsg|administrator|order-7|update|2"
            )
            #expect(
                try database.sql(
                    """
                    SELECT count(*), bool_and(account IS NULL AND instance_id = 5 AND takeovers = 0 AND progress IS NULL
                        AND due = accepted_at AND deadline = accepted_at + interval '1 hour')
                    FROM pending JOIN message USING (accepted_at) WHERE message.id = pending.message_id
                    """
                ) == "300|t"
            )
        }
    }

    @Test("a message that nobody has room for has no owner, and is due at once")
    func withoutOwner() async throws {
        try await StoreDatabase.run { _, database in
            let receipts = try await database.accept([Fixture.order(nil)])
            #expect(try database.sql("SELECT instance_id IS NULL, due <= now() FROM pending") == "t|t")
            #expect(try database.sql("SELECT la_id IS NULL, event IS NULL FROM message") == "t|t")
            let work = try await database.store.takeDue(owner: 5, limit: 10)
            #expect(work.map(\.receipt) == receipts)
            #expect(try work.map { try PushOrder(decoding: $0.content) } == [Fixture.order(nil)])
        }
    }

    @Test("a message lies in the partition of its UTC day")
    func partition() async throws {
        try await StoreDatabase.run { _, database in
            _ = try await database.accept()
            #expect(
                try database.sql(
                    """
                    SELECT tableoid::regclass::text = 'message_' || to_char(accepted_at AT TIME ZONE 'UTC', 'YYYYMMDD')
                    FROM message
                    """
                ) == "t"
            )
        }
    }

    @Test("partitions are there from yesterday to a week ahead, and making them again makes none")
    func partitions() async throws {
        try await StoreDatabase.run { _, database in
            try await database.instances.createPartitions()
            let counts = try database.sql(
                """
                SELECT inhparent::regclass::text AS parent, count(*) FROM pg_inherits
                WHERE inhparent::regclass::text IN ('message', 'delivery') GROUP BY 1 ORDER BY 1
                """
            )
            #expect(counts == "delivery|9\nmessage|9")
            #expect(try database.sql("SELECT create_partitions(7)") == "0")
            #expect(try database.sql("SELECT create_partitions(8)") == "2")
        }
    }

    @Test("one message that PostgreSQL refuses means that none of the transaction is stored")
    func allOrNone() async throws {
        try await StoreDatabase.run { _, database in
            var broken = Fixture.order()
            broken.lifetime = .max
            await #expect(throws: PostgresError.self) {
                _ = try await database.accept([Fixture.order(), broken])
            }
            let rows = try database.sql("SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM pending)")
            #expect(rows == "0")
        }
    }
}
