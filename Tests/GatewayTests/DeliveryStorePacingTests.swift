import LiveActivity
import TestSupport
import Testing

@testable import Gateway

@Suite("Identical states and the budget of priority 10", .serialized, .timeLimit(.minutes(5)))
struct DeliveryStorePacingTests {
    // MARK: - Identical states

    @Test("the same state again within a minute is unchanged, another is not")
    func unchanged() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            #expect(try await database.claim(10, state: 7).map(\.verdict) == [.claimed])
            #expect(try await database.claim(11, state: 7).map(\.verdict) == [.unchanged])
            #expect(try database.sql("SELECT last_message, next_message FROM live_activity") == "10|11")
            try database.sql("UPDATE live_activity SET last_sent_at = last_sent_at - interval '40 seconds'")
            #expect(try await database.claim(12, state: 7).map(\.verdict) == [.unchanged])
            try database.sql("UPDATE live_activity SET last_sent_at = last_sent_at - interval '21 seconds'")
            #expect(try await database.claim(13, state: 7).map(\.verdict) == [.claimed])
            #expect(try await database.claim(14, state: 8).map(\.verdict) == [.claimed])
            #expect(try await database.claim(15, state: 7).map(\.verdict) == [.claimed])
        }
    }

    @Test("an alert, an end and the same message again are never unchanged")
    func neverUnchanged() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.claim(10, state: 7)
            #expect(try await database.claim(10, state: 7).map(\.verdict) == [.claimed])
            #expect(try await database.claim(11, hasAlert: true, state: 7).map(\.verdict) == [.claimed])
            #expect(try await database.claim(12, isEnd: true).map(\.verdict) == [.claimed])
        }
    }

    @Test("a new token was sent nothing yet; the same token put again keeps what it was sent")
    func tokenChange() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.claim(10, state: 7)
            try database.sql("UPDATE live_activity SET token = token, registered_at = now()")
            #expect(try await database.claim(11, state: 7).map(\.verdict) == [.unchanged])
            try database.sql("UPDATE live_activity SET token = token || token")
            #expect(try await database.claim(12, state: 7).map(\.verdict) == [.claimed])
        }
    }

    @Test("an older update that waited does not follow one that had nothing to add")
    func waitingBehindUnchanged() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            _ = try await database.claim(10, state: 7, pacing: .slow)
            #expect(try await database.claim(11, state: 8, pacing: .slow).map(\.verdict) == [.paced])
            #expect(try await database.claim(12, state: 7, pacing: .slow).map(\.verdict) == [.unchanged])
            try database.sql("UPDATE live_activity SET last_sent_at = last_sent_at - interval '61 seconds'")
            #expect(try await database.claim(11, state: 8, pacing: .slow).map(\.verdict) == [.superseded])
            // What the unchanged one relies on may still be sent again.
            #expect(try await database.claim(10, state: 7, pacing: .slow).map(\.verdict) == [.claimed])
        }
    }

    @Test("the digest tells content state, stale date and relevance score apart, whatever their borders")
    func digest() {
        var contents = ["{}", "{ }", #"{"a":1}"#, #"{"a":1.0}"#].map { state in
            ActivityContent(event: .update, contentState: Array(state.utf8))
        }
        contents.append(ActivityContent(event: .update, contentState: Array("{}".utf8), staleDate: 1))
        contents.append(
            ActivityContent(event: .update, contentState: Array("{}".utf8), relevanceScore: Array("1".utf8))
        )
        #expect(Set(contents.map(\.stateDigest)).count == contents.count)
        #expect(contents[0].stateDigest == Fixture.digest(of: "{}"))
    }

    // MARK: - Budget

    @Test(
        "C71: a phone gets so many updates of priority 10 in an hour, over all its activities, and more the next hour"
    )
    func budget() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            try database.registerActivity(
                "order-8",
                token: 2,
                columns: "budget_hour = \(Self.hour), budget_pushes = 57"
            )
            try database.registerActivity(
                of: "bob",
                on: "phone-2",
                token: 3,
                columns: "budget_hour = \(Self.hour), budget_pushes = 60"
            )
            var spent: [Bool] = []
            for message in 10..<15 as Range<Int64> {
                spent += try await database.claim(message, priority: .budget).map(\.isBudgetSpent)
            }
            #expect(spent == [false, false, false, true, true])
            let counted = "SELECT budget_pushes FROM live_activity WHERE la_id = 'order-7' AND account = 'alice'"
            #expect(try database.sql(counted) == "3")
            let later = Fixture.accepted + .seconds(3600)
            #expect(try await database.claim(15, priority: .budget, at: later).map(\.isBudgetSpent) == [false])
            #expect(try database.sql(counted) == "1")
        }
    }

    @Test("a phone that reported frequent pushes has the larger bucket", arguments: [(true, 240), (false, 60)])
    func frequentPushes(isFrequent: Bool, budget: Int) async throws {
        try await StoreDatabase.run { _, database in
            try database.registerDevice(columns: "frequent_pushes_enabled = \(isFrequent)")
            try database.registerActivity(columns: "budget_hour = \(Self.hour), budget_pushes = \(budget - 1)")
            #expect(try await database.claim(10, priority: .budget).map(\.isBudgetSpent) == [false])
            #expect(try await database.claim(11, priority: .budget).map(\.isBudgetSpent) == [true])
        }
    }

    @Test("end, alert and a priority that was asked for count, but are not taken away; what goes with 5 does not count")
    func others() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity(columns: "budget_hour = \(Self.hour), budget_pushes = 60")
            let counts: [(ActivityPriority, String)] = [
                (.caller(10), "61"), (.application(10), "62"), (.caller(5), "62"), (.alert, "63"), (.budget, "63"),
                (.end, "64"),
            ]
            for (message, (priority, count)) in zip(Int64(10)..., counts) {
                let spent = try await database.claim(message, priority: priority).map(\.isBudgetSpent)
                #expect(spent == [priority == .budget])
                #expect(try database.sql("SELECT budget_pushes FROM live_activity") == count)
            }
        }
    }

    @Test("a message counts once, however often it is sent")
    func resend() async throws {
        try await StoreDatabase.run { _, database in
            try database.registerActivity()
            for _ in 1...3 {
                _ = try await database.claim(10, priority: .budget)
            }
            _ = try await database.claim(10, priority: .budget, at: Fixture.accepted + .seconds(3600))
            let counted = try database.sql("SELECT budget_hour, budget_pushes FROM live_activity")
            #expect(counted == "\(Self.hour)|1")
        }
    }

    private static let hour = Fixture.accepted.seconds / 3600
}
