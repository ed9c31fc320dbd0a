import APNs
import LiveActivity
import Testing

@testable import Gateway

@Suite("What APNs' answers do to a recipient's pushes", .timeLimit(.minutes(5)))
struct RecipientAnswerTests {
    /// A script in which the activity of one phone was pushed to.
    private static func pushed(
        _ order: PushOrder = Fixture.order(),
        environment: APNsEnvironment? = .production,
        certificates: [Certificate]? = nil,
    ) throws -> DeliveryScript {
        var script = DeliveryScript(try Fixture.message(order, certificates: certificates))
        _ = script.start()
        _ = try script.found([Fixture.activity(environment: environment)])
        return script
    }

    // MARK: - Lost answers

    @Test("C88: an answer is lost where APNs may have taken the push; a refusal, or a push that never left, is none")
    func lostAnswers() throws {
        var script = try Self.pushed()
        _ = script.answered(0, .unanswered(APNsFailure(.connectFailed), mayHaveBeenProcessed: false))
        #expect(script.answersLost == [0])
        for count in 1...2 {
            let time = Int64(count) * 30
            _ = script.start(at: time)
            _ = try script.found([Fixture.activity()], at: time)
            _ = script.answered(0, .unanswered(APNsFailure(.timeout), mayHaveBeenProcessed: true), at: time)
            #expect(script.answersLost == [count])
            #expect(try script.resumed())
        }
        _ = script.start(at: 90)
        _ = try script.found([Fixture.activity()], at: 90)
        _ = script.answered(0, .responded(APNsResponse(status: 503, reason: "ServiceUnavailable")), at: 91)
        #expect(script.answersLost == [2])
    }

    @Test(
        "What a gateway died with may have been sent by it, whether it had written of it or not; what was settled not"
    )
    func takenOver() throws {
        var script = DeliveryScript(try Fixture.message(), isTakenOver: true)
        _ = script.start()
        _ = try script.found([Fixture.activity(), Fixture.activity("phone-2")])
        #expect(script.answersLost == [1, 1])
        _ = script.answered(0, .responded(APNsResponse(status: 200)))
        _ = script.answered(1, .responded(APNsResponse(status: 503, reason: "ServiceUnavailable")))
        #expect(try script.resumed(isTakenOver: true))
        #expect(script.answersLost == [1, 2])
    }

    // MARK: - Pacing

    @Test("a paced update waits in memory for its turn, and is pushed once the claim lets it")
    func paced() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        let turn = Fixture.accepted + .milliseconds(700)
        let held = try Fixture.activity(verdict: .paced, sendableFrom: turn)
        #expect(script.found([held]) == ["start again at 700 ms"])
        #expect(script.start(at: 1) == ["claim"])
        #expect(try script.found([Fixture.activity()], at: 0) == ["push activity to phone-1 by 1 in production"])
    }

    @Test("a paced update that a newer one overtook is superseded")
    func pacedAndOvertaken() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = try script.found([Fixture.activity(verdict: .paced, sendableFrom: Fixture.accepted)])
        _ = script.start(at: 1)
        #expect(
            try script.found([Fixture.activity(verdict: .superseded)], at: 1)
                == ["live_activity to phone-1: superseded, newer_message_claimed"]
        )
    }

    @Test("of two phones one may wait for its turn while the other is pushed to; what both learn is written at the end")
    func pacedOnOnePhone() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        let turn = Fixture.accepted + .seconds(1)
        let held = try Fixture.activity("phone-2", token: 2, verdict: .paced, sendableFrom: turn)
        #expect(
            try script.found([Fixture.activity(environment: nil), held]) == [
                "push activity to phone-1 by 1 in production"
            ]
        )
        #expect(script.answered(0, .accepted, at: 0) == ["start again at 1 s"])
        #expect(script.start(at: 1) == ["claim"])
        #expect(
            try script.found([Fixture.activity(), Fixture.activity("phone-2", token: 2)], at: 1) == [
                "push activity to phone-2 by 1 in production"
            ]
        )
        #expect(
            script.answered(1, .accepted, at: 1) == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "live_activity to phone-2: accepted_by_apns, activity_registered",
                "remember production for activity of phone-1",
            ]
        )
    }

    @Test("a paced update whose deadline comes first expires")
    func pacedPastDeadline() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(lifetime: 1)))
        _ = script.start()
        let turn = Fixture.accepted + .seconds(2)
        #expect(
            try script.found([Fixture.activity(verdict: .paced, sendableFrom: turn)]) == ["start again at 1 s"]
        )
        #expect(script.start(at: 1) == ["live_activity to phone-1: expired, activity_registered"])
    }

    // MARK: - Alerts

    private static let waiting = WaitingAlert(messageID: 5, alert: ActivityAlert(title: "Late"))

    /// An order with an alert of its own.
    private static func orderWithAlert() -> PushOrder {
        var content = Fixture.content()
        content.alert = ActivityAlert(title: "Now")
        return Fixture.order(ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .immediate))
    }

    @Test("the alert of an overtaken update goes along at priority 10, each time, until the push is accepted")
    func takenAlong() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        var found = try Fixture.activity(isBudgetSpent: true)
        found.waitingAlert = Self.waiting
        for time in [0, 2] as [Int64] {
            _ = script.found([found], at: time)
            guard case .push(let attempts) = script.action else { throw TestFailure("nothing was pushed") }
            #expect(attempts.map(\.waitingAlert) == [Self.waiting])
            #expect(attempts.map(\.priority) == [10])
            #expect(script.delivery.progress.targets[0].priorityReason == "alert")
            guard time == 0 else { continue }
            #expect(
                script.answered(0, .refused(503, "ServiceUnavailable")) == [
                    "wait until 2 s: ServiceUnavailable", "alert of 5 not sent for activity of phone-1",
                ]
            )
            _ = script.start(at: 2)
        }
        #expect(
            script.answered(0, .accepted, at: 3) == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "alert of 5 settled for activity of phone-1",
            ]
        )
    }

    @Test("a message's own alert goes before an older one, and is settled by whatever ends its push")
    func ownAlert() throws {
        for (outcome, last) in [
            (.accepted, "alert of 42 settled for activity of phone-1"),
            (.refused(400, "BadMessageId"), "alert of 42 settled for activity of phone-1"),
            (.lost, "alert of 42 not sent for activity of phone-1"),
        ] as [(APNsOutcome, String)] {
            var script = DeliveryScript(try Fixture.message(Self.orderWithAlert()))
            _ = script.start()
            var found = try Fixture.activity()
            found.waitingAlert = Self.waiting
            _ = script.found([found])
            guard case .push(let attempts) = script.action else { throw TestFailure("nothing was pushed") }
            #expect(attempts.map(\.waitingAlert) == [nil])
            #expect(script.answered(0, outcome).last == last)
        }
    }

    @Test("an alert that comes after the newer state goes out with it; the update is recorded as superseded, with why")
    func alertAfterNewerState() throws {
        var script = DeliveryScript(try Fixture.message(Self.orderWithAlert()))
        _ = script.start()
        var found = try Fixture.activity()
        found.sentState = SentState(messageID: 50, content: Fixture.content())
        _ = script.found([found])
        guard case .push(let attempts) = script.action else { throw TestFailure("nothing was pushed") }
        #expect(attempts.map(\.sentState) == [found.sentState])
        #expect(attempts.map(\.alertMessageID) == [42])
        #expect(
            script.answered(0, .refused(503, "ServiceUnavailable")) == [
                "wait until 2 s: ServiceUnavailable", "alert of 42 not sent for activity of phone-1",
            ]
        )
        _ = script.start(at: 2)
        #expect(script.found([found], at: 2) == ["push activity to phone-1 by 1 in production"])
        #expect(
            script.answered(0, .accepted, at: 3) == [
                "live_activity to phone-1: superseded, alert_sent_with_newest_state",
                "alert of 42 settled for activity of phone-1",
            ]
        )
    }

    // MARK: - States that did not arrive

    @Test(
        "a state that APNs did not take for sure is written down as not accepted",
        arguments: [
            .refused(500, "InternalServerError"), .refused(400, "BadMessageId"), .lost, .dead(since: nil),
            .held(APNsHold(reason: "InvalidProviderToken")),
        ] as [APNsOutcome],
    )
    func stateNotAccepted(outcome: APNsOutcome) throws {
        var script = try Self.pushed()
        _ = script.answered(0, outcome)
        #expect(script.lostStates == ["phone-1"])
        script = try Self.pushed(Fixture.order(Fixture.end()))
        _ = script.answered(0, outcome)
        #expect(script.lostStates == [])
    }

    @Test("so is one that could not be sent at all, and none that was accepted")
    func stateNotSent() throws {
        var script = try Self.pushed()
        _ = script.cannotBeSent(0)
        #expect(script.lostStates == ["phone-1"])
        script = try Self.pushed(certificates: [])
        #expect(script.lostStates == ["phone-1"])
        script = try Self.pushed()
        _ = script.answered(0, .accepted)
        #expect(script.lostStates == [])
    }

    @Test("a claim for another phone's sake does not make a refused state accepted")
    func claimedForAnotherPhone() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        let found = [try Fixture.activity(), try Fixture.activity("phone-2", token: 2)]
        _ = script.found(found)
        _ = script.answered(0, .refused(400, "BadMessageId"))
        _ = script.answered(1, .refused(500, "InternalServerError"))
        _ = script.start(at: 2)
        _ = script.found(found, at: 2)
        _ = script.answered(1, .accepted, at: 2)
        #expect(script.lostStates == ["phone-1"])
    }

    @Test("the state that the phone has already is recorded, and nothing is sent")
    func unchanged() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        #expect(
            try script.found([Fixture.activity(verdict: .unchanged)])
                == ["live_activity to phone-1: unchanged, state_unchanged"]
        )
    }

    @Test("C71: the priority of a spent bucket and its reason go into the delivery row")
    func spentBudget() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = script.found([try Fixture.activity(isBudgetSpent: true)])
        _ = script.answered(0, .accepted)
        #expect(script.delivery.progress.targets.first?.priority == 5)
        #expect(script.delivery.progress.targets.first?.priorityReason == "budget_spent")
    }

    // MARK: - Waiting

    @Test(
        "C91: what may pass waits, by the schedule, and never falls back",
        arguments: [
            (.refused(500, "InternalServerError"), "2 s: InternalServerError"),
            (.refused(503, "ServiceUnavailable"), "2 s: ServiceUnavailable"),
            (.refused(503, "Shutdown"), "2 s: Shutdown"),
            (.refused(429, "TooManyRequests"), "11 s: TooManyRequests"),
            (
                .responded(APNsResponse(status: 429, reason: "TooManyRequests", retryAfterSeconds: 77)),
                "78 s: TooManyRequests"
            ),
            (
                .responded(APNsResponse(status: 503, reason: "ServiceUnavailable", retryAfterSeconds: 77)),
                "78 s: ServiceUnavailable"
            ),
            (
                .responded(APNsResponse(status: 500, reason: "InternalServerError", retryAfterSeconds: 7)),
                "8 s: InternalServerError"
            ),
            (.responded(APNsResponse(status: 503, reason: "Shutdown", retryAfterSeconds: 7)), "8 s: Shutdown"),
            (.lost, "2 s: connection_lost"),
            (.unanswered(APNsFailure(.timeout), mayHaveBeenProcessed: true), "2 s: timeout"),
            (.unanswered(APNsFailure(.connectFailed), mayHaveBeenProcessed: false), "2 s: connect_failed"),
            (.refused(403, "InvalidProviderToken"), "31 s: InvalidProviderToken"),
            (.refused(400, "TopicDisallowed"), "31 s: TopicDisallowed"),
            (.held(APNsHold(reason: "InvalidProviderToken")), "31 s: InvalidProviderToken"),
            (.held(APNsHold(reason: "Forbidden", isAboutTopic: true, isUnconfirmed: true)), "2 s: Forbidden"),
        ] as [(APNsOutcome, String)],
    )
    func transient(outcome: APNsOutcome, wait: String) throws {
        var script = try Self.pushed()
        #expect(script.answered(0, outcome) == ["wait until \(wait)"])
    }

    @Test(
        "a push that never left is no attempt: it waits in the line of its key and environment, and keeps what is known",
        arguments: [.backlogged, .timeout] as [APNsFailure.Kind],
    )
    func notSent(kind: APNsFailure.Kind) throws {
        var script = try Self.pushed()
        #expect(script.answered(0, .refused(503, "ServiceUnavailable")) == ["wait until 2 s: ServiceUnavailable"])
        _ = script.start(at: 2)
        _ = try script.found([Fixture.activity()], at: 2)
        let before = script.delivery.progress.targets[0]
        #expect(
            script.answered(0, .unanswered(APNsFailure(kind), mayHaveBeenProcessed: false), at: 2)
                == ["wait in line TEAM567890/KEY4567890/production: backlogged"]
        )
        var after = script.delivery.progress.targets[0]
        #expect(after.isWaiting)
        after.state = before.state
        #expect(after == before)
        #expect(try script.resumed())
        #expect(script.start(at: 3) == ["claim"])
        #expect(try script.found([Fixture.activity()], at: 3) == ["push activity to phone-1 by 1 in production"])
        // The second attempt, not the third.
        #expect(
            script.answered(0, .refused(500, "InternalServerError"), at: 3) == ["wait until 8 s: InternalServerError"]
        )
    }

    @Test("what APNs refuses of this recipient while others pass ends, and no notification takes its place")
    func recipientRefused() throws {
        var script = try Self.pushed()
        var response = APNsResponse(status: 403, reason: "Forbidden")
        response.othersPass = true
        let actions = script.answered(0, .responded(response))
        #expect(actions.first == "live_activity to phone-1: refused, activity_registered", "\(actions)")
        #expect(!actions.contains("look up devices"))
    }

    @Test("each failed attempt waits longer, until the deadline and no further")
    func longerAndLonger() throws {
        var script = try Self.pushed()
        var now: Int64 = 0
        for delay in [1, 5, 30, 120, 300, 900, 900, 900] as [Int64] {
            #expect(
                script.answered(0, .refused(500, "InternalServerError"), at: now) == [
                    "wait until \(now + delay) s: InternalServerError"
                ]
            )
            #expect(try script.resumed())
            now += delay
            #expect(script.start(at: now) == ["claim"])
            #expect(try script.found([Fixture.activity()], at: now) == ["push activity to phone-1 by 1 in production"])
        }
        #expect(
            script.answered(0, .refused(500, "InternalServerError"), at: now) == [
                "wait until 3600 s: InternalServerError"
            ]
        )
        #expect(script.start(at: 3600) == ["live_activity to phone-1: expired, activity_registered"])
    }

    @Test("jitter spreads the next attempt over a quarter of the delay")
    func jitter() throws {
        var script = try Self.pushed()
        let wait = script.answered(0, .refused(500, "InternalServerError"), at: 0, jitter: 1)
        #expect(wait == ["wait until 1250 ms: InternalServerError"])
    }

    @Test("what waited is cancelled if its registration is gone; the recipient is routed anew")
    func registrationGone() throws {
        var script = try Self.pushed()
        _ = script.answered(0, .lost)
        #expect(try script.resumed())
        _ = script.start(at: 2)
        #expect(script.found([], at: 2) == ["look up devices"])
        #expect(
            script.found(devices: [], at: 2) == [
                "live_activity to phone-1: cancelled, registration_gone", "none: nothing_to_send, no_device",
            ]
        )
    }

    @Test("a device that waited and is gone is cancelled")
    func deviceGone() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(nil)))
        _ = script.start()
        _ = try script.found(devices: [Fixture.device()])
        #expect(script.answered(0, .lost) == ["wait until 2 s: connection_lost"])
        _ = script.start(at: 2)
        #expect(script.found(devices: [], at: 2) == ["notification to phone-1: cancelled, registration_gone"])
    }

    @Test("a push that waited is overtaken by a newer message")
    func overtakenWhileWaiting() throws {
        var script = try Self.pushed()
        _ = script.answered(0, .refused(503, "ServiceUnavailable"))
        #expect(try script.resumed())
        _ = script.start(at: 2)
        #expect(
            try script.found([Fixture.activity(verdict: .superseded)], at: 2)
                == ["live_activity to phone-1: superseded, newer_message_claimed"]
        )
    }

    @Test("a waiting push goes to the token that the phone rotated to meanwhile")
    func rotatedWhileWaiting() throws {
        var script = try Self.pushed()
        _ = script.answered(0, .lost)
        _ = script.start(at: 2)
        _ = try script.found([Fixture.activity(token: 9)], at: 2)
        guard case .push(let attempts) = script.action else { throw TestFailure("nothing was pushed") }
        #expect(attempts.map(\.token) == [try Fixture.token(9)])
        #expect(attempts.map(\.target) == [0])
    }

    @Test("without its certificate a push waits for the operator, and is no fallback")
    func certificateMissing() throws {
        var script = DeliveryScript(try Fixture.message(certificates: []))
        _ = script.start()
        #expect(try script.found([Fixture.activity()]) == ["wait until 30 s: certificate_missing"])
        #expect(script.start(at: 3600) == ["live_activity to phone-1: expired, activity_registered"])
    }

    @Test(
        "C90: while APNs answers 500 for 20 minutes an alert is tried after 1, 5, 30, 120, 300 and 900 s, then it goes out"
    )
    func twentyMinutesOfErrors() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(nil)))
        _ = script.start()
        _ = try script.found(devices: [Fixture.device()])
        var time: Int64 = 0
        for next in [1, 6, 36, 156, 456, 1356] as [Int64] {
            let action = script.answered(0, .refused(500, "InternalServerError"), at: time)
            #expect(action == ["wait until \(next) s: InternalServerError"])
            #expect(try script.resumed())
            time = next
            #expect(script.start(at: time) == ["look up devices"])
            let again = try script.found(devices: [Fixture.device()], at: time)
            #expect(again == ["push device to phone-1 by 1 in production"])
        }
        #expect(
            script.answered(0, .accepted, at: time) == [
                "notification to phone-1: accepted_by_apns, no_activity_in_message"
            ]
        )
    }

    @Test("C86: one phone that has to wait keeps no other from its push, nor from its row")
    func oneWaits() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = try script.found([Fixture.activity(), Fixture.activity("phone-2", token: 2)])
        #expect(script.answered(0, .accepted) == [])
        #expect(script.answered(1, .refused(500, "InternalServerError")) == ["wait until 2 s: InternalServerError"])
        #expect(try script.resumed())
        _ = script.start(at: 2)
        #expect(
            try script.found([Fixture.activity(), Fixture.activity("phone-2", token: 2)], at: 2)
                == ["push activity to phone-2 by 1 in production"]
        )
        #expect(
            script.answered(1, .accepted, at: 3) == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "live_activity to phone-2: accepted_by_apns, activity_registered",
            ]
        )
    }

    @Test("a phone that took the message is not pushed to again, though its token rotated while another waited")
    func rotatedAfterAccept() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        _ = try script.found([Fixture.activity(), Fixture.activity("phone-2", token: 2)])
        _ = script.answered(0, .accepted)
        _ = script.answered(1, .lost)
        _ = script.start(at: 2)
        #expect(
            try script.found([Fixture.activity(token: 9), Fixture.activity("phone-2", token: 2)], at: 2)
                == ["push activity to phone-2 by 1 in production"]
        )
    }

    @Test("an answer nobody waits for does nothing")
    func strayAnswer() throws {
        var script = try Self.pushed()
        #expect(script.answered(5, .accepted) == [])
        #expect(script.answered(0, .lost) == ["wait until 2 s: connection_lost"])
        #expect(script.answered(0, .accepted) == [])
    }

    // MARK: - Environments

    @Test("C42: an unknown token is tried once in the other environment, and what worked is remembered")
    func otherEnvironment() throws {
        var script = try Self.pushed(environment: nil)
        #expect(script.answered(0, .refused(400, "BadDeviceToken")) == ["push activity to phone-1 by 1 in sandbox"])
        #expect(
            script.answered(0, .accepted) == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "remember sandbox for activity of phone-1",
            ]
        )
    }

    @Test("C42: the try in the other environment waits like any push, and nothing is deleted")
    func otherEnvironmentWaits() throws {
        var script = try Self.pushed(environment: nil)
        _ = script.answered(0, .refused(400, "BadDeviceToken"))
        // The second attempt: the schedule's second delay.
        #expect(script.answered(0, .refused(500, "InternalServerError")) == ["wait until 6 s: InternalServerError"])
        // The environment that knows no such token is not asked a second time.
        #expect(try script.resumed())
        _ = script.start(at: 7)
        let again = script.found([try Fixture.activity(environment: nil)], at: 7)
        #expect(again == ["push activity to phone-1 by 1 in sandbox"])
    }

    @Test("C42: a token unknown in both environments is refused, once each, and not deleted")
    func unknownEverywhere() throws {
        var script = try Self.pushed(environment: nil)
        _ = script.answered(0, .refused(400, "BadDeviceToken"))
        #expect(script.answered(0, .refused(400, "BadDeviceToken")) == ["fall back: activity_push_refused"])
    }

    @Test("there is no second try without a certificate for the other environment")
    func noOtherEnvironment() throws {
        var script = try Self.pushed(environment: nil, certificates: [Fixture.certificate(1, .production)])
        #expect(script.answered(0, .refused(400, "BadDeviceToken")) == ["fall back: activity_push_refused"])
    }

    @Test("nothing is written about an environment that was known")
    func knownEnvironment() throws {
        var script = try Self.pushed(environment: .sandbox)
        #expect(script.answered(0, .accepted) == ["live_activity to phone-1: accepted_by_apns, activity_registered"])
    }

    // MARK: - Ends

    @Test("an accepted end closes the registration")
    func endAccepted() throws {
        var script = try Self.pushed(Fixture.order(Fixture.end()))
        #expect(
            script.answered(0, .accepted) == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "end accepted for activity of phone-1",
            ]
        )
    }

    @Test("an end that APNs refused is given up, so that updates go out again")
    func endRefused() throws {
        var script = try Self.pushed(Fixture.order(Fixture.end()))
        #expect(
            script.answered(0, .refused(400, "BadExpirationDate")) == [
                "live_activity to phone-1: refused, activity_registered", "end given up for activity of phone-1",
            ]
        )
    }

    @Test("an end that expires while it waits is given up")
    func endExpired() throws {
        var script = try Self.pushed(Fixture.order(Fixture.end()))
        #expect(script.answered(0, .lost) == ["wait until 2 s: connection_lost"])
        #expect(
            script.start(at: 3600) == [
                "live_activity to phone-1: expired, activity_registered", "end given up for activity of phone-1",
            ]
        )
    }

    @Test("an end whose instance died with the claim is given up when it expires or is quarantined")
    func endOfDeadInstance() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(Fixture.end())))
        #expect(
            script.start(at: 3600) == ["none: expired, deadline_passed", "end given up for activity of all"]
        )
        #expect(
            script.quarantine() == ["none: quarantined, taken_over_too_often", "end given up for activity of all"]
        )
    }

    @Test("an end that a former end overtook leaves that one alone")
    func endAfterEnd() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(Fixture.end())))
        _ = script.start()
        #expect(
            try script.found([Fixture.activity(verdict: .activityEnded)])
                == ["live_activity to phone-1: activity_ended, activity_ended"]
        )
    }
}
