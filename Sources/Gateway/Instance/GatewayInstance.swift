import APNs
import EventLoop
public import Logging
import PostgresClient
import Synchronization

/// This process among the gateways of one database: its id, whether it may send, and PostgreSQL's clock. One for the
/// process, shared by its lanes; one of them keeps it alive.
public final class GatewayInstance: Sendable {
    /// Intervals of heartbeat and takeover, and what all lanes judge together.
    public struct Configuration: Sendable {
        /// Time between heartbeats.
        public var heartbeatInterval: Duration = .seconds(2)
        /// How long another's counter must stand still before its work is taken over.
        public var takeoverAfter: Duration = .seconds(25)
        /// How long this process may go without a heartbeat before it stops sending and drops its work.
        public var sendStopAfter: Duration = .seconds(10)
        /// When failing tokens are taken for a wrong configuration.
        public var tokenFailures = TokenFailureRules()

        /// The defaults.
        public init() {}
    }

    private static let readOnlyFault: StaticString =
        "PostgreSQL refuses writes: it is a standby or read-only; no gateway can register, nothing is accepted or sent"

    private struct State {
        var id: Int64?
        var liveness: InstanceLiveness
        var clock: (time: UnixTime, at: MonotonicTime)?
        var suspects = SuspectWindow()
        var queue: QueueDepth?
        var counts = InstanceCounts()
        /// Messages whose work is in some lane's memory, and how often.
        var held: [Int64: Int] = [:]
        /// Until then rows are looked for that this process owns without knowing it.
        var sweepUntil: MonotonicTime?
    }

    let configuration: Configuration
    /// What this process noticed that a person must act on.
    public let alarms = AlarmBoard()
    /// Where so many tokens fail that the configuration must be wrong.
    let tokenFailures: TokenFailureBoard
    /// What APNs refuses, for all lanes.
    let circuits = ConfigurationCircuits()
    /// For people: host name and process id.
    let host: String
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameter host: for people: host name and process id.
    public init(configuration: Configuration, host: String, logger: Logger) {
        self.configuration = configuration
        self.tokenFailures = TokenFailureBoard(configuration.tokenFailures)
        self.host = host
        self.logger = logger
        let liveness = InstanceLiveness(
            takeoverAfter: configuration.takeoverAfter,
            sendStopAfter: configuration.sendStopAfter,
        )
        self.state = Mutex(State(liveness: liveness))
    }

    /// The id under which this process owns rows. It changes when the work in memory is not this process's any more, and
    /// is nil until PostgreSQL gave a new one: work is current exactly while the id is the one it was begun under.
    var owner: Int64? { state.withLock { $0.id } }

    /// The same, but nil also while no heartbeat came through for so long that nothing may be sent or written. From
    /// there the id never becomes valid again.
    func id(at now: MonotonicTime) -> Int64? {
        state.withLock { $0.liveness.maySend(at: now) ? $0.id : nil }
    }

    /// Whether PostgreSQL answered lately.
    public var isAlive: Bool { id(at: .now) != nil }

    /// Whether a balancer should send requests here: PostgreSQL answers.
    public var isReady: Bool {
        state.withLock { $0.id != nil && $0.liveness.isAnswered(at: .now) }
    }

    /// Rows that waited when they were last counted: those of all apps that nobody works on although they are due, or,
    /// where that is more, those of this app that are tried again later. While APNs is away all of them are tried again
    /// later; while only an app's key is refused, its queue does not stop the others.
    func backlog(of sdkAppID: Int64) -> Int64 {
        state.withLock { max($0.queue?.due ?? 0, $0.queue?.scheduled?.rows[sdkAppID] ?? 0) }
    }

    /// What is known of the process and of the queue.
    public var metrics: InstanceMetrics {
        let (isAlive, queue, counts) = state.withLock { state in
            (state.id != nil && state.liveness.maySend(at: .now), state.queue, state.counts)
        }
        return InstanceMetrics(isAlive: isAlive, queue: isAlive ? queue : nil, counts: counts)
    }

    /// The time by PostgreSQL's clock, carried on by the monotonic one; nil before the first heartbeat.
    func time(at now: MonotonicTime) -> UnixTime? {
        state.withLock { state in
            // Without a Duration, whose 128 bits take longer than all else here.
            state.clock.map { time, at in
                UnixTime(microseconds: time.microseconds + (now.nanoseconds - at.nanoseconds) / 1000)
            }
        }
    }

    /// Asks or changes the places for suspects; nil where the process has another id by now, whose places are others.
    func suspects<Answer>(of owner: Int64, _ body: (inout SuspectWindow) -> Answer) -> Answer? {
        state.withLock { state in
            state.id == owner ? body(&state.suspects) : nil
        }
    }

    // MARK: - What is in memory

    /// A lane begins to work on a row of this message.
    func hold(_ message: Int64) {
        state.withLock { $0.held[message, default: 0] += 1 }
    }

    /// The lane is done with it.
    func letGo(_ message: Int64) {
        state.withLock { state in
            guard let count = state.held[message] else { return }
            state.held[message] = count > 1 ? count - 1 : nil
        }
    }

    /// A unit that gives this process rows ended without a known outcome: it may own rows that no lane works on.
    func outcomeIsUnknown() {
        state.withLock { $0.sweepUntil = MonotonicTime.now + .seconds(600) }
    }

    /// Of the messages of which this process owns rows, those that no lane works on; nil while there is no reason to
    /// look.
    func messagesNotHeld(_ queue: DeliveryStore) async throws(PostgresError) -> (messages: Set<Int64>, owner: Int64)? {
        let (owner, until) = state.withLock { ($0.id, $0.sweepUntil) }
        guard let owner, let until, MonotonicTime.now < until else { return nil }
        let owned = try await queue.messagesOwned(by: owner)
        return (owned.filter { message in state.withLock { $0.held[message] == nil } }, owner)
    }

    /// Counts the rows that wait for an owner.
    ///
    /// - Parameters:
    ///   - limit: up to so many.
    ///   - scheduled: also those that are due later, which takes as long as there are such rows.
    func measureBacklog(
        _ queue: DeliveryStore,
        upTo limit: Int64,
        scheduled: Bool,
        leaving apps: [Int64],
    ) async throws(PostgresError) {
        let due = try await queue.backlog(upTo: limit, except: apps)
        let retries = scheduled ? try await queue.scheduled(upTo: limit, with: apps) : nil
        let schedule = scheduled ? try await queue.schedule(upTo: limit) : nil
        state.withLock { state in
            state.queue = QueueDepth(
                due: due.rows,
                oldestMicroseconds: due.oldestMicroseconds,
                scheduled: retries ?? state.queue?.scheduled,
                schedule: schedule ?? state.queue?.schedule,
            )
        }
    }

    /// The configuration was read: so many of its secrets cannot be used.
    func readConfiguration(unreadableSecrets count: Int) {
        state.withLock { $0.counts.unreadableSecrets.set(Double(count)) }
    }

    /// This process took over the work of a dead one.
    func tookOver() {
        state.withLock { $0.counts.takeovers.add() }
    }

    // MARK: - Keeping alive

    /// One heartbeat.
    ///
    /// - Returns: instances that died.
    func beat(_ store: InstanceStore, _ queue: DeliveryStore) async -> [Int64] {
        let sentAt = MonotonicTime.now
        state.withLock { $0.liveness.heartbeatBegins(at: sentAt) }
        var failed = false
        defer {
            state.withLock { $0.liveness.heartbeatEnds(failed: failed) }
            if !failed { logger.over(GatewayInstance.readOnlyFault, "PostgreSQL takes writes again") }
        }
        do throws(PostgresError) {
            guard let id = id(at: sentAt) else {
                try await comeBack(store, queue)
                return []
            }
            let heartbeat = try await store.heartbeat(of: id)
            guard self.id(at: .now) == id else {
                // It came too late: meanwhile work was refused that nothing would begin again.
                logger.error("heartbeat came too late; work is dropped", ["instance": .integer(id)])
                try await comeBack(store, queue)
                return []
            }
            switch note(heartbeat, sentAt: sentAt) {
            case .becomeNewInstance:
                logger.error("declared dead by another instance; work is dropped", ["instance": .integer(id)])
                try await comeBack(store, queue)
                return []
            case .takeOver(let dead): return dead
            }
        } catch {
            failed = true
            // read_only_sql_transaction
            if error.sqlState == "25006" { logger.lasting(.error, GatewayInstance.readOnlyFault) }
            let isLost = state.withLock { state in
                state.liveness.connectionLost()
                return state.id != nil && !state.liveness.maySend(at: .now)
            }
            if isLost {
                logger.lasting(.error, "no heartbeat; sending stopped", ["error": .describing(error)])
            }
            return []
        }
    }

    private func note(_ heartbeat: InstanceStore.Heartbeat, sentAt: MonotonicTime) -> InstanceLiveness.Action {
        let now = MonotonicTime.now
        return state.withLock { state in
            state.clock = (heartbeat.time, sentAt + (now - sentAt) / 2)
            return state.liveness.heartbeat(
                sentAt: sentAt,
                receivedAt: now,
                isKnown: heartbeat.isKnown,
                counters: heartbeat.others,
            )
        }
    }

    /// Registers anew. What the former id still owns is dropped from memory by this process itself, so it is given back
    /// without counting as a takeover.
    private func comeBack(_ store: InstanceStore, _ queue: DeliveryStore) async throws(PostgresError) {
        if let former = owner {
            try await queue.release(owner: former)
            dropWork()
        }
        let id = try await store.register(host: host)
        let sentAt = MonotonicTime.now
        let heartbeat = try await store.heartbeat(of: id)
        state.withLock { state in
            // What the others did while this process was away was not seen.
            state.liveness.connectionLost()
            state.id = id
            state.counts.registrations.add()
        }
        _ = note(heartbeat, sentAt: sentAt)
        logger.info("instance registered", ["instance": .integer(id)])
    }

    private func dropWork() {
        state.withLock { state in
            state.id = nil
            state.suspects = SuspectWindow()
            state.held = [:]
        }
    }

    /// Gives everything back at the end of the process.
    func leave(_ queue: DeliveryStore) async {
        guard let id = owner else { return }
        dropWork()
        do throws(PostgresError) {
            try await queue.release(owner: id)
        } catch {
            logger.warning("work not released; another instance takes it over", ["error": .describing(error)])
        }
    }
}
