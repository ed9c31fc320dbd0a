import APNs
public import Metrics
import PostgresClient

/// What one lane of a gateway has counted and holds at one moment. Those of several lanes can be summed.
public struct GatewayMetrics: Sendable {
    struct StateLabel: MetricLabels {
        static let names = ["state"]
        let state: String

        var values: [String] { [state] }
    }

    private(set) var deliveries: DeliveryMetrics
    private(set) var apns: APNsMetrics
    private(set) var recipientsInMemory: Gauge<NoLabels>
    private var fanOutsInMemory: Gauge<NoLabels>
    private var connections = Gauge<StateLabel>(
        "livepush_postgres_connections",
        help: "Connections of the lanes to PostgreSQL.",
    )
    private var units: Gauge<NoLabels>

    init(
        deliveries: DeliveryMetrics,
        apns: APNsMetrics,
        recipientsInMemory: Int,
        fanOutsInMemory: Int,
        pool: PostgresPool,
    ) {
        self.deliveries = deliveries
        self.apns = apns
        self.recipientsInMemory = Gauge(
            "livepush_recipients_in_memory",
            help: "Recipients that are being worked on.",
            value: Double(recipientsInMemory),
        )
        self.fanOutsInMemory = Gauge(
            "livepush_fan_outs_in_memory",
            help: "Messages to audiences that are being worked on.",
            value: Double(fanOutsInMemory),
        )
        connections.set(Double(pool.openConnections), StateLabel(state: "open"))
        connections.set(Double(pool.connectionCount - pool.openConnections), StateLabel(state: "closed"))
        units = Gauge(
            "livepush_postgres_units_in_flight",
            help: "Transactions that wait for PostgreSQL's answer.",
            value: Double(pool.unitsInFlight),
        )
    }

    /// Adds the figures of another lane.
    public mutating func add(contentsOf other: GatewayMetrics) {
        deliveries.add(contentsOf: other.deliveries)
        apns.add(contentsOf: other.apns)
        recipientsInMemory.add(contentsOf: other.recipientsInMemory)
        fanOutsInMemory.add(contentsOf: other.fanOutsInMemory)
        connections.add(contentsOf: other.connections)
        units.add(contentsOf: other.units)
    }

    /// Writes all of it.
    public func write(to page: inout PrometheusText) {
        deliveries.write(to: &page)
        page.write(recipientsInMemory)
        page.write(fanOutsInMemory)
        apns.write(to: &page)
        page.write(connections)
        page.write(units)
    }
}
