import Logging
import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("Messages that wait for their time", .serialized, .timeLimit(.minutes(5)))
struct ScheduleTests {
    private static func message(
        _ key: String,
        _ number: Int64? = nil,
        recipients: [String] = ["alice"],
        app: Int64 = StoreDatabase.sdkAppID,
    ) -> DeliveryStore.NewMessage {
        var order = Fixture.order()
        order.sdkAppID = app
        order.messageKey = key
        order.recipients = recipients
        let digest = number.map { number in RequestDigest { $0.add(number) } }
        return DeliveryStore.NewMessage(PlannedOrder(order: order, digest: digest, sendAt: nil))
    }

    private static let waiting =
        "SELECT string_agg(msg_key, ',' ORDER BY id) FROM scheduled_message WHERE cancelled_at IS NULL"
    private static let sent = "SELECT string_agg(msg_key, ',' ORDER BY id) FROM message"

    @Test("it is stored apart, and becomes a message of the queue once its time has come, not before")
    func waitsAndGoes() async throws {
        try await StoreDatabase.run { _, database in
            let time = try database.time(plus: 3600)
            let later = DeliveryStore.LaterMessage(message: Self.message("later"), sendAt: time)
            let accepted = try await database.store.accept([], later: [later], owner: 5)
            #expect(accepted.later.map(\.messageKey) == ["later"])
            #expect(accepted.later.map(\.isRepeat) == [false])
            #expect(try await database.instances.releaseScheduled(limit: 10) == 0)
            #expect(try database.sql(Self.waiting) == "later")
            #expect(try database.sql(Self.sent) == "")
            #expect(try database.queue().isEmpty)
            #expect(
                try await database.store.schedule(upTo: 10) == QueueDepth.Schedule(messages: 1, lateMicroseconds: 0)
            )

            try database.sql("UPDATE scheduled_message SET send_at = now() - interval '10 seconds'")
            #expect(try await database.store.schedule(upTo: 10).lateMicroseconds >= 10_000_000)
            #expect(try await database.instances.releaseScheduled(limit: 10) == 1)
            #expect(try database.sql("SELECT count(*) FROM scheduled_message") == "0")
            #expect(try database.queue() == ["whole message of nobody, content"])
            #expect(
                try database.sql(
                    """
                    SELECT msg_key, sender, la_id, event, recipients, message.accepted_at = pending.accepted_at,
                        due <= now(), deadline - message.accepted_at < interval '\(Fixture.lifetime - 9) seconds'
                    FROM message JOIN pending ON message_id = id
                    """
                ) == "later|administrator|order-7|update|1|t|t|t"
            )
            let work = try await database.store.takeDue(owner: 5, limit: 10)
            #expect(work.map(\.content) == [later.message.content])
        }
    }

    @Test("its place is that of its time: what was accepted meanwhile does not supersede it, and is superseded by it")
    func takesItsPlaceWhenSent() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            let later = DeliveryStore.LaterMessage(
                message: Self.message("later"),
                sendAt: try database.time(plus: 3600)
            )
            _ = try await database.store.accept([], later: [later], owner: nil)
            let meanwhile = try #require(try await database.accept().first)
            try database.sql("UPDATE scheduled_message SET send_at = now()")
            #expect(try await database.instances.releaseScheduled(limit: 10) == 1)
            let id = try #require(Int64(try database.sql("SELECT id FROM message WHERE msg_key = 'later'")))
            #expect(id > meanwhile.id)
            #expect(try await database.claim(id).map(\.verdict) == [.claimed])
            #expect(try await database.claim(meanwhile.id).map(\.verdict) == [.superseded])
        }
    }

    @Test("the same request is answered with the first one's key: while it waits, however late, and for 120 s after")
    func again() async throws {
        try await StoreDatabase.run { _, database in
            func post(_ key: String) async throws -> Acceptance {
                let later = DeliveryStore.LaterMessage(
                    message: Self.message(key, 1),
                    sendAt: try database.time(plus: 60)
                )
                return try #require(try await database.store.accept([], later: [later], owner: nil).later.first)
            }
            let first = try await post("a")
            let again = try await post("b")
            #expect(again == Acceptance(message: first.message, messageKey: "a", isRepeat: true))
            #expect(try database.sql("SELECT repeats FROM recent_request") == "1")
            try database.sql("DELETE FROM recent_request")
            #expect(try await post("c") == again)
            #expect(try database.sql("SELECT msg_key FROM recent_request") == "a")
            #expect(try database.sql(Self.waiting) == "a")

            try database.sql("DELETE FROM scheduled_message; DELETE FROM recent_request")
            #expect(try await !post("d").isRepeat)
            try database.sql("UPDATE scheduled_message SET send_at = now()")
            #expect(try await database.instances.releaseScheduled(limit: 10) == 1)
            let late = try #require(try await database.store.accept([Self.message("e", 1)], owner: nil).first)
            #expect(late.isRepeat)
            #expect(late.messageKey == "d")
            #expect(try database.sql(Self.sent) == "d")
        }
    }

    @Test("together with what is sent at once: all or none")
    func together() async throws {
        try await StoreDatabase.run { _, database in
            let time = try database.time(plus: 60)
            let stranger = DeliveryStore.LaterMessage(message: Self.message("c", 3, app: 7), sendAt: time)
            let good = DeliveryStore.LaterMessage(message: Self.message("b", 2), sendAt: time)
            await #expect(throws: PostgresError.self) {
                _ = try await database.store.accept([Self.message("a", 1)], later: [good, stranger], owner: 5)
            }
            #expect(try database.sql(Self.sent) == "")
            #expect(try database.sql("SELECT count(*) FROM recent_request") == "0")
            let accepted = try await database.store.accept([Self.message("a", 1)], later: [good], owner: 5)
            #expect(accepted.atOnce.map(\.messageKey) == ["a"])
            #expect(accepted.later.map(\.messageKey) == ["b"])
            #expect(try database.queue() == ["whole message of 5, content"])
            #expect(try database.sql(Self.waiting) == "b")
        }
    }

    @Test("cancelled: never sent, its content is gone, who did it is kept, and the same request is a new one")
    func cancelled() async throws {
        try await StoreDatabase.run { lane, database in
            let records = MessageRecordStore(pool: database.pool, logger: Logger(minimumLevel: .error))
            let later = DeliveryStore.LaterMessage(message: Self.message("a", 1), sendAt: try database.time(plus: 60))
            _ = try await database.store.accept([], later: [later], owner: nil)
            let shown = try await records.messages(withKey: "a", in: StoreDatabase.sdkAppID)
            #expect(shown.map(\.schedule?.sendAt) == [later.sendAt])
            #expect(shown[0].recipients.map(\.outcome) == ["retrying"])
            #expect(shown[0].recipients.map(\.reason) == ["scheduled"])

            func cancel() async throws -> Int64 {
                try await records.cancel(messagesWithKey: "a", in: StoreDatabase.sdkAppID, by: "boss")
            }
            #expect(try await cancel() == 1)
            #expect(try await cancel() == 0)
            try database.sql("UPDATE scheduled_message SET send_at = now()")
            #expect(try await database.instances.releaseScheduled(limit: 10) == 0)
            #expect(
                try database.sql(
                    "SELECT content IS NULL, cancelled_by, (SELECT state FROM scheduled) FROM scheduled_message"
                ) == "t|boss|cancelled"
            )
            let cancelled = try await records.messages(withKey: "a", in: StoreDatabase.sdkAppID)
            #expect(cancelled.map(\.schedule?.cancelledBy) == ["boss"])
            #expect(cancelled[0].recipients.map(\.outcome) == ["cancelled"])

            let again = DeliveryStore.LaterMessage(message: Self.message("b", 1), sendAt: later.sendAt)
            #expect(try await database.store.accept([], later: [again], owner: nil).later.map(\.isRepeat) == [false])
        }
    }

    @Test("a deleted account gets nothing of it, which is recorded; a message that has nobody left is cancelled")
    func deletedAccount() async throws {
        try await StoreDatabase.run { _, database in
            let time = try database.time(plus: 60)
            let names = ["alice", "b\"o\\b", "{carol,NULL}", "d\u{E9}"]
            let both = DeliveryStore.LaterMessage(message: Self.message("all", recipients: names), sendAt: time)
            let one = DeliveryStore.LaterMessage(message: Self.message("one", 1), sendAt: time)
            _ = try await database.store.accept([], later: [both, one], owner: nil)
            _ = try await AccountStore(pool: database.pool).delete(["alice", "nobody"], in: StoreDatabase.sdkAppID)
            #expect(
                try database.sql("SELECT msg_key, state, cancelled_by FROM scheduled ORDER BY 1")
                    == "all|waiting|\none|cancelled|account_delete"
            )
            #expect(try database.sql("SELECT count(*) FROM scheduled_message WHERE content IS NULL") == "1")
            #expect(try database.sql("SELECT count(*) FROM recent_request") == "0")
            _ = try await AccountStore(pool: database.pool).delete([names[1]], in: StoreDatabase.sdkAppID)
            let shown = try await MessageRecordStore(pool: database.pool, logger: Logger(minimumLevel: .error))
                .messages(withKey: "all", in: StoreDatabase.sdkAppID)
            #expect(shown.flatMap(\.recipients).map(\.account) == names)
            #expect(shown.flatMap(\.recipients).map(\.outcome) == ["cancelled", "cancelled", "retrying", "retrying"])

            try database.sql("UPDATE scheduled_message SET send_at = now()")
            #expect(try await database.instances.releaseScheduled(limit: 10) == 1)
            #expect(try database.deliveries() == ["alice: cancelled", "b\"o\\b: cancelled"])
            let work = try await database.store.takeDue(owner: 5, limit: 10)
            let settled = try await database.store.recipientsSettled(of: work.map(\.receipt))
            let id = try #require(work.first?.receipt.id)
            #expect(names.map { settled[id]?.contains($0) } == [true, true, false, false])
        }
    }

    @Test("an app that is removed takes what waits along")
    func removedApp() async throws {
        try await StoreDatabase.run { _, database in
            try database.sql("INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (7, '', '{a}')")
            let later = DeliveryStore.LaterMessage(
                message: Self.message("a", app: 7),
                sendAt: try database.time(plus: 60)
            )
            _ = try await database.store.accept([], later: [later], owner: nil)
            try database.sql("DELETE FROM app WHERE sdk_app_id = 7")
            #expect(try database.sql("SELECT count(*) FROM scheduled_message") == "0")
        }
    }

    @Test("many gateways look at the same time: each message is sent once, the earliest first")
    func manyAtOnce() async throws {
        try await StoreDatabase.run(connections: 6) { lane, database in
            let time = try database.time(plus: -60)
            let messages = (0..<300).map { number in
                let sendAt = time + .seconds(Int64(-number))
                return DeliveryStore.LaterMessage(message: Self.message("m\(number)"), sendAt: sendAt)
            }
            _ = try await database.store.accept([], later: messages, owner: nil)
            #expect(try await database.instances.releaseScheduled(limit: 2) == 2)
            #expect(try database.sql(Self.sent) == "m299,m298")
            let tasks = (0..<12).map { _ in
                Task {
                    _ = lane
                    var count: Int64 = 0
                    while case let more = try await database.instances.releaseScheduled(limit: 7), more > 0 {
                        count += more
                    }
                    return count
                }
            }
            var count: Int64 = 0
            for task in tasks { count += try await task.value }
            #expect(count == 298)
            #expect(try database.sql("SELECT count(DISTINCT msg_key), count(*) FROM message") == "300|300")
            #expect(try database.sql("SELECT count(*) FROM pending WHERE instance_id IS NULL") == "300")
        }
    }
}
