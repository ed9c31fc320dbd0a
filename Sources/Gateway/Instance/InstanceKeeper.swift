public import APNs
public import EventLoop
public import Logging
import PostgresClient

/// Keeps a process alive among the gateways of its database: heartbeats, takeovers, configuration, partitions. One for
/// the process, on one of its lanes.
///
/// The heartbeat has a connection of its own and waits for nothing else, since a process whose heartbeat is late loses
/// its work.
public final class InstanceKeeper {
    private static let wrongMasterKey: StaticString = "wrong master key: the gateway is not ready"

    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let backlogLimit: Int64
    private let logger: Logger
    private let heartbeatPool: PostgresPool
    private let pool: PostgresPool
    private let queue: DeliveryStore
    private let store: InstanceStore
    private let alarmStore: AlarmStore
    /// Instances that died and whose work is to be taken over.
    private var dead: [Int64] = []
    private let deathSignal = Signal()
    private var isClosed = false

    /// - Parameters:
    ///   - loop: the loop of the caller's actor.
    ///   - configuration: of the process.
    ///   - instance: shared by all lanes.
    ///   - directory: shared by all lanes.
    public init(
        on loop: EventLoop,
        configuration: GatewayConfiguration,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        logger: Logger,
    ) {
        self.instance = instance
        self.directory = directory
        self.backlogLimit = configuration.backlogLimit
        self.logger = logger
        self.heartbeatPool = PostgresPool(
            url: configuration.databaseURL,
            connections: 1,
            on: loop,
            logger: logger,
            statementTimeout: configuration.instance.sendStopAfter,
            connectTimeout: configuration.database.connectTimeout,
            applicationName: "livepush heartbeat",
        )
        // Three: neither the work of a dead instance nor the schedule waits for maintenance, which may take minutes.
        self.pool = PostgresPool(
            url: configuration.databaseURL,
            connections: 3,
            on: loop,
            logger: logger,
            statementTimeout: configuration.database.maintenanceTimeout,
            connectTimeout: configuration.database.connectTimeout,
            applicationName: "livepush keeper",
        )
        self.queue = DeliveryStore(pool: pool)
        self.store = InstanceStore(pool: pool)
        self.alarmStore = AlarmStore(pool: pool)
    }

    /// Begins. Nothing is taken up before what is configured was read once: work would wait for certificates that are
    /// there.
    ///
    /// - Parameter retired: told of signing keys that are not used any more.
    public func start(retired: @escaping ([APNsSigningKey]) -> Void, isolation: isolated any Actor = #isolation) {
        heartbeatPool.start()
        pool.start()
        Task {
            _ = isolation
            while !self.isClosed, await !self.reload(retired) {
                try? await Task.sleep(for: .milliseconds(200))
            }
            await self.beat()
        }
        Task {
            _ = isolation
            await self.takeOver()
        }
        Task {
            _ = isolation
            await self.releaseScheduled()
        }
        Task {
            _ = isolation
            await self.maintain(retired)
        }
    }

    /// Gives back what this process owns, and disconnects.
    public func close() async {
        isClosed = true
        deathSignal.set()
        await instance.leave(queue)
        if instance.alarms.hasUnwritten {
            await exchangeAlarms()
        }
        heartbeatPool.close()
        pool.close()
    }

    private func beat() async {
        let heartbeats = InstanceStore(pool: heartbeatPool)
        let queue = DeliveryStore(pool: heartbeatPool)
        while !isClosed {
            dead = await instance.beat(heartbeats, queue)
            if !dead.isEmpty {
                deathSignal.set()
            }
            try? await Task.sleep(for: instance.configuration.heartbeatInterval)
        }
    }

    private func reload(_ retired: ([APNsSigningKey]) -> Void) async -> Bool {
        do throws(PostgresError) {
            let keys = try await directory.reload(from: pool)
            if !keys.isEmpty {
                retired(keys)
            }
            for alarm in directory.faults {
                instance.alarms.raise(alarm)
            }
            instance.readConfiguration(unreadableSecrets: directory.unreadable?.count ?? 0)
            if let obstacle = directory.obstacle {
                logger.lasting(.error, InstanceKeeper.wrongMasterKey, ["error": .string(obstacle)])
            } else {
                logger.over(InstanceKeeper.wrongMasterKey, "the master key opens the secrets again")
            }
            return true
        } catch {
            logger.lasting(.warning, "configuration not read", ["error": .describing(error)])
            return false
        }
    }

    // MARK: - Maintenance

    private func maintain(_ retired: ([APNsSigningKey]) -> Void) async {
        var round = 0
        var notHeld: Set<Int64> = []
        while !isClosed {
            await attempt("backlog not counted") { () throws(PostgresError) in
                let left = directory.unreadable?.leftToOthers ?? []
                if !left.isEmpty {
                    try await queue.nameUnreadable(left)
                }
                try await instance.measureBacklog(
                    queue,
                    upTo: backlogLimit,
                    scheduled: round % 5 == 0,
                    leaving: left,
                )
            }
            if round % 1800 == 0 {
                await attempt("partitions not made") { () throws(PostgresError) in
                    try await store.createPartitions()
                }
            }
            if round % 30 == 11 {
                await attempt("old requests not forgotten") { () throws(PostgresError) in try await forgetRequests() }
            }
            if round % 15 == 13 {
                await attempt("sent states not forgotten") { () throws(PostgresError) in
                    try await queue.forgetSentStates()
                }
            }
            if round % 15 == 7 {
                await attempt("orphans not freed") { () throws(PostgresError) in try await store.releaseOrphans() }
            }
            if round % 3 == 2 {
                await attempt("own rows not compared with memory") { () throws(PostgresError) in
                    notHeld = try await freeNotHeld(before: notHeld)
                }
            }
            if round % 5 == 0 || instance.alarms.hasUnwritten {
                await exchangeAlarms()
            }
            round += 1
            try? await Task.sleep(for: instance.configuration.heartbeatInterval)
            if round % 2 == 0 {
                _ = await reload(retired)
            }
        }
    }

    private func attempt(_ failure: StaticString, _ body: () async throws(PostgresError) -> Void) async {
        do throws(PostgresError) {
            try await body()
        } catch {
            logger.lasting(.warning, failure, ["error": .describing(error)])
        }
    }

    private func exchangeAlarms() async {
        await attempt("alarms not written") { () throws(PostgresError) in
            try await instance.alarms.exchange(with: alarmStore, host: instance.host)
        }
    }

    /// Takes over at each heartbeat that finds dead instances: where it failed, the next one finds them again.
    private func takeOver() async {
        while !isClosed {
            await deathSignal.wait()
            for id in dead where !isClosed {
                await attempt("work of a dead instance not taken over") { () throws(PostgresError) in
                    guard let rows = try await store.takeOver(id) else { return }
                    instance.tookOver()
                    logger.warning("took over a dead instance", ["instance": .integer(id), "rows": .integer(rows)])
                }
            }
        }
    }

    /// Every gateway does: whoever comes first takes a message, and none depends on another.
    private func releaseScheduled() async {
        let step: Int64 = 500
        while !isClosed {
            await attempt("schedule not looked at") { () throws(PostgresError) in
                while !isClosed, try await store.releaseScheduled(limit: step) == step {}
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// Each statement reads the whole table, which has no index by age: one more index would cost every message more than
    /// this costs in a minute. Hence few and large steps.
    private func forgetRequests() async throws(PostgresError) {
        let step: Int64 = 100_000
        while !isClosed, try await store.forgetRequests(limit: step) == step {}
    }

    /// Frees rows that this process owns without knowing it, after two looks at which no lane worked on them: between
    /// commit and memory a row is in neither for a moment.
    private func freeNotHeld(before: Set<Int64>) async throws(PostgresError) -> Set<Int64> {
        guard let (messages, owner) = try await instance.messagesNotHeld(queue) else { return [] }
        let lost = messages.intersection(before)
        if !lost.isEmpty {
            try await queue.free(lost, owner: owner)
            logger.warning(
                "freed rows whose acceptance or take-up had no known outcome",
                ["messages": .count(lost.count)]
            )
        }
        return messages.subtracting(lost)
    }
}
