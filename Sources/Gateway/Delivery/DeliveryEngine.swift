import APNs
import EventLoop
import LiveActivity
import Logging
import PostgresClient

/// Moves messages from the queue to APNs and their outcome back: the thin I/O around ``RecipientDelivery``.
///
/// Each kind of SQL has a queue and a task that takes from it whatever is there in one statement, so that work that
/// arrives while a statement is under way rides in the next. All of it lives on one lane's thread.
final class DeliveryEngine {
    /// Most recipients in one statement.
    static let batchSize = 1000

    private let store: DeliveryStore
    private let client: APNsClient
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let retrySchedule: RetrySchedule
    private let pacing: ActivityPacing
    let startRules: StartRules
    /// Recipients that the lane holds in memory at most.
    let recipientsInMemory: Int
    private let counters: DeliveryCounters
    private let logger: Logger

    private var claims = WorkQueue()
    /// Recipients of paced messages, the one whose turn comes first in front.
    private var paced: [(task: RecipientTask, due: MonotonicTime)] = []
    private var pacedTimer: EventLoopTimer?
    private var starts = WorkQueue()
    private var lookUps = WorkQueue()
    private var counts = WorkQueue()
    private let settlements: SettlementWriter
    private let claimSignal = Signal()
    private let startSignal = Signal()
    private let lookUpSignal = Signal()
    private let countSignal = Signal()
    /// Under which id of the instance the work in memory was begun.
    private var owner: Int64?
    private var recipientsUnderWay = 0
    /// Where rows wait for an APNs that takes no more.
    var lines = PushLines()
    private var isClosed = false
    /// Whether new work is begun.
    private(set) var isTakingUp = true
    /// Places that others leave free, for what waits until there are so many.
    var reserved = 0
    /// Told when there should be more rows of a line under way.
    var onLineLow: () -> Void = {}
    /// Told when everything in memory was forgotten.
    var onDrop: () -> Void = {}

    init(
        store: DeliveryStore,
        client: APNsClient,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        retrySchedule: RetrySchedule,
        pacing: ActivityPacing,
        startRules: StartRules,
        recipientsInMemory: Int,
        counters: DeliveryCounters,
        logger: Logger,
    ) {
        self.store = store
        self.client = client
        self.instance = instance
        self.directory = directory
        self.retrySchedule = retrySchedule
        self.pacing = pacing
        self.startRules = startRules
        self.recipientsInMemory = recipientsInMemory
        self.counters = counters
        self.logger = logger
        self.settlements = SettlementWriter(store: store, instance: instance, logger: logger)
    }

    /// Recipients whose work is in memory.
    var recipientCount: Int { recipientsUnderWay }

    /// For how many more recipients there is room in memory.
    var room: Int { isTakingUp ? max(freePlaces - reserved, 0) : 0 }

    /// How many places in memory are free. No key may have more pushes waiting in vain than that: alone it takes half of
    /// the memory, two such keys a third each, and there is always room for the others.
    var freePlaces: Int { max(recipientsInMemory - recipientsUnderWay, 0) }

    /// Begins nothing new from now on: what is accepted waits in PostgreSQL for another instance.
    func stopTakingUp() {
        isTakingUp = false
    }

    /// Starts the tasks that run until ``close()``.
    ///
    /// - Parameter loop: that of the caller's actor.
    func start(on loop: EventLoop, isolation: isolated any Actor = #isolation) {
        pacedTimer = EventLoopTimer(on: loop) { [weak self] in self?.startPaced() }
        run(on: loop) { await $0.claimActivities() }
        run(on: loop) { await $0.askForStarts() }
        run(on: loop) { await $0.lookUpDevices() }
        run(on: loop) { await $0.countBadges() }
        settlements.isCurrent = { [weak self] in self?.isCurrent($0) ?? false }
        settlements.onWritten = { [weak self] in self?.settled($0) }
        run(on: loop) { await $0.settlements.run() }
    }

    private func run(
        on loop: EventLoop,
        isolation: isolated any Actor = #isolation,
        _ body: @escaping (DeliveryEngine) async -> Void,
    ) {
        Task {
            _ = isolation
            // A continuation resumes its task on the executor that the task prefers, which would be Swift's thread pool.
            await withTaskExecutorPreference(loop) { await body(self) }
        }
    }

    /// Lets the tasks end; what is still in memory is dropped, its rows stay.
    func close() {
        isClosed = true
        pacedTimer?.cancel()
        dropWork()
        settlements.close()
        for signal in [claimSignal, startSignal, lookUpSignal, countSignal] {
            signal.set()
        }
    }

    // MARK: - Beginning

    /// What is to become of recipients that are begun.
    enum Fate {
        case toBeSent
        /// The same, but an instance died with them: what it had sent by then is not known.
        case takenOver
        /// Their message took too many instances down.
        case quarantined
        /// Their message was taken back.
        case revoked
    }

    /// Begins the delivery of a message that was just accepted, to all its recipients.
    ///
    /// - Parameter owner: the id under which its row was stored.
    func begin(_ receipt: AcceptedMessage, _ order: PushOrder, owner: Int64) {
        let deadline = receipt.acceptedAt + .seconds(order.lifetime)
        begin(
            MessageTask(directory.underWay(receipt, order, deadline: deadline), isWhole: true, isShared: false),
            order.recipients.map { ($0, .none) },
            owner: owner,
            as: .toBeSent,
        )
    }

    /// Begins or goes on with the delivery to some of a message's recipients.
    ///
    /// - Parameters:
    ///   - owner: the id under which its row was taken up. Where the instance has another by now, the row is free
    ///     again and nothing happens here.
    ///   - fate: whether anything is sent; if not, that is written down.
    ///   - line: at whose front they stood; nil: they come from nowhere or the rest of the queue.
    func begin(
        _ message: MessageTask,
        _ recipients: [(account: String, progress: RecipientProgress)],
        owner: Int64,
        as fate: Fate,
        from line: String? = nil,
    ) {
        followInstance()
        guard owner == self.owner, !isClosed else { return message.isDone() }
        instance.hold(message.underWay.receipt.id)
        message.remaining = recipients.count
        recipientsUnderWay += recipients.count
        if let line {
            lines.tookUp(recipients.count, from: line)
        }
        let now = currentTime
        for recipient in recipients {
            let task = RecipientTask(
                recipient.account,
                message,
                RecipientDelivery(
                    progress: recipient.progress,
                    isTakenOver: fate == .takenOver || fate == .quarantined
                ),
                owner,
                from: line
            )
            let action =
                switch fate {
                case .toBeSent, .takenOver: task.delivery.start(of: message.underWay, at: now)
                case .quarantined: task.delivery.quarantine(of: message.underWay)
                case .revoked: task.delivery.cancel(of: message.underWay)
                }
            perform(action, task)
        }
    }

    private var currentTime: UnixTime {
        instance.time(at: .now) ?? UnixTime(microseconds: 0)
    }

    // MARK: - Actions

    private func perform(_ action: RecipientDelivery.Action, _ task: RecipientTask) {
        guard isCurrent(task) else { return }
        switch action {
        case .claimActivities:
            claims.append(task)
            claimSignal.set()
        case .askForStarts:
            starts.append(task)
            startSignal.set()
        case .startAgain(let time):
            startAgain(task, at: time)
        case .lookUpDevices where task.isToBeCounted:
            counts.append(task)
            countSignal.set()
        case .lookUpDevices:
            lookUps.append(task)
            lookUpSignal.set()
        case .push(let attempts):
            for attempt in attempts {
                push(attempt, task)
            }
        case .settle(let settlement):
            if case .finished = settlement.next {} else { task.message.isShared = true }
            if case .inLine(let line, _, _) = settlement.next {
                lines.join(line)
            }
            settlements.append(SettlementEntry(task, settlement))
        }
    }

    private func startAgain(_ task: RecipientTask, at time: UnixTime) {
        // From here on by the monotonic clock: PostgreSQL's may be set back.
        let due = MonotonicTime.now + min(max(time - currentTime, .milliseconds(1)), max(pacing.interval, .seconds(1)))
        // Nearly always the last, since all of them wait equally long.
        let index = (paced.lastIndex { $0.due <= due } ?? -1) + 1
        paced.insert((task, due), at: index)
        if index == 0 {
            schedulePaced()
        }
    }

    private func schedulePaced() {
        guard let first = paced.first else { return }
        pacedTimer?.schedule(after: first.due - .now)
    }

    private func startPaced() {
        let now = MonotonicTime.now
        let ready = paced.prefix { $0.due <= now }
        paced.removeFirst(ready.count)
        for (task, _) in ready where isCurrent(task) {
            perform(task.delivery.start(of: task.message.underWay, at: currentTime), task)
        }
        schedulePaced()
    }

    /// Whether the work of this task is still this process's.
    private func isCurrent(_ task: RecipientTask) -> Bool {
        followInstance()
        return task.owner == owner && !isClosed
    }

    private func push(_ attempt: PushAttempt, _ task: RecipientTask) {
        // Between heartbeats this is the guard that keeps a process that was stopped and resumed from sending. The id
        // never becomes valid again after that, so nothing is forgotten here: the work is dropped as a whole.
        guard instance.id(at: .now) == task.owner else { return }
        guard lines.areEmpty || mayPass(attempt, task) else {
            let failure = APNsFailure(.backlogged)
            return pushFinished(attempt, .unanswered(failure, mayHaveBeenProcessed: false), 0, task)
        }
        let message = task.message
        guard let request = message.composer.request(for: attempt, to: task.account, at: currentTime) else {
            let reason = PushComposer.payloadOverLimit
            logger.error(
                "push exceeds the payload limit",
                ["message": .integer(message.underWay.receipt.id), "kind": .string(attempt.kind.rawValue)],
            )
            if let action = task.delivery.cannotBeSent(
                attempt.target,
                because: reason,
                of: message.underWay,
                at: currentTime,
            ) {
                perform(action, task)
            }
            return
        }
        if let waiting = attempt.waitingAlert, message.composer.leftAlertOut {
            logger.warning(
                "alert of an older message left out: it does not fit beside the newest state",
                ["message": .integer(waiting.messageID), "newest": .integer(message.underWay.receipt.id)],
            )
        }
        let payloadBytes = request.payload.count
        task.sent = SentPush(kind: attempt.kind, installation: attempt.installation, apnsID: request.apnsID)
        let destination = attempt.destination
        client.send(request, signedBy: destination.certificate.key, to: destination.environment) {
            [weak self] outcome in
            self?.pushFinished(attempt, outcome, payloadBytes, task)
        }
    }

    /// Whether nobody waits for the same before it.
    private func mayPass(_ attempt: PushAttempt, _ task: RecipientTask) -> Bool {
        let line = attempt.destination.line
        return task.line == line || !lines.hasRows(line)
    }

    private func pushFinished(
        _ attempt: PushAttempt,
        _ outcome: APNsOutcome,
        _ payloadBytes: Int,
        _ task: RecipientTask,
    ) {
        guard isCurrent(task) else { return }
        let now = currentTime
        counters.pushFinished(outcome, acceptedAt: task.message.underWay.receipt.acceptedAt, at: now)
        report(outcome, attempt, task)
        if case .accepted = PushVerdict.of(outcome) {
            tokenSucceeded(attempt, task)
        }
        let action = task.delivery.pushFinished(
            attempt.target,
            outcome,
            payloadBytes: payloadBytes,
            of: task.message.underWay,
            schedule: retrySchedule,
            at: now,
            jitter: Double.random(in: 0...1),
            suspect: { suspicion(of: $0, task) },
        )
        if let action {
            perform(action, task)
        }
    }

    /// Answers that a person should see at once; all others stand in the delivery rows.
    private func report(_ outcome: APNsOutcome, _ attempt: PushAttempt, _ task: RecipientTask) {
        instance.alarms.note(outcome, for: attempt, of: task.message.underWay)
        guard case .responded(let response) = outcome else { return }
        switch APNsReaction.of(response) {
        case .configurationFault, .recipientRefused, .wrongTopic, .requestFault:
            logger.error(
                "APNs refuses pushes",
                [
                    "status": .count(response.status),
                    "reason": .string(response.reason ?? ""),
                    "app": .integer(task.message.underWay.order.sdkAppID),
                    "business_id": .integer(attempt.destination.certificate.businessID),
                    "environment": .string(attempt.destination.environment.rawValue),
                    "message_id": .integer(task.message.underWay.receipt.id),
                    "token": .string(attempt.token.fingerprint),
                ],
            )
        default: break
        }
    }

    // MARK: - Token failures

    private func suspicion(of suspect: SuspectToken, _ task: RecipientTask) -> TokenSuspicion {
        let certificate = suspect.destination.certificate
        let sdkAppID = task.message.underWay.order.sdkAppID
        let now = MonotonicTime.now
        // Of two clocks: a step of PostgreSQL's must not put it into the future.
        let sentAt = min(now, now + (suspect.sentAt - currentTime))
        let judgement = instance.tokenFailures.failed(
            suspect.token,
            in: suspect.environments.map { environment in
                TokenFailureBoard.Place(
                    sdkAppID: sdkAppID,
                    bundleID: certificate.bundleID,
                    environment: environment,
                )
            },
            known: suspect.knownEnvironment,
            sentAt: sentAt,
            at: now,
        )
        let failures = instance.tokenFailures.rules.failures
        for place in judgement.guarded {
            instance.alarms.raise(.massTokenFailure(of: failures, in: place, businessID: certificate.businessID))
        }
        for place in judgement.newlyGuarded {
            logger.error("APNs knows hardly any token of the app; its pushes wait", logFields(of: place))
        }
        return judgement.suspicion
    }

    private func tokenSucceeded(_ attempt: PushAttempt, _ task: RecipientTask) {
        let certificate = attempt.destination.certificate
        let place = TokenFailureBoard.Place(
            sdkAppID: task.message.underWay.order.sdkAppID,
            bundleID: certificate.bundleID,
            environment: attempt.destination.environment,
        )
        if instance.tokenFailures.succeeded(attempt.token, in: place, at: .now) {
            instance.alarms.end(
                .massTokenFailure(
                    of: instance.tokenFailures.rules.failures,
                    in: place,
                    businessID: certificate.businessID
                )
            )
            logger.info("APNs knows tokens of the app again", logFields(of: place))
        }
    }

    private func logFields(of place: TokenFailureBoard.Place) -> KeyValuePairs<String, LogValue> {
        [
            "app": .integer(place.sdkAppID), "bundle_id": .string(place.bundleID),
            "environment": .string(place.environment.rawValue),
        ]
    }

    // MARK: - Claims and look-ups

    private func claimActivities() async {
        while !isClosed {
            await claimSignal.wait()
            while let batch = claims.takeDistinct(limit: DeliveryEngine.batchSize, by: \.activityKey), !batch.isEmpty {
                await query(batch) { engine, tasks throws(PostgresError) in
                    let checksContent = tasks.contains { $0.uncheckedSchemas != nil }
                    let found = try await engine.store.claim(
                        tasks.compactMap(\.claim),
                        pacing: engine.pacing,
                        at: engine.currentTime,
                        readsVersions: checksContent,
                    )
                    let checkedAt = engine.currentTime
                    let checked =
                        checksContent ? zip(tasks, found).map { $0.checkingContent(of: $1, at: checkedAt) } : found
                    let complete = try await engine.store.addingAlerts(to: checked, of: tasks, at: checkedAt)
                    let now = engine.currentTime
                    for (task, registrations) in zip(tasks, complete) {
                        let action = task.delivery.activitiesFound(
                            registrations,
                            of: task.message.underWay,
                            schedule: engine.retrySchedule,
                            at: now,
                        )
                        engine.perform(action, task)
                    }
                }
            }
        }
    }

    private func askForStarts() async {
        while !isClosed {
            await startSignal.wait()
            while let batch = starts.takeDistinct(limit: DeliveryEngine.batchSize, by: \.accountKey), !batch.isEmpty {
                await query(batch) { engine, tasks throws(PostgresError) in
                    // One time for the question and for the decision: what is left out of the one is in the other.
                    let now = engine.currentTime
                    let found = try await engine.store.starts(
                        tasks.compactMap { $0.startQuestion(at: now) },
                        rules: engine.startRules,
                    )
                    for (task, starts) in zip(tasks, found) {
                        let action = task.delivery.startsFound(
                            task.checkingContent(of: starts, at: now),
                            of: task.message.underWay,
                            schedule: engine.retrySchedule,
                            at: now,
                        )
                        engine.perform(action, task)
                    }
                }
            }
        }
    }

    private func lookUpDevices() async {
        while !isClosed {
            await lookUpSignal.wait()
            while let batch = lookUps.take(limit: DeliveryEngine.batchSize), !batch.isEmpty {
                await query(batch) { engine, tasks throws(PostgresError) in
                    let accounts = tasks.map { ($0.message.underWay.order.sdkAppID, $0.account) }
                    let found = try await engine.store.devices(of: accounts)
                    let shown = try await engine.store.shownPushes(replacedBy: tasks)
                    for (number, (task, devices)) in zip(tasks, found).enumerated() {
                        let action = task.devicesLookedUp(
                            devices,
                            replacing: shown[number],
                            schedule: engine.retrySchedule,
                            at: engine.currentTime,
                        )
                        engine.perform(action, task)
                    }
                }
            }
        }
    }

    private func countBadges() async {
        while !isClosed {
            await countSignal.wait()
            while let batch = counts.takeDistinct(limit: DeliveryEngine.batchSize, by: \.accountKey), !batch.isEmpty {
                await query(batch) { engine, tasks throws(PostgresError) in
                    // One time for the count and for the decision: what is counted is sent.
                    let now = engine.currentTime
                    let found = try await engine.store.countedDevices(tasks.map(\.count), at: now)
                    for (task, devices) in zip(tasks, found) {
                        let action = task.delivery.devicesFound(
                            devices,
                            of: task.message.underWay,
                            schedule: engine.retrySchedule,
                            at: now,
                        )
                        engine.perform(action, task)
                    }
                }
            }
        }
    }

    /// Runs a statement for many tasks. While PostgreSQL is away it is tried again, since reading and claiming may be
    /// repeated; a batch that PostgreSQL refuses is halved until the task that it refuses stands alone.
    private func query(
        _ tasks: [RecipientTask],
        _ body: (DeliveryEngine, [RecipientTask]) async throws(PostgresError) -> Void,
    ) async {
        var parts = [tasks]
        while let part = parts.popLast() {
            let current = part.allSatisfy { isCurrent($0) } ? part : part.filter { isCurrent($0) }
            guard !current.isEmpty else { continue }
            do throws(PostgresError) {
                try await body(self, current)
            } catch {
                if error.isTransient(forBatchOf: current.count) {
                    parts.append(current)
                    try? await Task.sleep(for: .milliseconds(200))
                } else if current.count > 1 {
                    parts.append(Array(current[(current.count / 2)...]))
                    parts.append(Array(current[..<(current.count / 2)]))
                } else {
                    refused(current[0], error)
                }
            }
        }
    }

    private func refused(_ task: RecipientTask, _ error: PostgresError) {
        instance.alarms.raise(.databaseRefused(error, for: "the work of a recipient"))
        logger.error(
            "PostgreSQL refused the work of a recipient; it waits",
            ["message_id": .integer(task.message.underWay.receipt.id), "error": .describing(error)],
        )
        let wait = Settlement.Next.waiting(
            until: currentTime + .seconds(60),
            reason: "database_refused",
            progress: task.delivery.progress,
        )
        perform(.settle(Settlement(next: wait, corrections: [])), task)
    }

    // MARK: - After a settlement

    private func settled(_ entry: SettlementEntry) {
        counters.settled(entry.row.settlement)
        guard isCurrent(entry.task) else { return }
        guard entry.isLast else {
            entry.task.hasRow = true
            let action = entry.task.delivery.start(of: entry.task.message.underWay, at: currentTime)
            perform(action, entry.task)
            return
        }
        recipientsUnderWay -= 1
        if let line = entry.task.line {
            let now = MonotonicTime.now
            lines.ended(in: line, isFinished: entry.isFinished, at: now)
            // Of one that was not sent the next time to look will do.
            if entry.isFinished, lines.runsLow(line, at: now) {
                onLineLow()
            }
        }
        entry.task.message.remaining -= 1
        if entry.task.message.remaining == 0 {
            instance.letGo(entry.task.message.underWay.receipt.id)
            entry.task.message.isDone()
        }
    }

    // MARK: - Ownership

    /// Forgets everything in memory once the instance lost its right to it.
    private func followInstance() {
        let current = instance.owner
        guard current != owner else { return }
        // First, since dropping ends pushes, and their completions ask again.
        owner = current
        dropWork()
    }

    /// Tries settlements again that PostgreSQL refused.
    func retryRefusedSettlements() {
        settlements.retryRefused()
    }

    /// Forgets everything in memory: it belongs to another instance now, or will.
    private func dropWork() {
        claims = WorkQueue()
        starts = WorkQueue()
        paced = []
        lookUps = WorkQueue()
        counts = WorkQueue()
        settlements.drop()
        recipientsUnderWay = 0
        lines.dropWork()
        client.cancelWaiting()
        onDrop()
    }
}
