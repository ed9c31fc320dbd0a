public import APNs
public import EventLoop
public import Logging
public import PostgresClient

/// The gateway's part of one lane: its PostgreSQL connections, its APNs connections, accept and delivery. Everything in
/// it lives on the lane's thread.
public final class GatewayLane {
    /// What the dialects accept messages through.
    public var gateway: any MessageGateway { router }

    /// PostgreSQL connections of this lane.
    public let pool: PostgresPool

    private let router: MessageRouter
    private let engine: DeliveryEngine
    private let poller: QueuePoller
    private let client: APNsClient
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let store: DeliveryStore
    private let backlogLimit: Int64
    private let logger: Logger
    private var isClosed = false

    /// - Parameters:
    ///   - loop: the lane's loop.
    ///   - instance: shared by all lanes.
    ///   - directory: shared by all lanes.
    ///   - tokens: shared by all lanes.
    public init(
        on loop: EventLoop,
        configuration: GatewayConfiguration,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        tokens: ProviderTokenCache,
        logger: Logger,
    ) throws {
        self.pool = PostgresPool(
            url: configuration.databaseURL,
            connections: configuration.connectionsPerLane,
            on: loop,
            logger: logger,
        )
        self.instance = instance
        self.directory = directory
        self.logger = logger
        self.backlogLimit = configuration.backlogLimit
        self.store = DeliveryStore(pool: pool)
        self.client = try APNsClient(on: loop, configuration: configuration.apns, tokens: tokens, logger: logger)
        self.engine = DeliveryEngine(
            store: store,
            client: client,
            instance: instance,
            directory: directory,
            retrySchedule: configuration.retrySchedule,
            recipientsInMemory: configuration.recipientsInMemory,
            logger: logger,
        )
        self.poller = QueuePoller(
            store: store,
            engine: engine,
            instance: instance,
            directory: directory,
            interval: configuration.pollInterval,
            logger: logger,
        )
        self.router = MessageRouter(
            store: store,
            accounts: AccountStore(pool: pool),
            engine: engine,
            instance: instance,
            directory: directory,
            backlogLimit: configuration.backlogLimit,
            logger: logger,
        )
    }

    /// Connects and begins to work.
    public func start(isolation: isolated any Actor = #isolation) {
        pool.start()
        router.start()
        engine.start()
        poller.start()
    }

    /// Keeps the whole process alive: heartbeat, takeover, configuration, partitions. One lane of a process runs it.
    ///
    /// - Parameter retired: told of signing keys that are not used any more, for the other lanes.
    public func keepInstance(retired: ([APNsSigningKey]) -> Void) async {
        let instances = InstanceStore(pool: pool)
        var beats = 0
        while !isClosed {
            await instance.beat(instances, store, backlogLimit: backlogLimit)
            do throws(PostgresError) {
                let keys = try await directory.reload(from: pool)
                if !keys.isEmpty {
                    retired(keys)
                }
                if beats % 1800 == 0 {
                    try await instances.createPartitions()
                }
                if beats % 15 == 0 {
                    try await instances.releaseOrphans()
                }
                beats += 1
            } catch {
                logger.warning("configuration not read", ["error": .describing(error)])
            }
            try? await Task.sleep(for: instance.configuration.heartbeatInterval)
        }
    }

    /// Closes the connections of keys that are not used any more.
    public func retire(_ keys: [APNsSigningKey]) {
        for key in keys {
            client.retire(key)
        }
    }

    /// Recipients whose work is in memory.
    public var recipientsUnderWay: Int { engine.recipientCount }

    /// Stops taking up work and gives what is left back. Call once no request is under way.
    ///
    /// - Parameter isLast: whether this process ends with it, so that its rows are freed at once.
    public func close(isLast: Bool) async {
        isClosed = true
        router.close()
        poller.close()
        engine.close()
        client.close()
        if isLast {
            await instance.leave(store)
        }
        pool.close()
    }
}
