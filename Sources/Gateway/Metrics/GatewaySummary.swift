import APNs
public import Logging
import Metrics

/// What a process has done so far and what waits now, to be told in the log: totals for whoever has no Prometheus.
public struct GatewaySummary: Sendable {
    var deliveries = DeliveryMetrics()
    var apns = APNsMetrics()
    var recipientsInMemory = 0
    var instance: InstanceMetrics
    var providerTokenAge: Duration?

    /// Whether nothing has happened since, and nothing is due or held: there is nothing to tell. What waits for its
    /// time, or for its next attempt, is told of when that comes.
    private func isQuiet(since earlier: GatewaySummary) -> Bool {
        deliveries.hasSameCounts(as: earlier.deliveries)
            && instance.counts.takeovers.total == earlier.instance.counts.takeovers.total
            && recipientsInMemory == 0 && (instance.queue?.due ?? 0) == 0 && apns.openCircuits.isEmpty
    }

    /// Writes what happened since an earlier moment, at level `info`: one line with totals and what waits, then one for
    /// each reason for which recipients ended or were put off. Writes nothing where nothing happened or waits.
    public func write(to logger: Logger, since earlier: GatewaySummary, seconds: Int64) {
        guard !isQuiet(since: earlier) else { return }
        let (now, then) = (deliveries, earlier.deliveries)
        let ended = now.deliveries.increases(since: then.deliveries)
        let retries = now.retries.increases(since: then.retries)
        func count(of outcome: DeliveryOutcome) -> LogValue {
            .count(ended.reduce(0) { $1.labels.outcome == outcome ? $0 + $1.count : $0 })
        }
        logger.info(
            "summary",
            [
                "seconds": .integer(seconds),
                "messages": .count(now.messagesAccepted.total - then.messagesAccepted.total),
                "recipients": .count(now.recipientsAccepted.total - then.recipientsAccepted.total),
                "repeats": .count(now.repeats.total - then.repeats.total),
                "accepted_by_apns": count(of: .acceptedByAPNs),
                "coalesced": count(of: .superseded),
                "downgraded": .count(now.downgraded.total - then.downgraded.total),
                "fallbacks": .count(now.fallbacks.total - then.fallbacks.total),
                "retries": .count(retries.reduce(0) { $0 + $1.count }),
                "taken_over": .count(instance.counts.takeovers.total - earlier.instance.counts.takeovers.total),
                "queue_rows": instance.queue.map { .integer($0.due) } ?? .null,
                "queue_oldest_seconds": instance.queue.map { .integer($0.oldestMicroseconds / 1_000_000) } ?? .null,
                "retry_oldest_seconds": instance.queue?.scheduled
                    .map { .integer($0.oldestMicroseconds / 1_000_000) } ?? .null,
                "recipients_in_memory": .count(recipientsInMemory),
                "apns_connections": .count(apns.openConnections),
                "circuits_open": .count(apns.openCircuits.count),
                "provider_token_age_seconds": providerTokenAge.map { .integer($0.components.seconds) } ?? .null,
            ],
        )
        for (labels, count) in ended {
            logger.info(
                "recipients ended",
                [
                    "route": .string(labels.route.rawValue), "outcome": .string(labels.outcome.rawValue),
                    "reason": .string(labels.reason), "count": .count(count),
                ],
            )
        }
        for (labels, count) in retries {
            logger.info("recipients put off", ["reason": .string(labels.reason), "count": .count(count)])
        }
    }
}

extension GatewaySummary {
    /// - Parameters:
    ///   - lanes: the sum of the lanes; nil before they did anything.
    ///   - providerTokenAge: that of the oldest provider token in use; nil if there is none.
    public init(lanes: GatewayMetrics?, instance: InstanceMetrics, providerTokenAge: Duration?) {
        self.init(instance: instance, providerTokenAge: providerTokenAge)
        guard let lanes else { return }
        deliveries = lanes.deliveries
        apns = lanes.apns
        recipientsInMemory = Int(lanes.recipientsInMemory.value ?? 0)
    }
}
