import APNs
import LiveActivity
import Testing

@testable import Gateway

@Suite("The notification after a dead activity token", .timeLimit(.minutes(5)))
struct RecipientFallbackTests {
    private static func pushed(
        _ order: PushOrder = Fixture.order(),
        phones: [ClaimedActivity],
    ) throws -> DeliveryScript {
        var script = DeliveryScript(try Fixture.message(order))
        _ = script.start()
        _ = script.found(phones)
        return script
    }

    @Test(
        "an activity push that is lost for good is followed by one notification to each device",
        arguments: [
            (.dead(since: Fixture.accepted), "token_dead", ["forget activity of phone-1 registered until 0 s"]),
            (.refused(410, "ExpiredToken"), "token_dead", ["forget activity of phone-1 registered until 0 s"]),
            (.refused(400, "DeviceTokenNotForTopic"), "refused", []),
            (.refused(413, "PayloadTooLarge"), "refused", []),
        ] as [(APNsOutcome, String, [String])],
    )
    func lost(outcome: APNsOutcome, row: String, corrections: [String]) throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        #expect(script.answered(0, outcome) == ["fall back: activity_push_refused"] + corrections)
        #expect(try script.resumed())
        #expect(script.start(at: 1) == ["claim"])
        #expect(script.found([], at: 1) == ["look up devices"])
        #expect(try script.found(devices: [Fixture.device()], at: 1) == ["push device to phone-1 by 1 in production"])
        #expect(
            script.answered(1, .accepted, at: 2) == [
                "live_activity to phone-1: \(row), activity_registered",
                "notification to phone-1 as fallback: accepted_by_apns, activity_push_refused",
            ]
        )
    }

    @Test("C40: the correction of a 410 carries the time that APNs gave", arguments: [-1000, 1000] as [Int64])
    func timeOfDeath(seconds: Int64) throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        #expect(
            script.answered(0, .dead(since: Fixture.accepted + .seconds(seconds))) == [
                "fall back: activity_push_refused", "forget activity of phone-1 registered until \(seconds) s",
            ]
        )
    }

    @Test("C40: a 410 without a time means what was registered before the push was sent")
    func timeOfDeathUnknown() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(nil)))
        _ = script.start()
        _ = try script.found(devices: [Fixture.device()], at: 5)
        #expect(
            script.answered(0, .dead(since: nil), at: 9) == [
                "notification to phone-1: token_dead, no_activity_in_message",
                "forget device of phone-1 registered until 5 s",
            ]
        )
    }

    @Test("C40: a token that was registered after the time of its death stays claimed, and is not pushed to again")
    func registeredAgain() throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        _ = script.answered(0, .dead(since: Fixture.accepted + .seconds(-1000)))
        _ = script.start(at: 1)
        #expect(try script.found([Fixture.activity()], at: 1) == ["look up devices"])
    }

    @Test("a token that arrived meanwhile gets the Live Activity push, and there is no notification")
    func newToken() throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        _ = script.answered(0, .dead(since: Fixture.accepted))
        _ = script.start(at: 1)
        #expect(
            try script.found([Fixture.activity(token: 2)], at: 1) == ["push activity to phone-1 by 1 in production"]
        )
        #expect(
            script.answered(1, .accepted, at: 2) == [
                "live_activity to phone-1: token_dead, activity_registered",
                "live_activity to phone-1: accepted_by_apns, activity_registered",
            ]
        )
    }

    @Test("a token that arrived meanwhile and has to wait keeps the notification back")
    func newTokenWaits() throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        _ = script.answered(0, .dead(since: Fixture.accepted))
        _ = script.start(at: 1)
        _ = try script.found([Fixture.activity(token: 2)], at: 1)
        #expect(script.answered(1, .lost, at: 1) == ["wait until 2 s: connection_lost"])
        #expect(try script.resumed())
        _ = script.start(at: 2)
        _ = try script.found([Fixture.activity(token: 2)], at: 2)
        #expect(
            script.answered(1, .dead(since: Fixture.accepted), at: 2) == ["look up devices"]
        )
        #expect(try script.found(devices: [Fixture.device()], at: 2) == ["push device to phone-1 by 1 in production"])
    }

    @Test("a token that arrived meanwhile and is refused for another reason is no reason for a notification")
    func newTokenRefused() throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        _ = script.answered(0, .dead(since: Fixture.accepted))
        _ = script.start(at: 1)
        _ = try script.found([Fixture.activity(token: 2)], at: 1)
        #expect(
            script.answered(1, .refused(400, "BadPriority"), at: 2) == [
                "live_activity to phone-1: token_dead, activity_registered",
                "live_activity to phone-1: refused, activity_registered",
            ]
        )
    }

    @Test("two phones, one dead and one accepted: no notification")
    func oneAccepted() throws {
        var script = try Self.pushed(phones: [Fixture.activity(), Fixture.activity("phone-2", token: 2)])
        #expect(script.answered(0, .dead(since: Fixture.accepted)) == [])
        #expect(
            script.answered(1, .accepted) == [
                "live_activity to phone-1: token_dead, activity_registered",
                "live_activity to phone-2: accepted_by_apns, activity_registered",
                "forget activity of phone-1 registered until 0 s",
            ]
        )
    }

    @Test("two phones, one dead and one overtaken: no notification")
    func oneSuperseded() throws {
        var script = try Self.pushed(phones: [
            Fixture.activity(), Fixture.activity("phone-2", token: 2, verdict: .superseded),
        ])
        #expect(
            script.answered(0, .dead(since: Fixture.accepted)) == [
                "live_activity to phone-1: token_dead, activity_registered",
                "live_activity to phone-2: superseded, newer_message_claimed",
                "forget activity of phone-1 registered until 0 s",
            ]
        )
    }

    @Test("two phones, one dead and one to be tried again: the notification waits for the second")
    func oneWaits() throws {
        var script = try Self.pushed(phones: [Fixture.activity(), Fixture.activity("phone-2", token: 2)])
        #expect(script.answered(0, .dead(since: Fixture.accepted)) == [])
        #expect(
            script.answered(1, .lost) == [
                "wait until 2 s: connection_lost", "forget activity of phone-1 registered until 0 s",
            ]
        )
        #expect(try script.resumed())
        _ = script.start(at: 2)
        #expect(
            try script.found([Fixture.activity("phone-2", token: 2)], at: 2)
                == ["push activity to phone-2 by 1 in production"]
        )
        #expect(
            script.answered(1, .refused(400, "DeviceTokenNotForTopic"), at: 3) == ["fall back: activity_push_refused"]
        )
    }

    @Test("the notification itself never falls back: a dead device token is the end")
    func deviceDead() throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        _ = script.answered(0, .dead(since: Fixture.accepted))
        _ = script.start(at: 1)
        _ = script.found([], at: 1)
        _ = try script.found(devices: [Fixture.device()], at: 1)
        #expect(
            script.answered(1, .dead(since: Fixture.accepted), at: 2) == [
                "live_activity to phone-1: token_dead, activity_registered",
                "notification to phone-1 as fallback: token_dead, activity_push_refused",
                "forget device of phone-1 registered until 0 s",
            ]
        )
    }

    @Test("a waiting notification goes on where it was, without another claim")
    func notificationWaits() throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        _ = script.answered(0, .dead(since: Fixture.accepted))
        _ = script.start(at: 1)
        _ = script.found([], at: 1)
        _ = try script.found(devices: [Fixture.device(), Fixture.device("phone-2", token: 102)], at: 1)
        #expect(script.answered(1, .accepted) == [])
        #expect(script.answered(2, .refused(500, "InternalServerError")) == ["wait until 2 s: InternalServerError"])
        #expect(try script.resumed())
        #expect(script.start(at: 2) == ["look up devices"])
        #expect(
            try script.found(devices: [Fixture.device(), Fixture.device("phone-2", token: 102)], at: 2)
                == ["push device to phone-2 by 1 in production"]
        )
    }

    @Test("a dead token of an end without text leaves nothing to send")
    func endWithoutText() throws {
        var script = try Self.pushed(
            Fixture.order(Fixture.end(), notification: NotificationContent()),
            phones: [Fixture.activity()],
        )
        _ = script.answered(0, .dead(since: Fixture.accepted))
        _ = script.start(at: 1)
        let rows = script.found([], at: 1)
        #expect(rows.first == "live_activity to phone-1: token_dead, activity_registered")
        #expect(rows.contains { $0.hasSuffix("nothing_to_send, no_text") })
        #expect(rows.last == "end given up for activity of phone-1")
    }

    @Test("a Live Activity push that cannot be made for its size falls back as 413 does")
    func overLimit() throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        #expect(script.cannotBeSent(0) == ["fall back: activity_push_refused"])
        _ = script.start(at: 1)
        #expect(try script.found([Fixture.activity()], at: 1) == ["look up devices"])
        #expect(try script.found(devices: [Fixture.device()], at: 1) == ["push device to phone-1 by 1 in production"])
    }

    @Test("a deadline that passes before the notification is recorded as expired")
    func deadlinePasses() throws {
        var script = try Self.pushed(phones: [Fixture.activity()])
        _ = script.answered(0, .dead(since: Fixture.accepted))
        let rows = script.start(at: Fixture.lifetime)
        #expect(rows.first == "live_activity to phone-1: token_dead, activity_registered")
        #expect(rows.count == 2)
        #expect(rows.last?.hasSuffix("expired, deadline_passed") == true)
    }
}
