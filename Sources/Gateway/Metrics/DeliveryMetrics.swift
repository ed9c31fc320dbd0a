import APNs
import Metrics

/// What one lane has counted of its messages. Those of several lanes can be summed.
struct DeliveryMetrics: Sendable {
    struct EndpointLabel: MetricLabels {
        static let names = ["endpoint"]
        /// The route of the API, such as `openim/sendmsg`; a word of the dialect, never a path that was sent.
        let endpoint: String

        var values: [String] { [endpoint] }
    }

    struct DeliveryLabels: MetricLabels {
        static let names = ["route", "outcome", "reason"]
        let route: DeliveryRecord.Route
        let outcome: DeliveryOutcome
        let reason: String

        var values: [String] { [route.rawValue, outcome.rawValue, reason] }
    }

    struct ReasonLabel: MetricLabels {
        static let names = ["reason"]
        let reason: String

        var values: [String] { [reason] }
    }

    struct EndLabel: MetricLabels {
        static let names = ["outcome"]
        let outcome: String

        var values: [String] { [outcome] }
    }

    var messagesAccepted = Counter<EndpointLabel>(
        "livepush_messages_accepted_total",
        help: "Messages that were stored durably, by the route that they came through.",
    )
    var recipientsAccepted = Counter<EndpointLabel>(
        "livepush_recipients_accepted_total",
        help: "Recipients of the accepted messages; those of audiences as they are found and dealt with.",
    )
    var repeats = Counter<EndpointLabel>(
        "livepush_duplicate_requests_total",
        help: "Messages that were accepted before and are not pushed again.",
    )
    var deliveries = Counter<DeliveryLabels>(
        "livepush_deliveries_total",
        help: "Delivery rows written: the way chosen for a phone, what became of it, and the reason.",
    )
    var fanOuts = Counter<EndLabel>(
        "livepush_fan_outs_total",
        help: "Messages to audiences that ended, and how.",
    )
    var fallbacks = Counter<NoLabels>(
        "livepush_fallbacks_total",
        help: "Recipients whose Live Activity pushes were all refused, so that notifications take their place.",
    )
    var downgraded = Counter<NoLabels>(
        "livepush_priority_downgraded_total",
        help: "Live Activity pushes that went out with priority 5, since the phone had its hour's share of priority 10.",
    )
    var retries = Counter<ReasonLabel>(
        "livepush_retries_total",
        help: "Recipients whose push is put off to be tried again, and why.",
    )
    var acceptToAnswer = Histogram<NoLabels>(
        "livepush_accept_to_apns_seconds",
        help: "Time from accepting a message until an answer of APNs to one of its pushes, retries included.",
        bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
    )

    mutating func add(contentsOf other: DeliveryMetrics) {
        messagesAccepted.add(contentsOf: other.messagesAccepted)
        recipientsAccepted.add(contentsOf: other.recipientsAccepted)
        repeats.add(contentsOf: other.repeats)
        deliveries.add(contentsOf: other.deliveries)
        fanOuts.add(contentsOf: other.fanOuts)
        fallbacks.add(contentsOf: other.fallbacks)
        downgraded.add(contentsOf: other.downgraded)
        retries.add(contentsOf: other.retries)
        acceptToAnswer.add(contentsOf: other.acceptToAnswer)
    }

    /// Whether nothing was counted between two copies.
    func hasSameCounts(as other: DeliveryMetrics) -> Bool {
        messagesAccepted.total == other.messagesAccepted.total
            && recipientsAccepted.total == other.recipientsAccepted.total
            && repeats.total == other.repeats.total && deliveries.total == other.deliveries.total
            && fanOuts.total == other.fanOuts.total && retries.total == other.retries.total
    }

    func write(to page: inout PrometheusText) {
        page.write(messagesAccepted)
        page.write(recipientsAccepted)
        page.write(repeats)
        page.write(deliveries)
        page.write(fanOuts)
        page.write(fallbacks)
        page.write(downgraded)
        page.write(retries)
        page.write(acceptToAnswer)
    }
}
