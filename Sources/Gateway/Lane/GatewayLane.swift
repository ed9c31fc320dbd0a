public import APNs
public import EventLoop
public import Logging
public import PostgresClient

/// The gateway's part of one lane: its PostgreSQL connections, its APNs connections, accept and delivery. Everything in
/// it lives on the lane's thread.
public final class GatewayLane {
    /// What the dialects accept messages through.
    public var gateway: any MessageGateway { router }

    /// The same with what Pushwoosh's API needs besides.
    public var pushwoosh: any PushwooshGateway { router }

    /// What messages are taken back through.
    public var revoker: any MessageRevoker { router }

    /// What broadcast channels are managed and sent to through.
    public let channels: any ChannelGateway

    /// PostgreSQL connections of this lane, for what a caller waits for: it is told to try again after a few seconds, and
    /// at once while this process is not alive.
    public let callers: PostgresPool

    private let pool: PostgresPool

    private let loop: EventLoop
    private let router: MessageRouter
    private let engine: DeliveryEngine
    private let fanOuts: FanOuts
    private let poller: QueuePoller
    private let client: APNsClient
    private let instance: GatewayInstance
    private let tokenStore: ProviderTokenStore
    private let counters = DeliveryCounters()
    private let configuration: GatewayConfiguration
    private let directory: ApplicationDirectory
    private let logger: Logger

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
        self.loop = loop
        self.instance = instance
        self.configuration = configuration
        self.directory = directory
        self.logger = logger
        self.pool = PostgresPool(
            url: configuration.databaseURL,
            connections: configuration.connectionsPerLane,
            on: loop,
            logger: logger,
            statementTimeout: configuration.database.statementTimeout,
            connectTimeout: configuration.database.connectTimeout,
            connectionWait: configuration.database.connectionWait,
        )
        self.callers = pool.answering(within: configuration.database.answerLimit) { instance.isAlive }
        let store = DeliveryStore(pool: pool)
        self.client = try APNsClient(
            on: loop,
            configuration: configuration.apns,
            tokens: tokens,
            circuits: instance.circuits,
            logger: logger,
        )
        self.channels = BroadcastChannels(
            client: client,
            store: ChannelStore(pool: pool),
            callers: ChannelStore(pool: callers),
            instance: instance,
            directory: directory,
            logger: logger,
        )
        self.tokenStore = ProviderTokenStore(
            pool: pool,
            seal: directory.seal,
            host: instance.host,
            rules: configuration.apns.providerTokens,
        )
        self.engine = DeliveryEngine(
            store: store,
            client: client,
            instance: instance,
            directory: directory,
            retrySchedule: configuration.retrySchedule,
            pacing: configuration.activityPacing,
            startRules: configuration.startRules,
            recipientsInMemory: configuration.recipientsInMemory,
            counters: counters,
            logger: logger,
        )
        self.fanOuts = FanOuts(
            store: FanOutStore(pool: pool),
            engine: engine,
            instance: instance,
            directory: directory,
            backlogLimit: configuration.backlogLimit,
            counters: counters,
            logger: logger,
        )
        self.poller = QueuePoller(
            store: store,
            engine: engine,
            fanOuts: fanOuts,
            instance: instance,
            directory: directory,
            interval: configuration.pollInterval,
            logger: logger,
        )
        self.router = MessageRouter(
            store: store,
            callers: DeliveryStore(pool: callers),
            accounts: AccountStore(pool: callers),
            pushwoosh: PushwooshStore(pool: callers),
            engine: engine,
            fanOuts: fanOuts,
            instance: instance,
            directory: directory,
            backlogLimit: configuration.backlogLimit,
            answerLimit: configuration.database.answerLimit,
            counters: counters,
            logger: logger,
        )
    }

    /// Connects and begins to work.
    public func start(isolation: isolated any Actor = #isolation) {
        pool.start()
        // What waits for a stream in a process that was stopped and resumed belongs to another by then.
        client.maySend = { [instance] in instance.isAlive }
        client.waitingLimit = { [weak engine] in engine?.freePlaces ?? 0 }
        client.tokenSource = { [tokenStore] request, completion in
            Task {
                _ = isolation
                completion(await tokenStore.token(request))
            }
        }
        router.start(on: loop)
        engine.start(on: loop)
        fanOuts.start(on: loop)
        poller.start()
    }

    /// Closes the connections of keys that are not used any more.
    public func retire(_ keys: [APNsSigningKey]) {
        for key in keys {
            client.retire(key)
        }
    }

    /// What a dialect is given in place of ``gateway`` for a request that is only to be explained.
    public func explainer() -> MessageExplainer {
        MessageExplainer(pool: callers, directory: directory, configuration: configuration, logger: logger) {
            [router] in
            router.now()
        }
    }

    /// Recipients whose work is in memory.
    public var recipientsUnderWay: Int { engine.recipientCount }

    /// What it has counted, and what it holds now.
    public var metrics: GatewayMetrics {
        GatewayMetrics(
            deliveries: counters.current,
            apns: client.metrics,
            recipientsInMemory: engine.recipientCount,
            fanOutsInMemory: fanOuts.count,
            pool: pool,
        )
    }

    /// Takes up no more work: what is accepted from now on waits in PostgreSQL for another instance.
    public func stopTakingUp() {
        poller.close()
        engine.stopTakingUp()
    }

    /// Ends. What is left in memory is forgotten; its rows are given back by the keeper.
    public func close() {
        poller.close()
        router.close()
        fanOuts.close()
        engine.close()
        client.close()
        client.tokenSource = nil
        pool.close()
    }
}
