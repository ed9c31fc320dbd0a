import LiveActivity
import TestSupport
import Testing

@testable import Gateway

@Suite("Alerts of updates that a newer state overtakes", .serialized, .timeLimit(.minutes(5)))
struct DeliveryStoreAlertTests {
    private static func question(
        _ messageID: Int64,
        _ title: String? = nil,
        deadline: UnixTime = Fixture.accepted + .seconds(1_000_000_000),
        isClaimed: Bool = true,
    ) -> DeliveryStore.AlertQuestion {
        DeliveryStore.AlertQuestion(
            sdkAppID: StoreDatabase.sdkAppID,
            account: "alice",
            laID: "order-7",
            installation: "phone-1",
            messageID: messageID,
            alert: title.map { ActivityAlert(title: .plain($0), body: "é", sound: "default") },
            deadline: deadline,
            isClaimed: isClaimed,
        )
    }

    private static func correction(_ change: RegistrationCorrection.Change) -> RegistrationCorrection {
        RegistrationCorrection(kind: .activity, installation: "phone-1", token: nil, change: change)
    }

    /// The alert that a message without one takes along.
    private static func takenAlong(_ messageID: Int64, _ database: StoreDatabase) async throws -> WaitingAlert? {
        try await database.store.waitingAlerts([question(messageID)])[0]
    }

    @Test("an alert goes along with a newer state once its own push did not come through, until one is accepted")
    func failedAlert() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            let receipts = try await database.accept([Fixture.order(), Fixture.order()], owner: 5)
            let (first, second) = (receipts[0], receipts[1])
            #expect(try await database.store.waitingAlerts([Self.question(first.id, "Late")]) == [nil])
            // Its own push is under way: what is newer waits for its answer.
            #expect(try await Self.takenAlong(second.id, database)?.isUnderWay == true)
            let failed = Self.correction(.alertNotSent(messageID: first.id))
            let waiting = try Settlement.Next.waiting(at: database.time(plus: 60))
            try await database.settle([StoreDatabase.entry(first, waiting, [failed])], completes: false)
            let alert = ActivityAlert(title: "Late", body: "é", sound: "default")
            let expected = WaitingAlert(messageID: first.id, alert: alert)
            #expect(try await Self.takenAlong(second.id, database) == expected)
            // Whoever is older says nothing about it.
            #expect(try await Self.takenAlong(first.id - 1, database) == nil)
            let settled = Self.correction(.alertSettled(messageID: first.id))
            try await database.settle([StoreDatabase.entry(second, .accepted(), [settled])])
            #expect(try await Self.takenAlong(second.id + 1, database) == nil)
            #expect(try database.sql("SELECT count(*) FROM waiting_alert") == "0")
        }
    }

    @Test("an alert whose push has no outcome for ten seconds goes along, that of a superseded update at once")
    func unknownOutcome() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.store.waitingAlerts([Self.question(10, "Late")])
            #expect(try await Self.takenAlong(11, database)?.isUnderWay == true)
            try database.sql("UPDATE waiting_alert SET sent_at = sent_at - interval '11 seconds'")
            let late = try #require(try await Self.takenAlong(11, database))
            #expect(late.messageID == 10)
            #expect(!late.isUnderWay)
            _ = try await database.store.waitingAlerts([Self.question(12, "Later", isClaimed: false)])
            #expect(try await Self.takenAlong(13, database)?.alert.title == "Later")
        }
    }

    @Test("the newest alert stands, whichever comes last, and none outlives its message or its registration")
    func newestAlert() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.store.waitingAlerts([Self.question(12, "New", isClaimed: false)])
            _ = try await database.store.waitingAlerts([Self.question(10, "Old", isClaimed: false)])
            #expect(try await Self.takenAlong(13, database)?.alert.title == "New")
            // What belongs to another message stays.
            let other = Self.correction(.alertSettled(messageID: 10))
            let receipt = try await database.accept(owner: 5)[0]
            try await database.settle([StoreDatabase.entry(receipt, .accepted(), [other])])
            #expect(try await Self.takenAlong(13, database)?.messageID == 12)
            try database.sql("UPDATE waiting_alert SET until = clock_timestamp()")
            #expect(try await Self.takenAlong(13, database) == nil)
            #expect(try database.sql("SELECT count(*) FROM waiting_alert") == "0")

            let past = Self.question(14, "Past", deadline: Fixture.accepted, isClaimed: false)
            _ = try await database.store.waitingAlerts([past])
            _ = try await database.store.waitingAlerts([Self.question(15, "Gone")])
            #expect(try database.sql("SELECT message_id FROM waiting_alert") == "15")
            try database.sql("DELETE FROM live_activity")
            #expect(try database.sql("SELECT count(*) FROM waiting_alert") == "0")
            // The registration went between claim and question.
            _ = try await database.store.waitingAlerts([Self.question(16, "Gone")])
            #expect(try database.sql("SELECT count(*) FROM waiting_alert") == "0")
        }
    }
}
