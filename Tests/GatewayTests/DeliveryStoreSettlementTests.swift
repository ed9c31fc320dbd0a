import LiveActivity
import PostgresClient
import TestSupport
import Testing

@testable import Gateway

@Suite("Settling recipients", .serialized, .timeLimit(.minutes(5)))
struct DeliveryStoreSettlementTests {
    private static let bothPhones = Fixture.order(recipients: ["alice", "bob"])

    // MARK: - Rows of the queue

    @Test("the last recipient takes the message's row and its content with it", arguments: [true, false])
    func finished(isShared: Bool) async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept([Self.bothPhones], owner: 5).first)
            let entries = try ["alice", "bob"].map { try StoreDatabase.entry(receipt, .accepted(), account: $0) }
            try await database.settle([entries[0]], completes: false, isShared: isShared)
            #expect(try database.queue() == ["whole message of 5, content"])
            #expect(try database.deliveries() == ["alice: accepted_by_apns"])
            try await database.settle([entries[1]], isShared: isShared)
            #expect(try database.queue() == [])
            #expect(try database.deliveries() == ["alice: accepted_by_apns", "bob: accepted_by_apns"])
        }
    }

    @Test("a waiting recipient keeps the content until it is done, and only that row can be taken up")
    func waiting() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept([Self.bothPhones], owner: 5).first)
            let soon = try database.time(plus: -1)
            try await database.settle([
                StoreDatabase.entry(receipt, .accepted()),
                StoreDatabase.entry(receipt, .waiting(at: soon, attempts: 3), account: "bob"),
            ])
            #expect(try database.queue() == ["whole message of nobody, waits, content", "bob of nobody"])
            #expect(
                try database.sql("SELECT attempts, reason, takeovers FROM pending WHERE account = 'bob'")
                    == "3|InternalServerError|0"
            )
            let work = try await database.store.takeDue(owner: 6, limit: 10)
            #expect(work.map(\.account) == ["bob"])
            let row = try #require(work.first)
            #expect(row.receipt == receipt)
            #expect(row.deadline == receipt.acceptedAt + .seconds(Fixture.lifetime))
            #expect(try PushOrder(decoding: row.content) == Self.bothPhones)
            #expect(row.progress.flatMap(RecipientProgress.init(decoding:))?.targets.map(\.attempts) == [3])
            try await database.settle(
                [StoreDatabase.entry(receipt, .accepted(), account: "bob")],
                completes: false,
                owner: 6,
            )
            #expect(try database.queue() == [])
            #expect(try database.deliveries() == ["alice: accepted_by_apns", "bob: accepted_by_apns"])
        }
    }

    @Test("a recipient that waits again keeps its one row")
    func waitingAgain() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            let soon = try database.time(plus: -1)
            for attempts in 1...3 {
                try await database.settle([StoreDatabase.entry(receipt, .waiting(at: soon, attempts: attempts))])
                #expect(try database.queue() == ["whole message of nobody, waits, content", "alice of nobody"])
                #expect(try await database.store.takeDue(owner: 5, limit: 10).count == 1)
            }
            #expect(try database.sql("SELECT attempts FROM pending WHERE account IS NOT NULL") == "3")
        }
    }

    @Test("a recipient that falls back stays with its owner, and finishes from there")
    func fallingBack() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            try await database.settle([StoreDatabase.entry(receipt, .fallingBack())], completes: false)
            #expect(try database.queue() == ["whole message of 5, content", "alice of 5"])
            #expect(try database.deliveries() == [])
            #expect(try await database.store.takeDue(owner: 6, limit: 10).isEmpty)
            try await database.settle([StoreDatabase.entry(receipt, .accepted())])
            #expect(try database.queue() == [])
            #expect(try database.deliveries() == ["alice: accepted_by_apns"])
        }
    }

    @Test("what fell back and then waits gives its row to whoever has room")
    func fallingBackThenWaiting() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            try await database.settle([StoreDatabase.entry(receipt, .fallingBack())], completes: false)
            try await database.settle([StoreDatabase.entry(receipt, .waiting(at: try database.time(plus: 60)))])
            #expect(try database.queue() == ["whole message of nobody, waits, content", "alice of nobody"])
        }
    }

    @Test("messages that finish in one go, without rows for recipients, do not touch each other's rows")
    func severalMessages() async throws {
        try await StoreDatabase.run { _, database in
            let receipts = try await database.accept([Self.bothPhones, Fixture.order(), Fixture.order()], owner: 5)
            try await database.store.settle(
                receipts.map { StoreDatabase.entry($0, try .accepted()) },
                completed: [receipts[1].id],
                shared: [],
                owner: 5,
                mayBeRepeated: false,
            )
            #expect(
                try database.sql("SELECT array_agg(message_id ORDER BY message_id) FROM pending")
                    == "{\(receipts[0].id),\(receipts[2].id)}"
            )
        }
    }

    // MARK: - Fencing

    @Test(
        "an instance that lost the message writes nothing",
        arguments: ["finished", "waiting", "falling back"],
        [true, false],
    )
    func fencing(next: String, isShared: Bool) async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            let settlement =
                switch next {
                case "finished": try Settlement.Next.accepted()
                case "waiting": try Settlement.Next.waiting(at: try database.time())
                default: try Settlement.Next.fallingBack()
                }
            for completes in [true, false] {
                let entry = StoreDatabase.entry(receipt, settlement)
                try await database.settle([entry], completes: completes, owner: 4, isShared: isShared)
            }
            #expect(try database.queue() == ["whole message of 5, content"])
            #expect(try database.deliveries() == [])
        }
    }

    @Test("an instance that lost a recipient writes nothing")
    func fencingOfRecipient() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            try await database.settle([StoreDatabase.entry(receipt, .waiting(at: try database.time(plus: -1)))])
            _ = try await database.store.takeDue(owner: 6, limit: 10)
            let before = try database.sql("SELECT * FROM pending ORDER BY account")
            try await database.settle([StoreDatabase.entry(receipt, .accepted())], owner: 5)
            try await database.settle([StoreDatabase.entry(receipt, .waiting(at: try database.time()))], owner: 5)
            #expect(try database.sql("SELECT * FROM pending ORDER BY account") == before)
            #expect(try database.deliveries() == [])
        }
    }

    @Test("what may have been written before is not written twice")
    func repeated() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept([Self.bothPhones], owner: 5).first)
            let entry = StoreDatabase.entry(receipt, try .accepted())
            for _ in 1...2 {
                try await database.settle([entry], completes: false, mayBeRepeated: true)
            }
            #expect(try database.deliveries() == ["alice: accepted_by_apns"])
            try await database.settle([StoreDatabase.entry(receipt, .accepted(), account: "bob")], mayBeRepeated: true)
            try await database.settle([entry], completes: false, mayBeRepeated: true)
            #expect(try database.deliveries() == ["alice: accepted_by_apns", "bob: accepted_by_apns"])
            #expect(try database.queue() == [])
        }
    }

    @Test("what took its message away is not written twice")
    func repeatedWithoutMessage() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            let entry = StoreDatabase.entry(receipt, try .accepted())
            for mayBeRepeated in [false, true, false] {
                try await database.settle([entry], mayBeRepeated: mayBeRepeated, isShared: false)
                #expect(try database.deliveries() == ["alice: accepted_by_apns"])
                #expect(try database.queue() == [])
            }
        }
    }

    @Test("a wait that is written twice does not take the row from who took it up between")
    func waitRepeated() async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept([Self.bothPhones], owner: 5).first)
            let entry = StoreDatabase.entry(receipt, try .waiting(at: try database.time(plus: -1)))
            try await database.settle([entry], completes: false)
            #expect(try await database.store.takeDue(owner: 6, limit: 10).count == 1)
            try await database.settle([entry], completes: false, mayBeRepeated: true)
            #expect(try database.queue() == ["whole message of 5, content", "alice of 6"])
        }
    }

    // MARK: - Delivery rows

    @Test("a delivery row holds everything that the target knows", arguments: [true, false])
    func columns(isShared: Bool) async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            var target = DeliveryTarget(
                kind: .device,
                installation: "phone-1",
                tokenFingerprint: "0123456789ab",
                state: .settled(.tokenDead),
                reason: "activity_not_registered",
            )
            target.attempts = 2
            target.status = 410
            target.statusReason = "Unregistered"
            target.environment = .sandbox
            target.priority = 10
            target.priorityReason = "notification"
            target.timestampSent = 1_796_007_173
            target.payloadBytes = 300
            target.sentAt = receipt.acceptedAt + .seconds(1)
            let record = DeliveryRecord(
                route: .notification,
                routeReason: target.reason,
                isFallback: true,
                outcome: .tokenDead,
                target: target,
            )
            let nothing = DeliveryRecord(
                route: .nothing,
                routeReason: "no_device",
                isFallback: false,
                outcome: .nothingToSend,
                target: nil,
            )
            try await database.settle([StoreDatabase.entry(receipt, .finished([record, nothing]))], isShared: isShared)
            #expect(
                try database.sql(
                    """
                    SELECT message_id, accepted_at = (SELECT accepted_at FROM message), sdk_app_id, account, installation,
                        la_id, event, route, route_reason, fallback, outcome, apns_status, apns_reason, attempts,
                        priority, priority_reason, timestamp_sent, payload_bytes, token_fingerprint, environment,
                        sent_at - accepted_at, finished_at >= accepted_at
                    FROM delivery WHERE route = 'notification'
                    """
                )
                    == "\(receipt.id)|t|1400000000|alice|phone-1|order-7|update|notification|activity_not_registered|t"
                    + "|token_dead|410|Unregistered|2|10|notification|1796007173|300|0123456789ab|sandbox|00:00:01|t"
            )
            #expect(
                try database.sql("SELECT apns_id FROM delivery WHERE route = 'notification'")
                    == PushComposer.apnsID(receipt.id, .device, "alice", "phone-1")
            )
            #expect(
                try database.sql(
                    """
                    SELECT outcome, route_reason, attempts, num_nulls(installation, apns_status, apns_reason, apns_id,
                        priority, priority_reason, timestamp_sent, payload_bytes, token_fingerprint, environment, sent_at)
                    FROM delivery WHERE route = 'none'
                    """
                ) == "nothing_to_send|no_device|0|11"
            )
        }
    }

    @Test(
        "every outcome and route that the code knows, the table knows",
        arguments: [
            DeliveryOutcome.acceptedByAPNs, .tokenDead, .refused, .expired, .superseded, .unchanged, .suppressed,
            .foreground,
            .activityEnded, .nothingToSend, .cancelled, .quarantined,
        ]
    )
    func words(outcome: DeliveryOutcome) async throws {
        try await StoreDatabase.run { _, database in
            let receipt = try #require(try await database.accept(owner: 5).first)
            let records = [DeliveryRecord.Route.liveActivity, .notification, .nothing].map { route in
                DeliveryRecord(route: route, routeReason: "", isFallback: false, outcome: outcome, target: nil)
            }
            try await database.settle([StoreDatabase.entry(receipt, .finished(records))])
            #expect(try database.deliveries().count == 3)
        }
    }
}
