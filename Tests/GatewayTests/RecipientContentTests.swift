import ContentSchema
import LiveActivity
import Testing
import VerbatimJSON

@testable import Gateway

@Suite("Deliveries of content that a phone cannot decode", .timeLimit(.minutes(5)))
struct RecipientContentTests {
    /// The outcome for a phone whose app wants `step` to be a text, or a Date.
    private static func checked(
        _ content: ActivityContent = Fixture.content(),
        wants type: String = "String",
        under rules: ContentRules = ContentRules(),
    ) throws -> CheckedContent? {
        let model = """
            {"format": 1, "attributesType": "Ride", "attributes": "S", "contentState": "S",
             "types": {"S": {"fields": [{"key": "step", "type": "\(type)"}]}}}
            """
        let schema = StoredSchema(
            version: 1,
            fromAppVersion: nil,
            schema: try ActivitySchema(parsing: Array(model.utf8)),
        )
        return CheckedContent(content, by: schema, rules: rules, now: Fixture.accepted.seconds)
    }

    private static func phone(_ name: String, token: UInt8, _ checked: CheckedContent?) throws -> ClaimedActivity {
        var activity = try Fixture.activity(name, token: token)
        activity.checkedContent = checked
        return activity
    }

    @Test("It is refused there, the state does not count as sent, and other phones get it")
    func refused() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        let misfit = try Self.phone("phone-1", token: 1, Self.checked())
        #expect(
            try script.found([misfit, Fixture.activity("phone-2", token: 2)])
                == ["push activity to phone-2 by 1 in production"]
        )
        #expect(
            script.answered(1, .accepted) == [
                "live_activity to phone-1: refused, activity_registered",
                "live_activity to phone-2: accepted_by_apns, activity_registered",
            ]
        )
        #expect(script.lostStates == ["phone-1"])
        #expect(
            script.delivery.progress.targets.first?.statusReason
                == "content_state_refused: content-state.step: String is expected"
        )
    }

    @Test("A recipient all of whose phones refuse it gets nothing, and an end that was claimed is given up")
    func refusedEverywhere() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(Fixture.end())))
        _ = script.start()
        #expect(
            try script.found([Self.phone("phone-1", token: 1, Self.checked())]) == [
                "live_activity to phone-1: refused, activity_registered", "end given up for activity of phone-1",
            ]
        )
    }

    @Test("Where the policy is to fall back, one notification goes out once no phone can decode it")
    func replaced() throws {
        let rules = ContentRules(policy: .fallback)
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        let misfit = try Self.phone("phone-1", token: 1, Self.checked(under: rules))
        #expect(script.found([misfit]) == ["fall back: activity_push_refused"])
        #expect(try script.resumed())
        #expect(script.start(at: 1) == ["claim"])
        #expect(script.found([misfit], at: 1) == ["look up devices"])
        #expect(try script.found(devices: [Fixture.device()], at: 1) == ["push device to phone-1 by 1 in production"])
        #expect(
            script.answered(1, .accepted, at: 2) == [
                "live_activity to phone-1: refused, activity_registered",
                "notification to phone-1 as fallback: accepted_by_apns, activity_push_refused",
            ]
        )
    }

    @Test("Where another phone got it there is no notification")
    func replacedOnOnePhone() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        let misfit = try Self.phone("phone-1", token: 1, Self.checked(under: ContentRules(policy: .fallback)))
        _ = try script.found([misfit, Fixture.activity("phone-2", token: 2)])
        #expect(
            script.answered(1, .accepted) == [
                "live_activity to phone-1: refused, activity_registered",
                "live_activity to phone-2: accepted_by_apns, activity_registered",
            ]
        )
    }

    @Test("Where the policy is to warn, or all fits, nothing is changed")
    func unchanged() throws {
        #expect(try Self.checked(under: ContentRules(policy: .warn)) == nil)
        #expect(try Self.checked(wants: "Double") == nil)
        #expect(try Self.checked(wants: "Double", under: ContentRules(convertsDates: true)) == nil)
    }

    @Test("C60: phones of two versions get the date as each decodes it, and every other byte as it came")
    func converted() throws {
        let content = ActivityContent(event: .update, contentState: Array(#"{"a":1.0, "step": 1796007172 }"#.utf8))
        let order = Fixture.order(
            ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .immediate)
        )
        let message = try Fixture.message(order)
        var script = DeliveryScript(message)
        _ = script.start()
        let checked = try Self.checked(content, wants: "Date", under: ContentRules(convertsDates: true))
        let phones = [
            try Self.phone("phone-1", token: 1, checked), try Self.phone("phone-2", token: 2, nil),
            try Self.phone("phone-3", token: 3, checked),
        ]
        _ = script.found(phones)
        guard case .push(let attempts) = script.action else {
            Issue.record("nothing is pushed")
            return
        }
        var composer = PushComposer(message)
        let states = try attempts.map { attempt in
            let made = composer.request(for: attempt, to: "alice", at: Fixture.accepted)
            let request = try #require(made)
            let root = try JSONDocument(parsing: request.payload).root
            return String(decoding: try #require(root["aps"]?["content-state"]).verbatim, as: UTF8.self)
        }
        let (original, right) = (#"{"a":1.0, "step": 1796007172 }"#, #"{"a":1.0, "step": 817699972 }"#)
        #expect(states == [right, original, right])
    }

    @Test("A reason with a place in it counts under its word")
    func metrics() {
        var target = DeliveryTarget(
            kind: .activity,
            installation: "phone-1",
            tokenFingerprint: "",
            state: .settled(.refused),
            reason: "activity_registered",
        )
        target.statusReason = "content_state_refused: content-state.step: String is expected"
        let record = DeliveryRecord(
            route: .liveActivity,
            routeReason: target.reason,
            isFallback: false,
            outcome: .refused,
            target: target,
        )
        #expect(DeliveryCounters.labels(of: record).reason == "content_state_refused")
    }
}
