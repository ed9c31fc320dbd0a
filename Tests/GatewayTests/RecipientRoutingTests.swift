import APNs
import LiveActivity
import Testing

@testable import Gateway

@Suite("Where a message goes for one recipient", .timeLimit(.minutes(5)))
struct RecipientRoutingTests {
    // MARK: - Live Activity

    @Test("two phones with the activity get a Live Activity push each, and no notification")
    func registered() throws {
        var script = DeliveryScript(try Fixture.message())
        #expect(script.start() == ["claim"])
        #expect(
            try script.found([Fixture.activity(), Fixture.activity("phone-2", token: 2)])
                == ["push activity to phone-1 by 1 in production", "push activity to phone-2 by 1 in production"]
        )
        #expect(script.answered(0, .accepted) == [])
        #expect(
            script.answered(1, .accepted) == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "live_activity to phone-2: accepted_by_apns, activity_registered",
            ]
        )
    }

    @Test("an activity push carries the claim's timestamp, the activity's token and the message's end of life")
    func activityAttempt() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = try script.found([Fixture.activity(token: 7)])
        let attempt = PushAttempt(
            target: 0,
            installation: "phone-1",
            kind: .activity,
            token: try Fixture.token(7),
            destination: PushDestination(certificate: try Fixture.certificate(), environment: .production),
            timestamp: 1_796_007_173,
            expiration: Fixture.accepted.seconds + Fixture.lifetime,
            priority: 10,
        )
        #expect(script.action == .push([attempt]))
    }

    @Test(
        "an activity push expires with the message or the activity, whichever is first",
        arguments: [
            (ActivityEvent.update, -7 * 3600, 3600), (.update, -7 * 3600 - 1800, 1800),
            (.end, -7 * 3600 - 1800, 3600), (.end, -11 * 3600 - 1800, 1800),
        ] as [(ActivityEvent, Int64, Int64)],
    )
    func expiration(event: ActivityEvent, startedAt: Int64, expiration: Int64) throws {
        let instruction = event == .end ? Fixture.end() : Fixture.order().activity
        var script = DeliveryScript(try Fixture.message(Fixture.order(instruction)))
        _ = script.start()
        _ = try script.found([Fixture.activity(startedAt: Fixture.accepted + .seconds(startedAt))])
        guard case .push(let attempts) = script.action else { throw TestFailure("nothing was pushed") }
        #expect(attempts.map(\.expiration) == [Fixture.accepted.seconds + expiration])
    }

    @Test("what an accepted push leaves in its delivery row")
    func record() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = try script.found([Fixture.activity()], at: 2)
        _ = script.answered(0, .accepted, at: 3)
        var target = DeliveryTarget(
            kind: .activity,
            installation: "phone-1",
            tokenFingerprint: try Fixture.token(1).fingerprint,
            state: .settled(.acceptedByAPNs),
            reason: "activity_registered",
        )
        target.attempts = 1
        target.status = 200
        target.businessID = 1
        target.environment = .production
        target.priority = 10
        target.priorityReason = "default"
        target.timestampSent = 1_796_007_173
        target.payloadBytes = 300
        target.sentAt = Fixture.accepted + .seconds(2)
        let record = DeliveryRecord(
            route: .liveActivity,
            routeReason: "activity_registered",
            isFallback: false,
            outcome: .acceptedByAPNs,
            target: target,
        )
        #expect(script.action == .settle(Settlement(next: .finished([record]), corrections: [])))
    }

    // MARK: - Notification

    @Test("C92: without the activity, a notification goes to each device as the fallback")
    func notRegistered() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        #expect(script.found([]) == ["look up devices"])
        #expect(
            try script.found(devices: [Fixture.device(), Fixture.device("phone-2", token: 102)])
                == ["push device to phone-1 by 1 in production", "push device to phone-2 by 1 in production"]
        )
        #expect(script.answered(1, .accepted) == [])
        #expect(
            script.answered(0, .accepted) == [
                "notification to phone-1 as fallback: accepted_by_apns, activity_not_registered",
                "notification to phone-2 as fallback: accepted_by_apns, activity_not_registered",
            ]
        )
    }

    @Test("C52: an activity whose hours are over counts as unregistered")
    func notLive() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        #expect(try script.found([Fixture.activity(verdict: .notLive)]) == ["look up devices"])
    }

    @Test("a plain message is a notification, no fallback, and claims nothing")
    func plain() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(nil)))
        #expect(script.start() == ["look up devices"])
        _ = try script.found(devices: [Fixture.device()])
        guard case .push(let attempts) = script.action else { throw TestFailure("nothing was pushed") }
        #expect(attempts.map(\.timestamp) == [nil])
        #expect(attempts.map(\.priority) == [10])
        #expect(attempts.map(\.expiration) == [Fixture.accepted.seconds + Fixture.lifetime])
        #expect(
            script.answered(0, .accepted) == ["notification to phone-1: accepted_by_apns, no_activity_in_message"]
        )
    }

    // MARK: - Nothing

    @Test(
        "a suppressed message is recorded as such, without any look-up",
        arguments: [PushOrder.Suppression.pushFlag, .onlineOnly, .noLifetime],
    )
    func suppressed(suppression: PushOrder.Suppression) throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(suppression: suppression, lifetime: 0)))
        #expect(script.start() == ["none: suppressed, \(suppression.rawValue)"])
    }

    @Test("a recipient without a device is recorded, not an error")
    func noDevice() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = script.found([])
        #expect(script.found(devices: []) == ["none: nothing_to_send, no_device"])
    }

    @Test("an end with neither Title nor Desc has no fallback")
    func noText() throws {
        var script = DeliveryScript(
            try Fixture.message(Fixture.order(Fixture.end(), notification: NotificationContent(sound: "default")))
        )
        _ = script.start()
        #expect(script.found([]) == ["none: nothing_to_send, no_text"])
    }

    @Test("a person who denied notifications gets none, another phone of theirs does")
    func denied() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = script.found([])
        #expect(
            try script.found(devices: [
                Fixture.device(deniesNotifications: true), Fixture.device("phone-2", token: 102),
            ])
                == ["push device to phone-2 by 1 in production"]
        )
        #expect(
            script.answered(1, .accepted) == [
                "notification to phone-1 as fallback: nothing_to_send, permission_denied",
                "notification to phone-2 as fallback: accepted_by_apns, activity_not_registered",
            ]
        )
    }

    @Test("an app in front gets no notification until its five minutes are over", arguments: [(1, false), (0, true)])
    func foreground(secondsLeft: Int64, isPushed: Bool) throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = script.found([])
        let device = try Fixture.device(foregroundUntil: Fixture.accepted + .seconds(secondsLeft))
        #expect(
            script.found(devices: [device])
                == [
                    isPushed
                        ? "push device to phone-1 by 1 in production"
                        : "notification to phone-1 as fallback: foreground, app_in_foreground"
                ]
        )
    }

    @Test(
        "an update that a newer one or an end overtook is recorded and nothing is sent",
        arguments: [
            (ClaimedActivity.Verdict.superseded, "superseded, newer_message_claimed"),
            (.activityEnded, "activity_ended, activity_ended"),
        ],
    )
    func overtaken(verdict: ClaimedActivity.Verdict, row: String) throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        #expect(try script.found([Fixture.activity(verdict: verdict)]) == ["live_activity to phone-1: \(row)"])
    }

    @Test("a message past its deadline is expired before anything is looked up")
    func expired() throws {
        var script = DeliveryScript(try Fixture.message())
        #expect(script.start(at: Fixture.lifetime) == ["none: expired, deadline_passed"])
        #expect(script.start(at: Fixture.lifetime - 1) == ["claim"])
    }

    @Test("a message that was under way in too many dead instances is recorded and nothing is sent")
    func quarantined() throws {
        var script = DeliveryScript(try Fixture.message())
        #expect(script.quarantine() == ["none: quarantined, taken_over_too_often"])
    }

    @Test("quarantine keeps what was settled and settles the rest")
    func quarantinedHalfway() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = try script.found([Fixture.activity(), Fixture.activity("phone-2", token: 2)])
        _ = script.answered(0, .accepted)
        _ = script.answered(1, .refused(500, "InternalServerError"))
        #expect(try script.resumed())
        #expect(
            script.quarantine() == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "live_activity to phone-2: quarantined, taken_over_too_often",
            ]
        )
    }
}

/// A test cannot go on.
struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
