import LiveActivity
import Testing

@testable import Gateway

@Suite("The start of an activity for one recipient", .timeLimit(.minutes(1)))
struct RecipientStartTests {
    private static func start() -> ActivityInstruction {
        ActivityInstruction(
            laID: "order-7",
            content: ActivityContent(
                event: .start,
                contentState: Array(#"{"step":1.0}"#.utf8),
                alert: ActivityAlert(title: "Order 7", body: "is on its way"),
                start: ActivityStart(attributesType: "Order", attributes: Array("{}".utf8), wantsPushToken: true),
            ),
            defaultDismissal: .immediate,
        )
    }

    private func script(
        _ activity: ActivityInstruction = start(),
        extensions: Bool = true,
        isTakenOver: Bool = false,
    ) throws -> DeliveryScript {
        var application = Fixture.application()
        application.allowsExtensions = extensions
        return DeliveryScript(
            try Fixture.message(Fixture.order(activity), application: application),
            isTakenOver: isTakenOver,
        )
    }

    private func update() -> ActivityInstruction {
        ActivityInstruction(laID: "order-7", content: Fixture.content(), defaultDismissal: .immediate)
    }

    private func found(
        _ verdict: FoundStart.Verdict = .claimed,
        _ installation: String = "phone-1",
        until seconds: Int64? = nil,
        system: IOSVersion? = IOSVersion(major: 18, minor: 0),
    ) throws -> FoundStart {
        let token = try Fixture.token(7)
        return FoundStart(
            verdict: verdict,
            installation: installation,
            tokenFingerprint: token.fingerprint,
            until: seconds.map { Fixture.accepted + .seconds($0) },
            push: verdict == .claimed
                ? FoundStart.Push(
                    token: token,
                    businessID: 1,
                    environment: .production,
                    timestamp: 1_796_007_173,
                    expiresAt: Fixture.accepted + .seconds(300),
                    system: system,
                ) : nil,
        )
    }

    @Test("is sent to the start tokens where no phone has the activity")
    func sent() throws {
        var script = try script()
        #expect(script.start() == ["claim"])
        #expect(script.found([]) == ["ask for starts"])
        #expect(script.found(starts: [try found()]) == ["push start to phone-1 by 1 in production"])
        #expect(
            script.answered(0, .accepted) == ["live_activity to phone-1: accepted_by_apns, start_token_registered"]
        )
    }

    @Test("may have been sent by the gateway that died with it")
    func takenOver() throws {
        var script = try script(isTakenOver: true)
        _ = script.start()
        _ = script.found([])
        _ = script.found(starts: [try found()])
        #expect(script.answersLost == [1])
    }

    @Test("is an update where the activity runs, and no other phone of the recipient is sent a start")
    func runsAlready() throws {
        var script = try script()
        _ = script.start()
        #expect(script.found([try Fixture.activity()]) == ["push activity to phone-1 by 1 in production"])
        #expect(script.answered(0, .accepted) == ["ask for starts"])
        #expect(!script.delivery.claimsStart(of: script.message))
        #expect(
            script.found(starts: []) == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "alert of 42 settled for activity of phone-1",
            ]
        )
    }

    @Test("asks nothing about starts for an update of an app without them")
    func withoutExtensions() throws {
        var script = try script(update(), extensions: false)
        _ = script.start()
        #expect(script.found([]) == ["look up devices"])
    }

    @Test("C51: an update waits for the update token, and goes out when the activity is found")
    func waits() throws {
        var script = try script(update())
        _ = script.start()
        #expect(script.found([]) == ["ask for starts"])
        let wait = try found(.underWay, until: 600)
        #expect(script.found(starts: [wait]) == ["wait until 600 s: update_token_awaited"])
        #expect(try script.resumed())
        #expect(script.start(at: 5) == ["claim"])
        #expect(script.found([try Fixture.activity()], at: 5) == ["push activity to phone-1 by 1 in production"])
        #expect(script.answered(0, .accepted, at: 6) == ["ask for starts"])
        #expect(
            script.found(starts: [], at: 6) == ["live_activity to phone-1: accepted_by_apns, activity_registered"]
        )
    }

    @Test("C51: an activity that comes up between the two questions is claimed once more", arguments: [true, false])
    func cameUp(isStart: Bool) throws {
        var script = try script(isStart ? Self.start() : update())
        _ = script.start()
        _ = script.found([])
        #expect(script.found(starts: [try found(.cameUp)]) == ["claim"])
        #expect(script.found([try Fixture.activity()]) == ["push activity to phone-1 by 1 in production"])
        let outcome = script.answered(0, .accepted)
        #expect(outcome.first == "live_activity to phone-1: accepted_by_apns, activity_registered")
    }

    @Test("C51: woken for a newer message, an update is superseded, and no notification follows")
    func superseded() throws {
        var script = try script(update())
        _ = script.start()
        _ = script.found([])
        _ = script.found(starts: [try found(.underWay, until: 600)])
        #expect(try script.resumed())
        _ = script.start(at: 5)
        _ = script.found([], at: 5)
        #expect(
            script.found(starts: [try found(.superseded)], at: 5)
                == ["live_activity to phone-1: superseded, newer_message_claimed"]
        )
    }

    @Test("C51: waits where an older start is not decided, whatever else is found, and asks everything once more")
    func undecided() throws {
        var script = try script(update())
        _ = script.start()
        #expect(script.found([try Fixture.activity()]) == ["push activity to phone-1 by 1 in production"])
        #expect(script.answered(0, .accepted, at: 1) == ["ask for starts"])
        let starts = [try found(.undecided, ""), try found(.underWay, "phone-2", until: 600)]
        #expect(script.found(starts: starts, at: 1) == ["wait until 1200 ms: start_undecided"])
        #expect(try script.resumed())
        #expect(script.start(at: 2) == ["claim"])
        #expect(script.found([try Fixture.activity()], at: 2) == ["ask for starts"])
        #expect(
            script.found(starts: [], at: 2) == ["live_activity to phone-1: accepted_by_apns, activity_registered"]
        )
    }

    @Test("an older start that is never decided is not waited for for ever, and the notification says so")
    func givenUp() throws {
        var script = try script(update())
        _ = script.start()
        _ = script.found([])
        #expect(script.found(starts: [try found(.givenUp, "")]) == ["look up devices"])
        _ = script.found(devices: [try Fixture.device()])
        #expect(
            script.answered(0, .accepted) == ["notification to phone-1 as fallback: accepted_by_apns, start_undecided"]
        )
    }

    @Test("a wait that is over becomes a notification")
    func waitOver() throws {
        var script = try script(update())
        _ = script.start()
        _ = script.found([])
        _ = script.found(starts: [try found(.underWay, until: 600)])
        #expect(try script.resumed())
        _ = script.start(at: 600)
        _ = script.found([], at: 600)
        #expect(script.found(starts: [], at: 600) == ["look up devices"])
        #expect(
            script.found(devices: [try Fixture.device()], at: 600) == ["push device to phone-1 by 1 in production"]
        )
        #expect(
            script.answered(1, .accepted, at: 601) == [
                "live_activity to phone-1: expired, update_token_not_registered",
                "notification to phone-1 as fallback: accepted_by_apns, update_token_not_registered",
            ]
        )
    }

    @Test("C70: a start over the guard's limit becomes a notification, or waits")
    func guarded() throws {
        var script = try script()
        _ = script.start()
        _ = script.found([])
        #expect(script.found(starts: [try found(.guarded)]) == ["look up devices"])
        var delayed = try self.script()
        _ = delayed.start()
        _ = delayed.found([])
        #expect(delayed.found(starts: [try found(.guarded, until: 90)]) == ["wait until 90 s: start_guarded"])
        #expect(try delayed.resumed())
        _ = delayed.start(at: 90)
        _ = delayed.found([], at: 90)
        #expect(delayed.found(starts: [try found()], at: 90) == ["push start to phone-1 by 1 in production"])
    }

    @Test("no attempt is made after the start's time, whatever the schedule says")
    func attemptsEnd() throws {
        var script = try script()
        _ = script.start()
        _ = script.found([])
        _ = script.found(starts: [try found()])
        #expect(
            script.answered(0, .refused(429, "TooManyRequests"), at: 295) == ["wait until 301 s: TooManyRequests"]
        )
        #expect(try script.resumed())
        _ = script.start(at: 301)
        _ = script.found([], at: 301)
        #expect(
            script.found(starts: [try found(.expired)], at: 301)
                == ["live_activity to phone-1: expired, start_expired"]
        )
    }

    @Test("a start that APNs refuses for good is forgotten, looked for once more, and becomes a notification")
    func refused() throws {
        var script = try script()
        _ = script.start()
        _ = script.found([])
        _ = script.found(starts: [try found()])
        let outcome = script.answered(0, .dead(since: nil))
        #expect(outcome.first == "fall back: activity_push_refused")
        guard case .settle(let settlement) = script.action else {
            Issue.record("another action")
            return
        }
        #expect(settlement.corrections.contains { $0.kind == .start && $0.change == .startFailed })
        #expect(script.start(at: 2) == ["claim"])
        #expect(script.found([], at: 2) == ["ask for starts"])
        #expect(script.delivery.exceptedStarts(of: script.message, at: Fixture.accepted).count == 1)
        #expect(script.found(starts: [], at: 2) == ["look up devices"])
    }

    @Test("C69, C72: goes out under the activity's collapse id, without keys that the phone's iOS does not know")
    func request() throws {
        for (system, keys) in [(IOSVersion(major: 18, minor: 0), true), (IOSVersion(major: 17, minor: 4), false)] {
            var script = try script()
            _ = script.start()
            _ = script.found([])
            _ = script.found(starts: [try found(system: system)])
            guard case .push(let attempts) = script.action else {
                Issue.record("another action")
                return
            }
            var composer = PushComposer(script.message)
            let attempt = try #require(attempts.first)
            let composed = composer.request(for: attempt, to: "alice", at: Fixture.accepted)
            let request = try #require(composed)
            #expect(request.collapseID == PushIdentifiers.collapseID(account: "alice", laID: "order-7"))
            #expect(request.topic == "com.example.app.push-type.liveactivity")
            #expect(request.expiration == Fixture.accepted.seconds + 300)
            let text = String(decoding: request.payload, as: UTF8.self)
            #expect(text.contains(#""event":"start""#))
            #expect(text.contains("input-push-token") == keys)
        }
    }
}
