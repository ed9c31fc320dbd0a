import TestSupport
import Testing

@Suite("The life of an activity", .serialized, .timeLimit(.minutes(5)))
struct ActivityLifeTests {
    /// What was sent to the activity, and when it began.
    private static let truth =
        "last_message, last_timestamp, last_sent_at IS NOT NULL, end_message, ended_at IS NOT NULL, environment"

    /// An activity that began `hours` ago and was sent message 7 since.
    private func begin(_ phone: Phone, hoursAgo hours: Int, ended: Bool = false) async throws {
        _ = try await phone.putActivity(token: Phone.token(1), more: ",\"environment\":\"sandbox\"")
        try phone.sql(
            """
            UPDATE live_activity SET started_at = date_trunc('second', now()) - interval '\(hours) hours',
                last_message = 7, last_timestamp = 1700000000, last_sent_at = now(),
                end_message = \(ended ? "7" : "NULL"), ended_at = \(ended ? "now()" : "NULL")
            WHERE sdk_app_id = APP
            """
        )
    }

    private func age(_ phone: Phone) throws -> String {
        try phone.rows("round(extract(epoch FROM now() - started_at) / 3600)", of: "live_activity")
    }

    @Test("a rotated token goes on with the life and does not extend it")
    func rotated() async throws {
        try await Phone.run { _, phone in
            try await begin(phone, hoursAgo: 7)
            _ = try await phone.putActivity(token: Phone.token(2))
            #expect(try phone.rows(Self.truth, of: "live_activity") == "7|1700000000|t||f|")
            #expect(try age(phone) == "7")
            let now = try phone.sql("SELECT extract(epoch FROM now())::bigint")
            _ = try await phone.putActivity(
                token: Phone.token(3),
                more: ",\"startedAt\":\(now),\"environment\":\"production\"",
            )
            #expect(try phone.rows(Self.truth, of: "live_activity") == "7|1700000000|t||f|production")
            #expect(try age(phone) == "7", "a later startedAt does not extend it either")
        }
    }

    @Test("a rotated token meets an end that is under way")
    func rotatedDuringEnd() async throws {
        try await Phone.run { _, phone in
            try await begin(phone, hoursAgo: 1)
            try phone.sql("UPDATE live_activity SET end_message = 7 WHERE sdk_app_id = APP")
            _ = try await phone.putActivity(token: Phone.token(2))
            #expect(try phone.rows(Self.truth, of: "live_activity") == "7|1700000000|t|7|f|")
        }
    }

    @Test("the same token changes nothing of what was sent, ended or not", arguments: [false, true])
    func sameToken(ended: Bool) async throws {
        try await Phone.run { _, phone in
            try await begin(phone, hoursAgo: 9, ended: ended)
            let before = try phone.rows(Self.truth, of: "live_activity")
            let answer = try await phone.putActivity(token: Phone.token(1))
            #expect(answer.applied == !ended)
            #expect(answer.reason == (ended ? "activity_ended" : nil))
            #expect(try phone.rows(Self.truth, of: "live_activity") == before)
            #expect(try age(phone) == "9")
            let state = try await phone.registrations().registrations.first?["state"]?.string
            #expect(state == (ended ? "ended" : "expired"))
        }
    }

    @Test("another token begins a new life after the end and after 8 hours", arguments: [(1, true), (9, false)])
    func newLife(hours: Int, ended: Bool) async throws {
        try await Phone.run { _, phone in
            try await begin(phone, hoursAgo: hours, ended: ended)
            #expect(try await phone.putActivity(token: Phone.token(2)).applied == true)
            #expect(try phone.rows(Self.truth, of: "live_activity") == "0|1700000000|f||f|", "timestamps go on rising")
            #expect(try age(phone) == "0")
        }
    }

    @Test("after a clear another token begins a new life")
    func cleared() async throws {
        try await Phone.run { _, phone in
            try await begin(phone, hoursAgo: 7)
            _ = try await phone.delete("activities/order-1?installation=phone-1")
            _ = try await phone.putActivity(token: Phone.token(2))
            #expect(try phone.rows(Self.truth, of: "live_activity") == "0|0|f||f|")
            #expect(try age(phone) == "0")
        }
    }

    @Test("a token that is registered under another name or account stays the same activity", arguments: [false, true])
    func sameActivity(otherAccount: Bool) async throws {
        try await Phone.run { _, phone in
            try await begin(phone, hoursAgo: 3, ended: true)
            let answer =
                otherAccount
                ? try await phone.putActivity(token: Phone.token(1), as: "bob")
                : try await phone.putActivity("order-2", token: Phone.token(1))
            #expect(answer.reason == "activity_ended")
            #expect(try phone.rows(Self.truth, of: "live_activity") == "0|1700000000|t|7|t|sandbox")
            #expect(try age(phone) == "3")
        }
    }

    @Test("startedAt in the future counts as now")
    func future() async throws {
        try await Phone.run { _, phone in
            let soon = try phone.sql("SELECT extract(epoch FROM now())::bigint + 86400")
            _ = try await phone.putActivity(more: ",\"startedAt\":\(soon)")
            #expect(try age(phone) == "0")
        }
    }
}
