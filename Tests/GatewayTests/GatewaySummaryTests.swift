import Logging
import Synchronization
import Testing
import VerbatimJSON

@testable import APNs
@testable import Gateway

@Suite("Summary in the log", .timeLimit(.minutes(5)))
struct GatewaySummaryTests {
    /// A process that works and has nothing to do.
    private func quiet() -> GatewaySummary {
        GatewaySummary(instance: InstanceMetrics(isAlive: true, queue: QueueDepth(), counts: InstanceCounts()))
    }

    private func lines(of summary: GatewaySummary, since earlier: GatewaySummary? = nil) throws -> [JSONValue] {
        let written = Mutex<[String]>([])
        let logger = Logger { line in written.withLock { $0.append(line) } }
        summary.write(to: logger, since: earlier ?? quiet(), seconds: 60)
        return try written.withLock { $0 }.map {
            try JSONDocument(parsing: Array($0.utf8)).root
        }
    }

    private func record(_ outcome: DeliveryOutcome, priorityReason: String? = nil) -> DeliveryRecord {
        var target = DeliveryTarget(
            kind: .activity,
            installation: "phone-1",
            tokenFingerprint: "f",
            state: .settled(outcome),
            reason: "activity_registered",
        )
        target.statusReason = outcome == .refused ? "BadDeviceToken" : nil
        target.priorityReason = priorityReason
        return DeliveryRecord(
            route: .liveActivity,
            routeReason: "activity_registered",
            isFallback: false,
            outcome: outcome,
            target: target,
        )
    }

    private func counted(_ counters: DeliveryCounters) -> GatewaySummary {
        var summary = quiet()
        summary.deliveries = counters.current
        return summary
    }

    @Test("A process that did nothing and has nothing to do writes nothing")
    func nothing() throws {
        #expect(try lines(of: quiet()).isEmpty)
        let counters = DeliveryCounters()
        counters.settled(Settlement(next: .finished([record(.acceptedByAPNs)]), corrections: []))
        #expect(try lines(of: counted(counters), since: counted(counters)).isEmpty)
    }

    @Test("What happened meanwhile is told in sum, then by reason; what was told before is not told again")
    func happened() throws {
        let counters = DeliveryCounters()
        counters.settled(Settlement(next: .finished([record(.acceptedByAPNs)]), corrections: []))
        let earlier = counted(counters)
        for _ in 0..<2 {
            counters.settled(Settlement(next: .finished([record(.acceptedByAPNs)]), corrections: []))
        }
        counters.settled(
            Settlement(
                next: .finished([
                    record(.refused), record(.superseded),
                    record(.acceptedByAPNs, priorityReason: ActivityPriority.budgetSpent),
                ]),
                corrections: [],
            )
        )
        counters.settled(
            Settlement(
                next: .waiting(until: Fixture.accepted, reason: "ServiceUnavailable", progress: .none),
                corrections: []
            )
        )
        counters.settled(Settlement(next: .fallingBack(progress: .none), corrections: []))
        let lines = try lines(of: counted(counters), since: earlier)
        let sum = try #require(lines.first)
        #expect(sum["message"]?.string == "summary")
        #expect(sum["level"]?.string == "info")
        let expected: [String: Int64] = [
            "seconds": 60, "messages": 0, "accepted_by_apns": 3, "coalesced": 1, "downgraded": 1, "fallbacks": 1,
            "retries": 1, "taken_over": 0, "queue_rows": 0, "circuits_open": 0, "apns_connections": 0,
        ]
        for (name, value) in expected {
            #expect(sum[name]?.integer == value, "\(name)")
        }
        #expect(sum["provider_token_age_seconds"]?.kind == .null)
        let reasons = lines.dropFirst().map { line in
            ["message", "outcome", "reason", "count"]
                .compactMap { name in line[name].map { $0.string ?? String(decoding: $0.verbatim, as: UTF8.self) } }
                .joined(separator: " ")
        }
        #expect(
            reasons == [
                "recipients ended accepted_by_apns activity_registered 3",
                "recipients ended refused BadDeviceToken 1",
                "recipients ended superseded activity_registered 1",
                "recipients put off ServiceUnavailable 1",
            ]
        )
    }

    @Test(
        "What is due, in memory, held or taken over is told though nothing was sent",
        arguments: ["queue_rows", "recipients_in_memory", "circuits_open", "taken_over"],
    )
    func waits(what: String) throws {
        var summary = quiet()
        var queue = QueueDepth()
        var counts = InstanceCounts()
        switch what {
        case "queue_rows": (queue.due, queue.oldestMicroseconds) = (7, 90_500_000)
        case "recipients_in_memory": summary.recipientsInMemory = 7
        case "circuits_open":
            for number in 0..<7 {
                summary.apns.openCircuits.insert(
                    APNsMetrics.OpenCircuit(
                        keyID: "key-\(number)",
                        labels: APNsMetrics.CircuitLabels(
                            topic: "",
                            reason: APNsMetrics.ReasonLabels(environment: .sandbox, reason: "InvalidProviderToken"),
                        ),
                    )
                )
            }
        default: counts.takeovers.add(7)
        }
        summary.instance = InstanceMetrics(isAlive: true, queue: queue, counts: counts)
        let lines = try lines(of: summary)
        #expect(lines.count == 1)
        #expect(lines.first?[what]?.integer == 7)
        #expect(lines.first?["queue_oldest_seconds"]?.integer == (what == "queue_rows" ? 90 : 0))
    }

    @Test("While PostgreSQL is away the queue is not known, which is not the same as empty")
    func queueUnknown() throws {
        var summary = quiet()
        summary.recipientsInMemory = 1
        summary.instance = InstanceMetrics(isAlive: false, queue: nil, counts: InstanceCounts())
        let sum = try #require(try lines(of: summary).first)
        #expect(sum["queue_rows"]?.kind == .null)
        #expect(sum["queue_oldest_seconds"]?.kind == .null)
    }
}
