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
        state: String? = nil,
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
            state: state.map { SentState.encode(ActivityContent(event: .update, contentState: Array($0.utf8))) },
        )
    }

    /// Nothing goes along, and nothing is waited for.
    private static let nothing = DeliveryStore.AlertAnswer()

    /// What follows from the claim of an update with an alert that a newer one overtook.
    private static func overtaken(
        _ messageID: Int64,
        _ title: String?,
        _ database: StoreDatabase,
    ) async throws -> DeliveryStore.AlertAnswer {
        try await database.store.alertAnswers([question(messageID, title, isClaimed: false)])[0]
    }

    /// Claims an update, which goes out.
    private static func send(
        _ messageID: Int64,
        _ title: String?,
        state: String?,
        _ database: StoreDatabase,
    ) async throws -> DeliveryStore.AlertAnswer {
        #expect(try await database.claim(messageID, hasAlert: title != nil).map(\.verdict) == [.claimed])
        return try await database.store.alertAnswers([question(messageID, title, state: state)])[0]
    }

    private static func correction(_ change: RegistrationCorrection.Change) -> RegistrationCorrection {
        RegistrationCorrection(kind: .activity, installation: "phone-1", token: nil, change: change)
    }

    /// The alert that a message without one takes along.
    private static func takenAlong(_ messageID: Int64, _ database: StoreDatabase) async throws -> WaitingAlert? {
        try await database.store.alertAnswers([question(messageID)])[0].waiting
    }

    @Test("an alert goes along with a newer state once its own push did not come through, until one is accepted")
    func failedAlert() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            let receipts = try await database.accept([Fixture.order(), Fixture.order()], owner: 5)
            let (first, second) = (receipts[0], receipts[1])
            #expect(try await database.store.alertAnswers([Self.question(first.id, "Late")]) == [Self.nothing])
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
            _ = try await database.store.alertAnswers([Self.question(10, "Late")])
            #expect(try await Self.takenAlong(11, database)?.isUnderWay == true)
            try database.sql("UPDATE waiting_alert SET sent_at = sent_at - interval '11 seconds'")
            let late = try #require(try await Self.takenAlong(11, database))
            #expect(late.messageID == 10)
            #expect(!late.isUnderWay)
            _ = try await database.store.alertAnswers([Self.question(12, "Later", isClaimed: false)])
            #expect(try await Self.takenAlong(13, database)?.alert.title == "Later")
        }
    }

    @Test("the newest alert stands, whichever comes last, and none outlives its message or its registration")
    func newestAlert() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.store.alertAnswers([Self.question(12, "New", isClaimed: false)])
            _ = try await database.store.alertAnswers([Self.question(10, "Old", isClaimed: false)])
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
            _ = try await database.store.alertAnswers([past])
            _ = try await database.store.alertAnswers([Self.question(15, "Gone")])
            #expect(try database.sql("SELECT message_id FROM waiting_alert") == "15")
            try database.sql("DELETE FROM live_activity")
            #expect(try database.sql("SELECT count(*) FROM waiting_alert") == "0")
            // The registration went between claim and question.
            _ = try await database.store.alertAnswers([Self.question(16, "Gone")])
            #expect(try database.sql("SELECT count(*) FROM waiting_alert") == "0")
        }
    }

    // MARK: - After the newer state

    @Test("an alert first claimed after a newer state went out goes along with that state, sent again, until accepted")
    func afterNewerState() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            let receipts = try await database.accept([Fixture.order(), Fixture.order()], owner: 5)
            let (older, newer) = (receipts[0], receipts[1])
            #expect(try await Self.send(newer.id, nil, state: #"{"step":2.0}"#, database) == Self.nothing)
            let sent = try #require(Int64(try database.sql("SELECT last_timestamp FROM live_activity")))
            #expect(try await database.claim(older.id, hasAlert: true).map(\.verdict) == [.superseded])
            let first = try await Self.overtaken(older.id, "Late", database)
            #expect(first.sentState?.messageID == newer.id)
            #expect(first.sentState?.content.contentState == Array(#"{"step":2.0}"#.utf8))
            #expect(first.timestamp > sent)
            #expect(try database.sql("SELECT last_timestamp FROM live_activity") == "\(first.timestamp)")

            // While it is under way it is not sent once more.
            #expect(try await Self.overtaken(older.id, nil, database).waiting?.isUnderWay == true)
            let failed = Self.correction(.alertNotSent(messageID: older.id))
            let waiting = try Settlement.Next.waiting(at: database.time(plus: 60))
            try await database.settle([StoreDatabase.entry(older, waiting, [failed])], completes: false)
            let second = try await Self.overtaken(older.id, nil, database)
            #expect(second.sentState == first.sentState)
            #expect(second.timestamp > first.timestamp)
            let settled = Self.correction(.alertSettled(messageID: older.id))
            try await database.settle([StoreDatabase.entry(older, .accepted(), [settled])])
            #expect(try await Self.overtaken(older.id, nil, database) == Self.nothing)
        }
    }

    @Test(
        "an older alert is left to what is claimed after the state that is kept, and to an alert of its own or an end"
    )
    func notAgain() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await Self.send(20, nil, state: #"{"step":1}"#, database)
            // Claimed, but its own question comes only now: it takes the alert along.
            #expect(try await database.claim(21).map(\.verdict) == [.claimed])
            #expect(try await Self.overtaken(19, "Late", database) == Self.nothing)
            let next = try await database.store.alertAnswers([Self.question(21, state: #"{"step":2}"#)])[0]
            #expect(next.waiting?.messageID == 19)
            #expect(next.waiting?.isUnderWay == false)
            // It is with that push now.
            #expect(try await Self.overtaken(19, nil, database).waiting?.isUnderWay == true)
            try database.sql("DELETE FROM waiting_alert")

            _ = try await Self.send(22, "Newer", state: nil, database)
            #expect(try database.sql("SELECT count(*) FROM sent_state") == "0")
            try database.sql("DELETE FROM waiting_alert")
            #expect(try await Self.overtaken(18, "Late", database) == Self.nothing)
            _ = try await Self.send(23, nil, state: #"{"step":3}"#, database)
            try database.sql("UPDATE waiting_alert SET sent_at = NULL; UPDATE live_activity SET end_message = 24")
            #expect(try await Self.overtaken(18, nil, database) == Self.nothing)
        }
    }

    @Test("where an alert and a newer state meet in two lanes at the same moment, one of them brings the alert, once")
    func atTheSameMoment() async throws {
        try await StoreDatabase.run(connections: 2) { lane, database in
            try database.registerActivity()
            for round in 1...60 as ClosedRange<Int64> {
                let (older, newer) = (round * 10, round * 10 + 1)
                #expect(try await database.claim(newer).map(\.verdict) == [.claimed])
                let state = Task {
                    _ = lane
                    return try await database.store.alertAnswers([Self.question(newer, state: #"{"step":1}"#)])[0]
                }
                let alert = Task {
                    _ = lane
                    return try await Self.overtaken(older, "Late", database)
                }
                let goesAlong = try await state.value.waiting?.messageID == older
                let goesAgain = try await alert.value.sentState?.messageID == newer
                #expect(goesAlong != goesAgain, "round \(round)")
                try database.sql("DELETE FROM waiting_alert")
            }
        }
    }

    @Test("a sent state is forgotten a minute later, once no older message is unfinished, and with its registration")
    func forgotten() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            let receipts = try await database.accept([Fixture.order(), Fixture.order()], owner: 5)
            _ = try await Self.send(receipts[1].id, nil, state: "{}", database)
            func isKept() async throws -> Bool {
                try await database.store.forgetSentStates()
                return try database.sql("SELECT count(*) FROM sent_state") == "1"
            }
            #expect(try await isKept())
            try database.sql("UPDATE sent_state SET sent_at = sent_at - interval '2 minutes'")
            #expect(try await isKept())
            try database.sql("DELETE FROM pending WHERE message_id = \(receipts[0].id)")
            let isStillKept = try await isKept()
            #expect(!isStillKept)
            _ = try await Self.send(receipts[1].id, nil, state: "{}", database)
            #expect(try await isKept())
            try database.sql("DELETE FROM live_activity")
            #expect(try database.sql("SELECT count(*) FROM sent_state") == "0")
        }
    }
}
