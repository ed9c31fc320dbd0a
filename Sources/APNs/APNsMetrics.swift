public import Metrics

/// What a client has counted, and what it holds at one moment. Those of several clients can be summed.
public struct APNsMetrics: Sendable {
    /// An answer of APNs.
    struct ResponseLabels: MetricLabels {
        static let names = ["environment", "status", "reason"]
        let environment: APNsEnvironment
        /// 0 where it is none of Apple's.
        let status: Int
        let reason: String

        private static let statuses: Set<Int> = [200, 201, 204, 400, 403, 404, 405, 410, 413, 429, 500, 503]

        init(_ response: APNsResponse, in environment: APNsEnvironment) {
            self.environment = environment
            self.status = Self.statuses.contains(response.status) ? response.status : 0
            self.reason = APNsReason.label(of: response.reason)
        }

        var values: [String] { [environment.rawValue, status == 0 ? "other" : String(status), reason] }
    }

    struct EnvironmentLabel: MetricLabels {
        static let names = ["environment"]
        let environment: APNsEnvironment

        var values: [String] { [environment.rawValue] }
    }

    struct ReasonLabels: MetricLabels {
        static let names = ["environment", "reason"]
        let environment: APNsEnvironment
        let reason: String

        var values: [String] { [environment.rawValue, reason] }
    }

    struct StateLabels: MetricLabels {
        static let names = ["environment", "state"]
        let environment: APNsEnvironment
        let state: String

        var values: [String] { [environment.rawValue, state] }
    }

    /// The topic is a configured bundle id with the suffix of a push type, so there are few; empty for a key.
    struct CircuitLabels: MetricLabels {
        static let names = ["environment", "topic", "reason"]
        let topic: String
        let reason: ReasonLabels

        var values: [String] { [reason.environment.rawValue, topic, reason.reason] }
    }

    /// What is held back: all of a signing key, or one of its topics. The key's name tells what lanes have in common
    /// from what they have not, and is not shown.
    public struct OpenCircuit: Hashable, Sendable {
        let keyID: String
        let labels: CircuitLabels
    }

    var responses = Counter<ResponseLabels>(
        "livepush_apns_responses_total",
        help: "Answers of APNs, those included after which the gateway asks again by itself.",
    )
    var requestSeconds = Histogram<EnvironmentLabel>(
        "livepush_apns_request_seconds",
        help: "Time from sending a request to APNs until its answer.",
        bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
    )
    var unanswered = Counter<ReasonLabels>(
        "livepush_apns_unanswered_total",
        help: "Pushes that got no answer of APNs, and why.",
    )
    var held = Counter<ReasonLabels>(
        "livepush_apns_held_total",
        help: "Pushes that were not sent because APNs refuses their signing key or topic, and its reason.",
    )
    var connectionFailures = Counter<ReasonLabels>(
        "livepush_apns_connection_failures_total",
        help: "Connections to APNs that ended before a request was answered on them, and why.",
    )
    var goAways = Counter<ReasonLabels>(
        "livepush_apns_goaway_total",
        help: "Connections that APNs closed by GOAWAY, and the reason or HTTP/2 error code in it.",
    )
    var connections = Gauge<StateLabels>("livepush_apns_connections", help: "Connections to APNs.")
    var openStreams = Gauge<EnvironmentLabel>(
        "livepush_apns_streams_open",
        help: "Requests to APNs that wait for their answer.",
    )
    var streamLimit = Gauge<EnvironmentLabel>(
        "livepush_apns_stream_limit",
        help: "How many requests the open connections take at a time, by what APNs allows now.",
    )
    var waiting = Gauge<EnvironmentLabel>(
        "livepush_apns_waiting",
        help: "Pushes in memory that wait for a free stream.",
    )
    /// What is held back now; lanes that hold the same count once.
    public internal(set) var openCircuits: Set<OpenCircuit> = []

    /// Nothing counted yet.
    public init() {}

    /// Connections on which requests can be sent.
    public var openConnections: Int {
        APNsEnvironment.allCases.reduce(0) {
            let open = StateLabels(environment: $1, state: APNsConnection.Phase.open.rawValue)
            return $0 + Int(connections[open] ?? 0)
        }
    }

    /// Adds the figures of another lane's client.
    public mutating func add(contentsOf other: APNsMetrics) {
        responses.add(contentsOf: other.responses)
        requestSeconds.add(contentsOf: other.requestSeconds)
        unanswered.add(contentsOf: other.unanswered)
        held.add(contentsOf: other.held)
        connectionFailures.add(contentsOf: other.connectionFailures)
        goAways.add(contentsOf: other.goAways)
        connections.add(contentsOf: other.connections)
        openStreams.add(contentsOf: other.openStreams)
        streamLimit.add(contentsOf: other.streamLimit)
        waiting.add(contentsOf: other.waiting)
        openCircuits.formUnion(other.openCircuits)
    }

    /// Writes all of it.
    public func write(to page: inout PrometheusText) {
        page.write(responses)
        page.write(requestSeconds)
        page.write(unanswered)
        page.write(held)
        page.write(connectionFailures)
        page.write(goAways)
        page.write(connections)
        page.write(openStreams)
        page.write(streamLimit)
        page.write(waiting)
        var circuits = Gauge<CircuitLabels>(
            "livepush_circuit_open",
            help: "Signing keys that APNs refuses, at all or for one topic, so that their pushes are held.",
        )
        for circuit in openCircuits {
            circuits.add(1, circuit.labels)
        }
        page.write(circuits)
    }
}
