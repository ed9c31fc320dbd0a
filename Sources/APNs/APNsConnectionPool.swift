import CNghttp2
import EventLoop
import Logging

/// The connections of one signing key to one service of an environment, and the pushes that wait for them.
///
/// A key never shares a connection: APNs ties a connection to the team of its first push, and one bad key must not
/// stall others.
final class APNsConnectionPool: APNsConnection.Owner {
    /// How often a push may come back unprocessed from a connection before its caller is told.
    private static let returnLimit = 3
    /// Connections in a row that came to nothing before those who wait are told.
    private static let failureLimit = 2
    /// Deadlines are met to this precision.
    private static let deadlinePrecision = Duration.milliseconds(20)

    let key: APNsSigningKey
    let environment: APNsEnvironment

    private let loop: EventLoop
    private let endpoint: APNsEndpoint
    private let configuration: APNsConfiguration
    private let tls: TLSContext
    private let tokens: ProviderTokenCache
    private let circuits: KeyCircuits
    private let maySend: () -> Bool
    private let getToken: ProviderTokenSource
    private let logger: Logger
    private let counters: APNsCounters
    private let onRetired: (APNsConnectionPool) -> Void

    private var connections: [APNsConnection] = []
    private var waiting = PushQueue()
    private var backOff: ConnectionBackOff
    private var lastFailure: APNsFailure?
    private var isRetired = false
    private var isGettingToken = false
    private var isDispatching = false
    private var deadlineTimer: EventLoopTimer?
    private var deadlineIsSet = false
    private var connectTimer: EventLoopTimer?

    /// - Parameters:
    ///   - circuits: shared by the pools of this key in all lanes.
    ///   - maySend: whether pushes may go on a stream now.
    ///   - getToken: where provider tokens come from.
    ///   - onRetired: called when the last connection has ended after ``retire()``.
    init(
        key: APNsSigningKey,
        environment: APNsEnvironment,
        service: APNsService,
        on loop: EventLoop,
        configuration: APNsConfiguration,
        tls: TLSContext,
        tokens: ProviderTokenCache,
        circuits: KeyCircuits,
        logger: Logger,
        counters: APNsCounters,
        maySend: @escaping () -> Bool,
        getToken: @escaping ProviderTokenSource,
        onRetired: @escaping (APNsConnectionPool) -> Void,
    ) {
        self.key = key
        self.environment = environment
        self.loop = loop
        self.endpoint = configuration.endpoint(of: environment, for: service)
        self.configuration = configuration
        self.tls = tls
        self.tokens = tokens
        self.circuits = circuits
        self.maySend = maySend
        self.getToken = getToken
        self.logger = logger
        self.counters = counters
        self.onRetired = onRetired
        self.backOff = ConnectionBackOff(
            shortest: configuration.shortestReconnectDelay,
            longest: configuration.longestReconnectDelay,
        )
        self.deadlineTimer = EventLoopTimer(on: loop) { [weak self] in self?.deadlinePassed() }
        self.connectTimer = EventLoopTimer(on: loop) { [weak self] in self?.dispatch() }
    }

    // MARK: - Work

    /// Puts a push behind the others. It goes out with ``dispatch()``.
    func enqueue(_ push: PendingPush) {
        waiting.append(push)
        if !deadlineIsSet {
            deadlineIsSet = true
            deadlineTimer?.schedule(after: push.deadline - .now)
        }
    }

    /// Whether more than `limit` pushes wait and get nowhere: the next to leave has waited too long.
    func isBacklogged(beyond limit: Int, at now: MonotonicTime) -> Bool {
        guard waiting.count > limit, let next = waiting.first else { return false }
        return next.deadline - now < configuration.requestTimeout - configuration.patience
    }

    /// Sends what can be sent, connects where that helps.
    func dispatch() {
        guard !waiting.isEmpty else { return }
        guard !isRetired, maySend() else {
            fail(waiting.takeAll(), APNsFailure(.closed))
            return
        }
        let now = MonotonicTime.now
        if !circuits.areClosed {
            holdWaiting(at: now)
        }
        submitWaiting(at: now)
        if !waiting.isEmpty {
            connectIfUseful(at: now)
        }
    }

    private func submitWaiting(at now: MonotonicTime) {
        guard !waiting.isEmpty, connections.isEmpty || freestConnection() != nil else { return }
        // Also before there is a connection: the two take their time at the same time.
        guard let token = currentToken() else { return }
        var late: [PendingPush] = []
        while let connection = freestConnection(), let push = waiting.popFirst() {
            if push.deadline - now < configuration.requestTimeout / 4 {
                // Hardly time for an answer: it would count as perhaps processed, and the connection as silent.
                late.append(push)
            } else if !connection.submit(push, token: token, at: now) {
                waiting.putBack(push)
            }
        }
        fail(late, APNsFailure(.timeout, detail: "no free stream in time"))
        // A copy: a connection that ends while it is flushed leaves the array.
        for connection in connections {
            connection.flush()
        }
    }

    private func freestConnection() -> APNsConnection? {
        var best: APNsConnection?
        var most = 0
        for connection in connections {
            let free = connection.freeStreams
            if free > most {
                best = connection
                most = free
            }
        }
        return best
    }

    private func connectIfUseful(at now: MonotonicTime) {
        let useful = connections.filter { connection in
            connection.phase == .connecting || (connection.phase == .open && !connection.isSuspect)
        }
        guard useful.isEmpty || useful.count < configuration.connectionsPerKey else { return }
        let newest = useful.filter { !$0.limit.isProven }.map(\.startedAt).max()
        if let newest, now - newest < configuration.patience {
            connectTimer?.schedule(after: newest + configuration.patience - now)
            return
        }
        if let delay = backOff.delay(at: now) {
            connectTimer?.schedule(after: delay)
            return
        }
        backOff.started(at: now)
        let connection = APNsConnection(
            on: loop,
            to: endpoint,
            tls: tls,
            configuration: configuration,
            logger: logger,
        )
        connection.owner = self
        connections.append(connection)
        connection.connect()
        // Nothing else may happen until it is time for another.
        connectTimer?.schedule(after: configuration.patience)
    }

    // MARK: - Provider token

    /// The token to send now; nil while there is none. Sees to it that one comes, before the present one is too old.
    private func currentToken() -> ProviderTokenCache.Token? {
        let answer = tokens.lookUp(key, in: environment)
        guard let request = answer.request, !isGettingToken else { return answer.token }
        isGettingToken = true
        isDispatching = true
        getToken(request) { [weak self] result in self?.tokenCame(result, for: request) }
        isDispatching = false
        return isGettingToken ? answer.token : tokens.lookUp(key, in: environment).token
    }

    private func tokenCame(_ result: Result<IssuedProviderToken, ProviderTokenError>, for request: ProviderTokenRequest)
    {
        isGettingToken = false
        switch result {
        case .success(let token):
            tokens.store(token, for: request)
            // Else it came at once, and who asked goes on.
            if !isDispatching {
                dispatch()
            }
        case .failure(let error):
            logger.warning("no provider token", ["key": name, "error": .describing(error)])
            guard tokens.lookUp(key, in: environment).token == nil else { return }
            switch error {
            case .notSigned:
                hold(waiting.takeAll(), APNsHold(reason: APNsHold.tokenNotSigned))
            case .unavailable(let cause):
                fail(waiting.takeAll(), APNsFailure(.providerTokenUnavailable, detail: cause))
            }
        }
    }

    // MARK: - Holding

    private func holdWaiting(at now: MonotonicTime) {
        guard !waiting.isEmpty else { return }
        switch circuits.admit(.key, waiting.map(\.request.recipient), at: now) {
        case .everything:
            break
        case .nothing(let refusal):
            hold(waiting.take { !$0.probes.contains(.key) }, APNsHold(refusal))
        case .probe(let index, let refusal):
            var rest = waiting.takeAll()
            let probe = rest.remove(at: index)
            probe.probes.append(.key)
            waiting.putBack(probe)
            hold(rest, APNsHold(refusal))
        }
        for (subject, _) in circuits.openReasons {
            if case .topic(let topic) = subject {
                holdWaiting(to: topic, at: now)
            }
        }
    }

    private func holdWaiting(to topic: String, at now: MonotonicTime) {
        var meant = waiting.take { $0.probes.isEmpty && $0.request.topic == topic }
        guard !meant.isEmpty else { return }
        switch circuits.admit(.topic(topic), meant.map(\.request.recipient), at: now) {
        case .everything:
            meant.forEach { waiting.putBack($0) }
        case .nothing(let refusal):
            hold(meant, APNsHold(refusal, isAboutTopic: true))
        case .probe(let index, let refusal):
            let probe = meant.remove(at: index)
            probe.probes.append(.topic(topic))
            waiting.putBack(probe)
            hold(meant, APNsHold(refusal, isAboutTopic: true))
        }
    }

    /// - Parameter push: the one that was refused; nil: APNs refused a connection.
    private func refuseKey(_ reason: String, with push: PendingPush?) {
        switch circuits.refused(.key, reason: reason, of: push?.request.recipient, at: .now) {
        case .opened:
            logger.error(
                "APNs refuses the signing key, its pushes are held",
                ["key": name, "reason": .string(reason)],
            )
        case .isOpen: break
        case .recipientAlone: return
        }
        // Apple: after a revoked key all connections are to be closed.
        drainConnections(because: reason)
    }

    /// - Returns: whether it is about the recipient of this push alone.
    private func refuseTopic(_ reason: String, with push: PendingPush) -> Bool {
        guard let topic = push.request.topic else { return false }
        switch circuits.refused(.topic(topic), reason: reason, of: push.request.recipient, at: .now) {
        case .opened:
            logger.error(
                "APNs refuses pushes of the signing key to a topic, they are held",
                ["key": name, "topic": .string(topic), "reason": .string(reason)],
            )
            return false
        case .isOpen: return false
        case .recipientAlone: return true
        }
    }

    private func drainConnections(because reason: String) {
        for connection in connections {
            connection.drain(because: reason)
        }
    }

    // MARK: - Outcomes

    private func finish(_ push: PendingPush, _ outcome: APNsOutcome) {
        for probe in push.probes {
            circuits.probeEndedWithoutAnswer(probe, at: .now)
        }
        counters.finished(outcome, in: environment)
        push.complete(outcome)
    }

    private func fail(_ pushes: [PendingPush], _ failure: APNsFailure) {
        for push in pushes {
            finish(push, .unanswered(failure, mayHaveBeenProcessed: false))
        }
    }

    private func hold(_ pushes: [PendingPush], _ hold: APNsHold) {
        for push in pushes {
            finish(push, .held(hold))
        }
    }

    /// Sends a push again that was not processed.
    private func putBack(_ push: PendingPush, _ failure: APNsFailure) {
        push.returns += 1
        guard push.returns <= APNsConnectionPool.returnLimit, !isRetired else {
            finish(push, .unanswered(failure, mayHaveBeenProcessed: false))
            return
        }
        waiting.putBack(push)
    }

    private func answered(_ push: PendingPush, _ response: APNsResponse, on connection: APNsConnection) {
        counters.answered(push, response, in: environment)
        connection.requestWasAnswered(at: .now)
        var response = response
        switch APNsReaction.of(response) {
        case .accepted, .tokenDead:
            keyWasAccepted(with: push, on: connection)
            topicWasAccepted(with: push)
        case .suspectToken, .wrongTopic, .payloadTooLarge, .tooManyRequests, .requestFault, .recipientRefused:
            keyWasAccepted(with: push, on: connection)
        case .configurationFault:
            let reason = response.reason ?? "status \(response.status)"
            if APNsReaction.refusesKey(reason) {
                refuseKey(reason, with: push)
            } else {
                if response.status == 400 {
                    keyWasAccepted(with: push, on: connection)
                }
                response.othersPass = refuseTopic(reason, with: push)
            }
        case .serverError:
            break
        case .expiredProviderToken:
            connection.drain(because: "ExpiredProviderToken")
            if mayRepeatWithNewToken(push) { return }
            refuseKey("ExpiredProviderToken", with: push)
        case .tooManyProviderTokenUpdates:
            logger.warning("APNs counts too many provider tokens", ["key": name])
            fallthrough
        case .reconnect:
            connection.drain(because: response.reason ?? "")
            if repeats(push) { return }
        }
        finish(push, .responded(response))
    }

    private func keyWasAccepted(with push: PendingPush, on connection: APNsConnection) {
        if !connection.limit.isProven {
            connection.keyWasProven()
            backOff.succeeded()
            lastFailure = nil
        }
        if !circuits.areQuiet, circuits.accepted(.key, of: push.request.recipient, at: .now) {
            logger.info("APNs accepts the signing key again", ["key": name])
        }
    }

    private func topicWasAccepted(with push: PendingPush) {
        guard !circuits.areQuiet, let topic = push.request.topic else { return }
        if circuits.accepted(.topic(topic), of: push.request.recipient, at: .now) {
            logger.info("APNs accepts pushes to a topic again", ["key": name, "topic": .string(topic)])
        }
    }

    /// An expired token is replaced, and the push sent once more on another connection: APNs keeps refusing on this
    /// one. A token that may not be replaced yet, or a second refusal, means that a clock or the key is wrong.
    private func mayRepeatWithNewToken(_ push: PendingPush) -> Bool {
        guard let token = push.token, !push.wasRepeated, tokens.reject(token, of: key, in: environment) else {
            return false
        }
        return repeats(push)
    }

    private func repeats(_ push: PendingPush) -> Bool {
        guard !push.wasRepeated, !isRetired else { return false }
        push.wasRepeated = true
        waiting.putBack(push)
        return true
    }

    // MARK: - Connections

    func connectionIsReady(_ connection: APNsConnection) {
        dispatch()
    }

    func connection(_ connection: APNsConnection, goesAway code: UInt32, reason: String?) {
        let codeName = HTTP2Session.name(of: code)
        counters.goneAway(code: codeName, reason: reason, in: environment)
        logger.info(
            "APNs closes a connection",
            ["key": name, "code": .string(codeName), "reason": .string(reason ?? "")],
        )
        if let reason, APNsReaction.refusesKey(reason) {
            refuseKey(reason, with: nil)
        }
    }

    func connection(_ connection: APNsConnection, ended push: PendingPush, code: UInt32) {
        guard !push.isCompleted else { return }
        if let response = push.response {
            answered(push, response, on: connection)
        } else if code == NGHTTP2_REFUSED_STREAM.rawValue {
            let isExpected = connection.phase != .open || !connection.limit.isRefusalUnfounded(of: push.stream)
            if !isExpected {
                logger.warning("APNs refuses streams below its limit", ["key": name])
                connection.drain(because: "streams were refused below the limit")
            }
            putBack(push, APNsFailure(.streamRefused, detail: "\(endpoint)"))
        } else if !push.isSentWhole {
            putBack(push, APNsFailure(.streamReset, detail: "\(endpoint): \(HTTP2Session.name(of: code))"))
        } else {
            let failure = APNsFailure(.streamReset, detail: "\(endpoint): \(HTTP2Session.name(of: code))")
            finish(push, .unanswered(failure, mayHaveBeenProcessed: true))
        }
    }

    func connectionEnded(_ connection: APNsConnection, orphans: [PendingPush], _ failure: APNsFailure) {
        connections.removeAll { $0 === connection }
        if failure.kind != .closed {
            logger.info("a connection to APNs ended", ["key": name, "error": .string(failure.detail)])
        }
        for push in orphans where !push.isCompleted {
            if let response = push.response {
                answered(push, response, on: connection)
            } else if push.isSentWhole {
                finish(push, .unanswered(failure, mayHaveBeenProcessed: true))
            } else {
                putBack(push, failure)
            }
        }
        guard !isRetired else {
            fail(waiting.takeAll(), APNsFailure(.closed))
            if connections.isEmpty {
                onRetired(self)
            }
            return
        }
        if !connection.limit.isProven {
            cameToNothing(failure)
        }
        dispatch()
    }

    private func cameToNothing(_ failure: APNsFailure) {
        counters.connectionFailed(failure, in: environment)
        let now = MonotonicTime.now
        backOff.failed(at: now, fraction: .random(in: 0..<1))
        lastFailure = APNsFailure(.connectFailed, detail: failure.detail)
        logger.warning(
            "no connection to APNs",
            ["key": name, "error": .string(failure.detail), "failures": .count(backOff.failures)],
        )
        failWaiting(at: now)
    }

    /// Tells those who wait after two connections in a row that came to nothing, or after one that took all its time:
    /// their callers can then plan another attempt.
    private func failWaiting(at now: MonotonicTime) {
        if !circuits.areClosed {
            holdWaiting(at: now)
        }
        guard let lastFailure, !connections.contains(where: { $0.phase == .open }) else { return }
        let waitLimit = configuration.connectTimeout
        let isHopeless = backOff.failures >= APNsConnectionPool.failureLimit
        let waitedEnough = now + (configuration.requestTimeout - waitLimit)
        fail(waiting.take { isHopeless || $0.deadline <= waitedEnough }, lastFailure)
    }

    // MARK: - Deadlines

    private func deadlinePassed() {
        deadlineIsSet = false
        let now = MonotonicTime.now
        fail(
            waiting.take { $0.deadline <= now },
            lastFailure ?? APNsFailure(.timeout, detail: "no free stream in time")
        )
        for connection in connections {
            for push in connection.pushes.filter({ $0.deadline <= now && !$0.isCompleted }) {
                let failure = APNsFailure(.timeout, detail: "\(endpoint): no answer in time")
                let wasSentWhole = push.isSentWhole
                connection.cancel(push)
                finish(push, .unanswered(failure, mayHaveBeenProcessed: wasSentWhole))
            }
            connection.flush()
        }
        let next = connections.flatMap { $0.pushes.filter { !$0.isCompleted }.map(\.deadline) }.min()
        if let next = [next, waiting.earliestDeadline].compactMap(\.self).min() {
            deadlineIsSet = true
            deadlineTimer?.schedule(after: max(next - now, APNsConnectionPool.deadlinePrecision))
        }
        dispatch()
    }

    // MARK: - Ending

    /// Sends nothing more; connections end when their streams have.
    func retire() {
        isRetired = true
        fail(waiting.takeAll(), APNsFailure(.closed))
        guard !connections.isEmpty else {
            onRetired(self)
            return
        }
        drainConnections(because: "the signing key is no longer used")
    }

    /// Sends nothing of what waits; what is on a stream goes on.
    func cancelWaiting() {
        fail(waiting.takeAll(), APNsFailure(.closed))
    }

    /// Ends everything now.
    func close() {
        isRetired = true
        fail(waiting.takeAll(), APNsFailure(.closed))
        for connection in connections {
            connection.close()
        }
    }

    // MARK: - Metrics

    /// Adds what it holds now.
    func addGauges(to metrics: inout APNsMetrics) {
        let labels = APNsMetrics.EnvironmentLabel(environment: environment)
        metrics.waiting.add(Double(waiting.count), labels)
        for connection in connections {
            let state = APNsMetrics.StateLabels(environment: environment, state: connection.phase.rawValue)
            metrics.connections.add(1, state)
            metrics.openStreams.add(Double(connection.streamsInUse), labels)
            if connection.phase == .open {
                metrics.streamLimit.add(Double(connection.limit.value), labels)
            }
        }
        for (subject, reason) in circuits.openReasons {
            let topic = if case .topic(let topic) = subject { topic } else { "" }
            let labels = APNsMetrics.CircuitLabels(
                topic: topic,
                reason: APNsCounters.labels(reason, in: environment),
            )
            metrics.openCircuits.insert(APNsMetrics.OpenCircuit(keyID: key.keyID, labels: labels))
        }
    }

    /// What tells pools apart in the log.
    private var name: LogValue { .string("\(key.keyID) \(environment.rawValue)") }
}
