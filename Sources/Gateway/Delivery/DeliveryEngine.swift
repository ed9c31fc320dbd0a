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
    /// Limits and intervals.
    struct Configuration: Sendable {
        var retrySchedule: RetrySchedule = .standard
        var pollInterval: Duration = .milliseconds(250)
        /// Recipients that one lane holds in memory; past that, work waits in PostgreSQL.
        var recipientsInMemory = 20_000
        /// After so many takeovers a message is quarantined.
        var takeoverLimit: Int64 = 3
    }

    /// Most recipients in one statement.
    static let batchSize = 1000

    private let store: DeliveryStore
    private let client: APNsClient
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let configuration: Configuration
    private let logger: Logger

    private var claims = WorkQueue()
    private var lookUps = WorkQueue()
    private var settlements: [SettlementEntry] = []
    private let claimSignal = Signal()
    private let lookUpSignal = Signal()
    private let settleSignal = Signal()
    private var epoch: Int
    private var recipientsUnderWay = 0
    private var isClosed = false
    /// Settlements may have been written by a unit whose outcome is unknown.
    private var settlementsMayRepeat = false

    init(
        store: DeliveryStore,
        client: APNsClient,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        configuration: Configuration,
        logger: Logger,
    ) {
        self.store = store
        self.client = client
        self.instance = instance
        self.directory = directory
        self.configuration = configuration
        self.logger = logger
        self.epoch = instance.epoch
    }

    /// Recipients whose work is in memory.
    var recipientCount: Int { recipientsUnderWay }

    /// Whether accepted work may be held in memory rather than wait in PostgreSQL.
    func hasRoom(for recipients: Int) -> Bool {
        recipientsUnderWay + recipients <= configuration.recipientsInMemory
    }

    /// Starts the tasks that run until ``close()``.
    func start(isolation: isolated any Actor = #isolation) {
        run { await $0.claimActivities() }
        run { await $0.lookUpDevices() }
        run { await $0.settle() }
        run { await $0.poll() }
    }

    private func run(
        isolation: isolated any Actor = #isolation,
        _ body: @escaping (DeliveryEngine) async -> Void,
    ) {
        Task {
            _ = isolation
            await body(self)
        }
    }

    /// Lets the tasks end; what is still in memory is dropped, its rows stay.
    func close() {
        isClosed = true
        dropWork()
        for signal in [claimSignal, lookUpSignal, settleSignal] {
            signal.set()
        }
    }

    // MARK: - Beginning

    /// Begins the delivery of a message that was just accepted, to all its recipients.
    func begin(_ receipt: AcceptedMessage, _ order: PushOrder) {
        let deadline = receipt.acceptedAt + .seconds(order.lifetime)
        let message = MessageTask(underWay(receipt, order, deadline), isWhole: true, isSuspect: false)
        begin(message, order.recipients.map { ($0, .none) })
    }

    private func underWay(_ receipt: AcceptedMessage, _ order: PushOrder, _ deadline: UnixTime) -> MessageUnderWay {
        let configured = directory.current
        return MessageUnderWay(
            receipt: receipt,
            order: order,
            deadline: deadline,
            // An app that was removed has no registrations and no certificates left: nothing can be sent.
            application: configured.applications[order.sdkAppID]
                ?? Application(sdkAppID: order.sdkAppID, secretKey: [], administrators: []),
            certificates: configured.certificates[order.sdkAppID] ?? [:],
        )
    }

    private func begin(
        _ message: MessageTask,
        _ recipients: [(account: String, progress: RecipientProgress)],
        quarantined: Bool = false,
    ) {
        message.remaining = recipients.count
        recipientsUnderWay += recipients.count
        let now = currentTime
        for recipient in recipients {
            let task = RecipientTask(recipient.account, message, RecipientDelivery(progress: recipient.progress), epoch)
            let action =
                quarantined
                ? task.delivery.quarantine(of: message.underWay)
                : task.delivery.start(of: message.underWay, at: now)
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
        case .lookUpDevices:
            lookUps.append(task)
            lookUpSignal.set()
        case .push(let attempts):
            for attempt in attempts {
                push(attempt, task)
            }
        case .settle(let settlement):
            settlements.append(SettlementEntry(task: task, settlement: settlement))
            settleSignal.set()
        }
    }

    /// Whether the work of this task is still this process's.
    private func isCurrent(_ task: RecipientTask) -> Bool {
        task.epoch == epoch && !isClosed
    }

    private func push(_ attempt: PushAttempt, _ task: RecipientTask) {
        // Between heartbeats this is the guard that keeps a process that was stopped and resumed from sending.
        guard instance.id(at: .now) != nil else { return }
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
        let payloadBytes = request.payload.count
        let destination = attempt.destination
        client.send(request, signedBy: destination.certificate.key, to: destination.environment) {
            [weak self] outcome in
            self?.pushFinished(attempt, outcome, payloadBytes, task)
        }
    }

    private func pushFinished(
        _ attempt: PushAttempt,
        _ outcome: APNsOutcome,
        _ payloadBytes: Int,
        _ task: RecipientTask,
    ) {
        guard isCurrent(task) else { return }
        report(outcome, attempt, task)
        let action = task.delivery.pushFinished(
            attempt.target,
            outcome,
            payloadBytes: payloadBytes,
            of: task.message.underWay,
            schedule: configuration.retrySchedule,
            at: currentTime,
            jitter: Double.random(in: 0...1),
        )
        if let action {
            perform(action, task)
        }
    }

    /// Answers that a person should see at once; all others stand in the delivery rows.
    private func report(_ outcome: APNsOutcome, _ attempt: PushAttempt, _ task: RecipientTask) {
        guard case .responded(let response) = outcome else { return }
        switch APNsReaction.of(response) {
        case .configurationFault, .wrongTopic, .requestFault:
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

    // MARK: - Claims and look-ups

    private func claimActivities() async {
        while !isClosed {
            await claimSignal.wait()
            while let batch = claims.takeDistinct(limit: DeliveryEngine.batchSize), !batch.isEmpty {
                await query(batch) { engine, tasks throws(PostgresError) in
                    let found = try await engine.store.claim(tasks.compactMap(\.claim))
                    for (task, registrations) in zip(tasks, found) {
                        let now = engine.currentTime
                        let action = task.delivery.activitiesFound(registrations, of: task.message.underWay, at: now)
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
                    for (task, devices) in zip(tasks, found) {
                        let now = engine.currentTime
                        let action = task.delivery.devicesFound(devices, of: task.message.underWay, at: now)
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
            let current = part.filter { isCurrent($0) }
            guard !current.isEmpty else { continue }
            do throws(PostgresError) {
                try await body(self, current)
            } catch {
                if error.isTransient {
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

    // MARK: - Settling

    private func settle() async {
        while !isClosed {
            await settleSignal.wait()
            while !settlements.isEmpty, !isClosed {
                let batch = Array(settlements.prefix(DeliveryEngine.batchSize))
                settlements.removeFirst(batch.count)
                await settle(batch)
            }
        }
    }

    private func settle(_ batch: [SettlementEntry]) async {
        var parts = [batch]
        while let part = parts.popLast() {
            let current = part.filter { isCurrent($0.task) }
            guard !current.isEmpty else { continue }
            guard let owner = instance.id(at: .now) else {
                // No heartbeat came through: the poll drops all work as soon as the instance knows.
                parts.append(current)
                try? await Task.sleep(for: .milliseconds(200))
                continue
            }
            do throws(PostgresError) {
                try await store.settle(
                    current.map(\.row),
                    completed: completed(by: current),
                    owner: owner,
                    mayBeRepeated: settlementsMayRepeat,
                )
                settlementsMayRepeat = false
                for entry in current {
                    settled(entry)
                }
            } catch {
                if error.isTransient {
                    settlementsMayRepeat = settlementsMayRepeat || error.outcomeIsUnknown
                    parts.append(current)
                    try? await Task.sleep(for: .milliseconds(200))
                } else if current.count > 1 {
                    parts.append(Array(current[(current.count / 2)...]))
                    parts.append(Array(current[..<(current.count / 2)]))
                } else {
                    let id = current[0].task.message.underWay.receipt.id
                    logger.error(
                        "PostgreSQL refused an outcome; it is tried again",
                        ["message_id": .integer(id), "error": .describing(error)],
                    )
                    settlements.append(current[0])
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// Messages of which nothing is left once these are written.
    private func completed(by entries: [SettlementEntry]) -> [Int64] {
        var ending: [ObjectIdentifier: (message: MessageTask, count: Int)] = [:]
        for entry in entries where entry.isLast {
            let message = entry.task.message
            ending[ObjectIdentifier(message), default: (message, 0)].count += 1
        }
        return ending.values
            .filter { $0.message.isWhole && $0.message.remaining == $0.count }
            .map { $0.message.underWay.receipt.id }
    }

    private func settled(_ entry: SettlementEntry) {
        guard isCurrent(entry.task) else { return }
        guard entry.isLast else {
            let action = entry.task.delivery.start(of: entry.task.message.underWay, at: currentTime)
            perform(action, entry.task)
            return
        }
        recipientsUnderWay -= 1
        entry.task.message.remaining -= 1
        if entry.task.message.remaining == 0, entry.task.message.isSuspect {
            instance.dismissSuspect()
        }
    }

    // MARK: - The queue in PostgreSQL

    private func poll() async {
        while !isClosed {
            if instance.epoch != epoch {
                dropWork()
                epoch = instance.epoch
            }
            if let owner = instance.id(at: .now) {
                do throws(PostgresError) {
                    try await takeUp(owner)
                } catch {
                    logger.warning("queue not read", ["error": .describing(error)])
                }
            }
            try? await Task.sleep(for: configuration.pollInterval)
        }
    }

    private func takeUp(_ owner: Int64) async throws(PostgresError) {
        let room = configuration.recipientsInMemory - recipientsUnderWay
        let limit = Int64(min(max(room, 0), 200))
        var isFull = true
        while isFull, limit > 0, recipientsUnderWay < configuration.recipientsInMemory, !isClosed {
            let work = try await store.takeDue(owner: owner, limit: limit, suspects: false)
            for row in work {
                try await resume(row, owner)
            }
            isFull = work.count == limit
        }
        guard instance.admitSuspect() else { return }
        let suspects: [DeliveryStore.DueWork]
        do throws(PostgresError) {
            suspects = try await store.takeDue(owner: owner, limit: 1, suspects: true)
        } catch {
            instance.dismissSuspect()
            throw error
        }
        guard let suspect = suspects.first else {
            instance.dismissSuspect()
            return
        }
        try await resume(suspect, owner)
    }

    private func resume(_ work: DeliveryStore.DueWork, _ owner: Int64) async throws(PostgresError) {
        let isSuspect = work.takeovers > 0
        let order: PushOrder
        do throws(PushOrder.DecodingError) {
            order = try PushOrder(decoding: work.content)
        } catch {
            logger.error(
                "message not readable by this release; left for a newer one",
                ["message_id": .integer(work.receipt.id), "key": .string(error.key)],
            )
            try await store.postpone(work, owner: owner, reason: "not_readable")
            if isSuspect { instance.dismissSuspect() }
            return
        }
        let isQuarantined = work.takeovers >= configuration.takeoverLimit
        if isQuarantined {
            logger.error(
                "message quarantined: its instance died with it again and again",
                ["message_id": .integer(work.receipt.id), "takeovers": .integer(work.takeovers)],
            )
        }
        let underWay = underWay(work.receipt, order, work.deadline)
        let message = MessageTask(underWay, isWhole: work.account == nil, isSuspect: isSuspect)
        if let account = work.account {
            let progress = work.progress.flatMap(RecipientProgress.init(decoding:)) ?? .none
            begin(message, [(account, progress)], quarantined: isQuarantined)
            return
        }
        let settled = try await store.recipientsSettled(of: work.receipt)
        let open = order.recipients.filter { !settled.contains($0) }
        begin(message, open.map { ($0, .none) }, quarantined: isQuarantined)
        if open.isEmpty {
            try await store.settle([], completed: [work.receipt.id], owner: owner, mayBeRepeated: false)
            if isSuspect { instance.dismissSuspect() }
        }
    }

    /// Forgets everything in memory: it belongs to another instance now, or will.
    private func dropWork() {
        claims = WorkQueue()
        lookUps = WorkQueue()
        settlements = []
        recipientsUnderWay = 0
    }
}

/// What one recipient has to write down.
private struct SettlementEntry {
    let task: RecipientTask
    let settlement: Settlement

    /// Whether the recipient leaves memory with this.
    var isLast: Bool {
        if case .fallingBack = settlement.next { false } else { true }
    }

    var row: DeliveryStore.Entry {
        let message = task.message.underWay
        return DeliveryStore.Entry(
            receipt: message.receipt,
            sdkAppID: message.order.sdkAppID,
            account: task.account,
            laID: message.order.activity?.laID,
            event: message.order.activity?.content.event,
            deadline: message.deadline,
            settlement: settlement,
        )
    }
}
