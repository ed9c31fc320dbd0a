public import Metrics

/// What is known of the whole process and of the queue that all gateways share.
public struct InstanceMetrics: Sendable {
    struct StateLabel: MetricLabels {
        static let names = ["state"]
        let state: String

        var values: [String] { [state] }
    }

    private let alive: Gauge<NoLabels>
    private var rows = Gauge<StateLabel>(
        "livepush_queue_rows",
        help: "Rows of the table pending that no gateway works on, up to the backlog limit: due now, or scheduled.",
    )
    private var oldest = Gauge<NoLabels>(
        "livepush_queue_oldest_seconds",
        help: "How long the oldest due row has waited for a gateway, 0 if there is none.",
    )
    private var oldestRetry = Gauge<NoLabels>(
        "livepush_retry_oldest_seconds",
        help: "How long ago the oldest message was accepted that waits for another attempt, held or not; else 0.",
    )
    private var scheduled = Gauge<NoLabels>(
        "livepush_scheduled_messages",
        help: "Messages that wait for their time, up to the backlog limit.",
    )
    private var late = Gauge<NoLabels>(
        "livepush_schedule_late_seconds",
        help: "For how long the time of the earliest of them has passed, 0 if it has not.",
    )
    /// What waits in PostgreSQL; nil while it is not known: before the first look, and while PostgreSQL is away.
    let queue: QueueDepth?
    let counts: InstanceCounts

    init(isAlive: Bool, queue: QueueDepth?, counts: InstanceCounts) {
        alive = Gauge(
            "livepush_instance_alive",
            help: "1 while heartbeats come through, so that the gateway accepts and sends; else 0.",
            value: isAlive ? 1 : 0,
        )
        self.queue = queue
        self.counts = counts
        guard let queue else { return }
        rows.set(Double(queue.due), StateLabel(state: "due"))
        if let scheduled = queue.scheduled {
            rows.set(Double(scheduled.rows.values.reduce(0, +)), StateLabel(state: "scheduled"))
            oldestRetry.set(Double(scheduled.oldestMicroseconds) * 1e-6)
        }
        oldest.set(Double(queue.oldestMicroseconds) * 1e-6)
        guard let schedule = queue.schedule else { return }
        scheduled.set(Double(schedule.messages))
        late.set(Double(schedule.lateMicroseconds) * 1e-6)
    }

    /// Writes all of it.
    public func write(to page: inout PrometheusText) {
        page.write(alive)
        page.write(rows)
        page.write(oldest)
        page.write(oldestRetry)
        page.write(scheduled)
        page.write(late)
        page.write(counts.takeovers)
        page.write(counts.registrations)
        page.write(counts.unreadableSecrets)
    }
}

/// What a process counts of its life among the others.
struct InstanceCounts: Sendable {
    var takeovers = Counter<NoLabels>(
        "livepush_takeovers_total",
        help: "Dead gateways whose work this one took over.",
    )
    var registrations = Counter<NoLabels>(
        "livepush_instance_registrations_total",
        help: "How often this process registered: once at its start, and each time after it dropped its work.",
    )
    var unreadableSecrets = Gauge<NoLabels>(
        "livepush_unreadable_secrets",
        help: "Secret keys of apps and keys of certificates that this gateway cannot open or use.",
        value: 0,
    )
}

/// What waits in PostgreSQL without an owner.
struct QueueDepth: Sendable, Equatable {
    /// Rows that could be worked on now.
    var due: Int64 = 0
    /// How long the oldest of them has been due.
    var oldestMicroseconds: Int64 = 0
    /// What is due later; nil before it was counted.
    var scheduled: Scheduled?
    /// Messages that wait for their time; nil before they were counted.
    var schedule: Schedule?

    /// Rows of each app, and how long ago the message of the oldest was accepted.
    struct Scheduled: Sendable, Equatable {
        var rows: [Int64: Int64] = [:]
        var oldestMicroseconds: Int64 = 0
    }

    /// How many messages wait for their time, and for how long that of the earliest has passed.
    struct Schedule: Sendable, Equatable {
        var messages: Int64 = 0
        var lateMicroseconds: Int64 = 0
    }
}
