import EventLoop
public import Logging
import PostgresClient
import Synchronization

/// This process among the gateways of one database: its id, whether it may send, and PostgreSQL's clock. One for the
/// process, shared by its lanes; one of them keeps it alive.
public final class GatewayInstance: Sendable {
    /// Intervals of heartbeat and takeover.
    public struct Configuration: Sendable {
        /// Time between heartbeats.
        public var heartbeatInterval: Duration = .seconds(2)
        /// How long another's counter must stand still before its work is taken over.
        public var takeoverAfter: Duration = .seconds(25)
        /// How long this process may go without a heartbeat before it stops sending and drops its work.
        public var sendStopAfter: Duration = .seconds(10)

        /// The defaults.
        public init() {}
    }

    private struct State {
        var id: Int64?
        var liveness: InstanceLiveness
        /// Increases when all work in memory has to be dropped.
        var epoch = 0
        var clock: (time: UnixTime, at: MonotonicTime)?
        var hasSuspect = false
        var backlog: Int64 = 0
    }

    let configuration: Configuration
    private let logger: Logger
    private let host: String
    private let state: Mutex<State>

    /// - Parameter host: for people: host name and process id.
    public init(configuration: Configuration, host: String, logger: Logger) {
        self.configuration = configuration
        self.host = host
        self.logger = logger
        let liveness = InstanceLiveness(
            takeoverAfter: configuration.takeoverAfter,
            sendStopAfter: configuration.sendStopAfter,
        )
        self.state = Mutex(State(liveness: liveness))
    }

    /// The id, nil while this process is not registered or lost its right to send.
    func id(at now: MonotonicTime) -> Int64? {
        state.withLock { $0.liveness.maySend(at: now) ? $0.id : nil }
    }

    /// Increases when all work in memory has to be dropped.
    var epoch: Int { state.withLock { $0.epoch } }

    /// Whether PostgreSQL answered lately.
    public var isAlive: Bool { id(at: .now) != nil }

    /// Rows that waited for an owner at the last heartbeat.
    var backlog: Int64 { state.withLock { $0.backlog } }

    /// The time by PostgreSQL's clock, carried on by the monotonic one; nil before the first heartbeat.
    func time(at now: MonotonicTime) -> UnixTime? {
        state.withLock { state in state.clock.map { $0.time + (now - $0.at) } }
    }

    /// Takes the one place for a message whose instance died with it.
    func admitSuspect() -> Bool {
        state.withLock { state in
            defer { state.hasSuspect = true }
            return !state.hasSuspect
        }
    }

    /// Frees that place.
    func dismissSuspect() {
        state.withLock { $0.hasSuspect = false }
    }

    // MARK: - Keeping alive

    /// One heartbeat with what follows from it.
    ///
    /// - Parameter backlogLimit: up to how many waiting rows are counted.
    func beat(_ store: InstanceStore, _ queue: DeliveryStore, backlogLimit: Int64) async {
        do throws(PostgresError) {
            let sentAt = MonotonicTime.now
            guard let id = id(at: sentAt) else {
                try await comeBack(store, queue)
                return
            }
            let heartbeat = try await store.heartbeat(of: id)
            let action = note(heartbeat, sentAt: sentAt)
            switch action {
            case .becomeNewInstance:
                logger.error("declared dead by another instance; work dropped", ["instance": .integer(id)])
                dropWork()
                try await comeBack(store, queue)
            case .takeOver(let dead):
                for id in dead {
                    guard let rows = try await store.takeOver(id) else { continue }
                    logger.warning("took over a dead instance", ["instance": .integer(id), "rows": .integer(rows)])
                }
            }
            let backlog = try await queue.backlog(upTo: backlogLimit)
            state.withLock { $0.backlog = backlog }
        } catch {
            state.withLock { $0.liveness.connectionLost() }
            if id(at: .now) == nil, state.withLock({ $0.id }) != nil {
                logger.error("no heartbeat; sending stops and work is dropped", ["error": .describing(error)])
                dropWork()
            }
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

    /// Registers anew. What the former id still owns was dropped from memory by this process itself, so it is given
    /// back without counting as a takeover.
    private func comeBack(_ store: InstanceStore, _ queue: DeliveryStore) async throws(PostgresError) {
        let former = state.withLock { $0.id }
        if former != nil {
            dropWork()
        }
        if let former {
            try await queue.release(owner: former)
        }
        let id = try await store.register(host: host)
        let sentAt = MonotonicTime.now
        let heartbeat = try await store.heartbeat(of: id)
        state.withLock { $0.id = id }
        _ = note(heartbeat, sentAt: sentAt)
        logger.info("instance registered", ["instance": .integer(id)])
    }

    private func dropWork() {
        state.withLock { state in
            state.epoch += 1
            state.hasSuspect = false
        }
    }

    /// Gives everything back at the end of the process.
    func leave(_ queue: DeliveryStore) async {
        guard let id = state.withLock({ $0.id }) else { return }
        dropWork()
        do throws(PostgresError) {
            try await queue.release(owner: id)
            state.withLock { $0.id = nil }
        } catch {
            logger.warning("work not released; another instance takes it over", ["error": .describing(error)])
        }
    }
}
