public import EventLoop
public import Logging

/// Sends pushes to APNs over HTTP/2, for one lane.
///
/// It lives on its loop's thread: every method and the last release belong there, and `init` too once the loop runs.
/// Each (signing key, environment) has connections of its own, so that one bad key never stalls another; and so has each of
/// the services for broadcast channels, which Apple keeps on other hosts. What one service says of a key does not hold the
/// others back.
///
/// What it mends by itself, without the caller hearing of it: streams that a GOAWAY or REFUSED_STREAM left unprocessed
/// (3 times), an expired provider token (once), a connection that has to be replaced (once). Everything else is the
/// caller's to repeat.
public final class APNsClient {
    private struct PoolKey: Hashable {
        let key: APNsSigningKey
        let environment: APNsEnvironment
        let service: APNsService
    }

    private let loop: EventLoop
    private let configuration: APNsConfiguration
    private let tokens: ProviderTokenCache
    private let circuits: ConfigurationCircuits
    private let logger: Logger
    private let tls: TLSContext
    private let counter = RequestCounter()
    private let counters = APNsCounters()
    private var pools: [PoolKey: APNsConnectionPool] = [:]
    private var retiring: [APNsConnectionPool] = []
    private var unsent: [APNsConnectionPool] = []
    private var refused: [(push: PendingPush, outcome: APNsOutcome)] = []
    private var turnEnd: EventLoopTimer?
    private var turnEndIsSet = false
    private var isClosed = false

    /// Where provider tokens come from. nil: this process makes its own, which is right for one that sends alone. Pushes
    /// wait until a token is there; a token that gets old is replaced behind their backs.
    public var tokenSource: ProviderTokenSource?

    /// Whether pushes may be sent now, asked just before they go on a stream. Where not, those that wait end as
    /// `unanswered(closed)`, which was not processed.
    public var maySend: () -> Bool = { true }

    /// How many pushes of one key in one environment may wait while they get nowhere; asked when another comes. It ends as
    /// `unanswered(backlogged)`, so that an APNs that swallows everything does not fill the memory that others need.
    public var waitingLimit: () -> Int = { .max }

    /// Opens nothing yet: connections come with the first push of a key.
    ///
    /// - Parameters:
    ///   - loop: the loop of the caller's actor.
    ///   - tokens: shared by all clients of the process.
    ///   - circuits: shared by all clients of the process.
    /// - Throws: `connectFailed` when the file of certificate authorities cannot be read; the detail names it.
    public init(
        on loop: EventLoop,
        configuration: APNsConfiguration,
        tokens: ProviderTokenCache,
        circuits: ConfigurationCircuits = ConfigurationCircuits(),
        logger: Logger,
    ) throws(APNsFailure) {
        self.loop = loop
        self.configuration = configuration
        self.tokens = tokens
        self.circuits = circuits
        self.logger = logger
        self.tls = try TLSContext(caFile: configuration.caFile)
        self.turnEnd = EventLoopTimer(on: loop) { [weak self] in self?.turnEnded() }
    }

    /// Sends one push.
    ///
    /// Pushes that are handed over in one turn of the loop leave together at its end.
    ///
    /// - Parameters:
    ///   - key: authenticates the request.
    ///   - environment: the one that the token belongs to.
    ///   - completion: called once on the loop's thread, within ``APNsConfiguration/requestTimeout``, never from inside
    ///     this method. A request with a value that APNs would surely refuse, or that no header can hold, is answered
    ///     here with APNs' own reason and status 400. Where no connection can be made, `unanswered(connect_failed)`
    ///     comes after two attempts, or one that took the whole ``APNsConfiguration/connectTimeout``.
    public func send(
        _ request: APNsRequest,
        signedBy key: APNsSigningKey,
        to environment: APNsEnvironment,
        completion: @escaping (APNsOutcome) -> Void,
    ) {
        send(.push(request), refusal: request.refusal, signedBy: key, to: environment, completion: completion)
    }

    /// Sends one request about broadcast channels, to the service that is for it.
    ///
    /// - Parameters:
    ///   - key: authenticates the request.
    ///   - environment: the one that the channel belongs to; they share none.
    ///   - completion: called as for a push. Who created a channel and gets `unanswered` with `mayHaveBeenProcessed` finds out
    ///     from a list.
    public func send(
        _ request: APNsChannelRequest,
        signedBy key: APNsSigningKey,
        to environment: APNsEnvironment,
        completion: @escaping (APNsOutcome) -> Void,
    ) {
        send(.channel(request), refusal: request.refusal, signedBy: key, to: environment, completion: completion)
    }

    private func send(
        _ request: PendingRequest,
        refusal: String?,
        signedBy key: APNsSigningKey,
        to environment: APNsEnvironment,
        completion: @escaping (APNsOutcome) -> Void,
    ) {
        let now = MonotonicTime.now
        let push = PendingPush(
            request,
            deadline: now + configuration.requestTimeout,
            counter: counter,
            completion: completion,
        )
        if isClosed {
            refused.append((push, .unanswered(APNsFailure(.closed), mayHaveBeenProcessed: false)))
        } else if let refusal {
            refused.append((push, .responded(APNsResponse(status: 400, reason: refusal))))
        } else {
            let pool = pool(of: PoolKey(key: key, environment: environment, service: request.service))
            if pool.isBacklogged(beyond: waitingLimit(), at: now) {
                refused.append((push, .unanswered(APNsFailure(.backlogged), mayHaveBeenProcessed: false)))
            } else {
                pool.enqueue(push)
                if !unsent.contains(where: { $0 === pool }) {
                    unsent.append(pool)
                }
            }
        }
        if !turnEndIsSet {
            turnEndIsSet = true
            turnEnd?.schedule(after: .zero)
        }
    }

    /// Forgets a key that was removed or replaced. Its connections end when their streams have; what waits for one
    /// ends as `unanswered(closed)`, which was not processed.
    public func retire(_ key: APNsSigningKey) {
        for environment in APNsEnvironment.allCases {
            circuits.forget(key, in: environment)
            for service in APNsService.allCases {
                let poolKey = PoolKey(key: key, environment: environment, service: service)
                guard let pool = pools.removeValue(forKey: poolKey) else { continue }
                retiring.append(pool)
                pool.retire()
            }
        }
    }

    /// Sends nothing of what waits for a stream: it ends as `unanswered(closed)`, which was not processed. Pushes that are
    /// on a stream are answered as ever.
    public func cancelWaiting() {
        for pool in Array(pools.values) {
            pool.cancelWaiting()
        }
    }

    /// Pushes without an outcome yet, whether they wait or are on a stream.
    public var requestsInFlight: Int { counter.count }

    /// What it has counted, and what it holds now.
    public var metrics: APNsMetrics {
        var metrics = counters.current
        for environment in APNsEnvironment.allCases {
            let labels = APNsMetrics.EnvironmentLabel(environment: environment)
            for state in APNsConnection.Phase.shown {
                metrics.connections.set(0, APNsMetrics.StateLabels(environment: environment, state: state.rawValue))
            }
            metrics.openStreams.set(0, labels)
            metrics.streamLimit.set(0, labels)
            metrics.waiting.set(0, labels)
        }
        for pool in Array(pools.values) + retiring {
            pool.addGauges(to: &metrics)
        }
        return metrics
    }

    /// Ends all connections now. What is under way ends as `unanswered(closed)`, and so does what is sent later.
    public func close() {
        isClosed = true
        let all = Array(pools.values) + retiring
        pools = [:]
        retiring = []
        for pool in all {
            pool.close()
        }
    }

    private func pool(of poolKey: PoolKey) -> APNsConnectionPool {
        if let pool = pools[poolKey] { return pool }
        let pool = APNsConnectionPool(
            key: poolKey.key,
            environment: poolKey.environment,
            service: poolKey.service,
            on: loop,
            configuration: configuration,
            tls: tls,
            tokens: tokens,
            circuits: circuits.circuits(
                of: poolKey.key,
                in: poolKey.environment,
                for: poolKey.service,
                configuration
            ),
            logger: logger,
            counters: counters,
            maySend: { [weak self] in self?.maySend() ?? false },
            getToken: { [weak self] request, completion in self?.getToken(request, completion) },
            onRetired: { [weak self] pool in self?.retiring.removeAll { $0 === pool } },
        )
        pools[poolKey] = pool
        return pool
    }

    private func getToken(
        _ request: ProviderTokenRequest,
        _ completion: @escaping (Result<IssuedProviderToken, ProviderTokenError>) -> Void,
    ) {
        if let tokenSource {
            tokenSource(request, completion)
        } else {
            completion(Result { () throws(ProviderTokenError) in try tokens.mint(request) })
        }
    }

    private func turnEnded() {
        turnEndIsSet = false
        let (answers, pools) = (refused, unsent)
        refused = []
        unsent = []
        for (push, outcome) in answers {
            push.complete(outcome)
        }
        for pool in pools {
            pool.dispatch()
        }
    }
}
