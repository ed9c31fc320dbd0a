import APNs
import Metrics
import Testing

@testable import Gateway

@Suite("Delivery counters", .timeLimit(.minutes(5)))
struct DeliveryCountersTests {
    private func record(
        _ outcome: DeliveryOutcome,
        _ statusReason: String? = nil,
        route: DeliveryRecord.Route = .liveActivity,
        hasTarget: Bool = true,
    ) -> DeliveryRecord {
        var target = DeliveryTarget(
            kind: .activity,
            installation: "phone-1",
            tokenFingerprint: "f",
            state: .settled(outcome),
            reason: "activity_registered",
        )
        target.statusReason = statusReason
        return DeliveryRecord(
            route: route,
            routeReason: "activity_registered",
            isFallback: false,
            outcome: outcome,
            target: hasTarget ? target : nil,
        )
    }

    @Test(
        "A delivery's reason is APNs' where it was refused or expired, else why its way was chosen",
        arguments: [
            (DeliveryOutcome.refused, "BadDeviceToken", "BadDeviceToken"), (.refused, "Nonsense", "other"),
            (.refused, PushComposer.payloadOverLimit, PushComposer.payloadOverLimit),
            (.tokenDead, "Unregistered", "Unregistered"), (.tokenDead, nil, "activity_registered"),
            (.expired, "connect_failed", "connect_failed"), (.expired, nil, "activity_registered"),
            (.acceptedByAPNs, "ServiceUnavailable", "activity_registered"), (.superseded, nil, "activity_registered"),
        ] as [(DeliveryOutcome, String?, String)]
    )
    func reason(outcome: DeliveryOutcome, statusReason: String?, label: String) {
        #expect(DeliveryCounters.labels(of: record(outcome, statusReason)).reason == label)
    }

    @Test("Pushes that a spent bucket made less urgent are counted once APNs accepted them")
    func downgraded() throws {
        let counters = DeliveryCounters()
        for (outcome, reason) in [
            (.acceptedByAPNs, "budget_spent"), (.acceptedByAPNs, "default"), (.refused, "budget_spent"),
        ] as [(DeliveryOutcome, String)] {
            var record = record(outcome)
            record.target?.priorityReason = reason
            counters.settled(Settlement(next: .finished([record]), corrections: []))
        }
        #expect(counters.current.downgraded.count == 1)
    }

    @Test("Deliveries, retries and fallbacks are counted when they are written")
    func settlements() {
        let counters = DeliveryCounters()
        let records = [record(.acceptedByAPNs), record(.acceptedByAPNs), record(.expired, hasTarget: false)]
        counters.settled(Settlement(next: .finished(records), corrections: []))
        let later = Fixture.accepted + .seconds(5)
        for reason in ["ServiceUnavailable", "certificate_missing", "Nonsense"] {
            let next = Settlement.Next.waiting(until: later, reason: reason, progress: .none)
            counters.settled(Settlement(next: next, corrections: []))
        }
        counters.settled(Settlement(next: .fallingBack(progress: .none), corrections: []))

        let accepted = DeliveryCounters.labels(of: record(.acceptedByAPNs))
        #expect(counters.current.deliveries[accepted] == 2)
        #expect(counters.current.deliveries[DeliveryCounters.labels(of: record(.expired, hasTarget: false))] == 1)
        for reason in ["ServiceUnavailable", "certificate_missing", "other"] {
            #expect(counters.current.retries[DeliveryMetrics.ReasonLabel(reason: reason)] == 1)
        }
        #expect(counters.current.fallbacks.count == 1)
    }

    @Test("A message counts once with its recipients; a repeated one counts by itself")
    func accepted() {
        let counters = DeliveryCounters()
        counters.accepted(Fixture.order(recipients: ["alice", "bob"]))
        counters.accepted(Fixture.order(recipients: ["alice", "bob"]), isRepeat: true)
        let labels = DeliveryMetrics.EndpointLabel(endpoint: "openim/sendmsg")
        #expect(counters.current.messagesAccepted[labels] == 1)
        #expect(counters.current.recipientsAccepted[labels] == 2)
        #expect(counters.current.repeats[labels] == 1)
    }

    @Test("The time from accept counts for answers only, and never below 0")
    func acceptToAnswer() {
        let counters = DeliveryCounters()
        let answer = APNsOutcome.responded(APNsResponse(status: 200))
        let failure = APNsOutcome.unanswered(APNsFailure(.timeout), mayHaveBeenProcessed: true)
        let accepted = Fixture.accepted
        counters.pushFinished(failure, acceptedAt: accepted, at: accepted + .seconds(1))
        counters.pushFinished(.held(APNsHold(reason: "x")), acceptedAt: accepted, at: accepted + .seconds(1))
        #expect(counters.current.acceptToAnswer.count(NoLabels()) == 0)
        counters.pushFinished(answer, acceptedAt: accepted, at: accepted + .milliseconds(1500))
        counters.pushFinished(answer, acceptedAt: accepted + .seconds(1), at: accepted)
        counters.pushFinished(answer, acceptedAt: UnixTime(microseconds: .min), at: accepted)
        #expect(counters.current.acceptToAnswer.count(NoLabels()) == 3)
    }

    @Test("Two lanes are summed")
    func lanes() {
        let counters = DeliveryCounters()
        counters.accepted(Fixture.order())
        counters.settled(Settlement(next: .fallingBack(progress: .none), corrections: []))
        var sum = counters.current
        sum.add(contentsOf: counters.current)
        #expect(sum.fallbacks.count == 2)
        #expect(sum.messagesAccepted[DeliveryMetrics.EndpointLabel(endpoint: "openim/sendmsg")] == 2)
    }
}
