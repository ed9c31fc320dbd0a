import APNs
import Metrics

/// Where accept and delivery of one lane count. For the lane's thread.
final class DeliveryCounters {
    private(set) var current = DeliveryMetrics()

    /// A message was stored.
    ///
    /// - Parameter isRepeat: it was there already.
    func accepted(_ order: PushOrder, isRepeat: Bool = false) {
        let labels = DeliveryMetrics.EndpointLabel(endpoint: order.endpoint)
        guard !isRepeat else { return current.repeats.add(labels) }
        current.messagesAccepted.add(labels)
        current.recipientsAccepted.add(labels, order.recipients.count)
    }

    /// Recipients of a message to an audience were found, and what became of them is written down.
    func listed(_ number: Int, of order: PushOrder) {
        current.recipientsAccepted.add(DeliveryMetrics.EndpointLabel(endpoint: order.endpoint), number)
    }

    /// A message to an audience has ended.
    func fannedOut(_ end: FanOutEnd) {
        current.fanOuts.add(DeliveryMetrics.EndLabel(outcome: end.word))
    }

    /// APNs answered a push, or will not.
    func pushFinished(_ outcome: APNsOutcome, acceptedAt: UnixTime, at now: UnixTime) {
        guard case .responded = outcome else { return }
        let (nanoseconds, overflow) = (now.microseconds &- acceptedAt.microseconds).multipliedReportingOverflow(
            by: 1000
        )
        current.acceptToAnswer.observe(nanoseconds: overflow ? .max : nanoseconds)
    }

    /// What became of a recipient was stored.
    func settled(_ settlement: Settlement) {
        switch settlement.next {
        case .finished(let records):
            for record in records {
                current.deliveries.add(DeliveryCounters.labels(of: record))
                if record.outcome == .acceptedByAPNs, record.target?.priorityReason == ActivityPriority.budgetSpent {
                    current.downgraded.add()
                }
            }
        case .waiting(_, let reason, _), .inLine(_, let reason, _):
            current.retries.add(DeliveryMetrics.ReasonLabel(reason: DeliveryCounters.label(ofRetry: reason)))
        case .fallingBack:
            current.fallbacks.add()
        }
    }

    /// Why it ended so: what APNs said where it was refused or was still being tried at the deadline, else why the way
    /// was chosen, which is always a word of the gateway's own.
    static func labels(of record: DeliveryRecord) -> DeliveryMetrics.DeliveryLabels {
        let reason: String
        switch record.outcome {
        case .refused, .tokenDead, .expired:
            reason = record.target?.statusReason.map(label(ofRetry:)) ?? record.routeReason
        default:
            reason = record.routeReason
        }
        return DeliveryMetrics.DeliveryLabels(route: record.route, outcome: record.outcome, reason: reason)
    }

    /// A reason of APNs or of the gateway; the former is what a peer sent.
    private static func label(ofRetry reason: String) -> String {
        // With the place of the state after a colon.
        let word = reason.prefix { $0 != ":" }
        return ownReasons.contains(String(word)) ? String(word) : APNsReason.label(of: reason)
    }

    private static let ownReasons: Set<String> = [
        PushComposer.payloadOverLimit, APNsHold.tokenNotSigned, "certificate_missing", UnreadableSecrets.reason,
        "database_refused", "no_answer",
        "connect_failed", "connection_lost", "stream_refused", "stream_reset", "timeout", "closed",
        RecipientDelivery.backlogged, "mass_token_failure", "provider_token_unavailable", CheckedContent.refused,
        CheckedContent.replaced, RecipientDelivery.updateTokenAwaited, RecipientDelivery.startGuarded,
        RecipientDelivery.startUndecided, RecipientDelivery.revokedPushUnderWay,
    ]
}
