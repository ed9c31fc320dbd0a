import APNs
import EventLoop
import Glibc
import LiveActivity
import Logging
import PostgresClient

/// Accepts messages of all dialects on one lane: stores them durably, then hands them to the delivery engine.
///
/// Requests that arrive while a commit is under way ride in the next: one transaction for all of them, and the callers
/// are answered after its Sync.
final class MessageRouter: PushwooshGateway, MessageRevoker {
    /// Most messages in one transaction.
    private static let batchSize = 500

    private let store: DeliveryStore
    /// The same for what a caller waits for: it fails within ``answerLimit``.
    private let callers: DeliveryStore
    private let accounts: AccountStore
    private let pushwoosh: PushwooshStore
    private let engine: DeliveryEngine
    private let fanOuts: FanOuts
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let backlogLimit: Int64
    private let answerLimit: Duration
    private let counters: DeliveryCounters
    private let logger: Logger

    private let phoneVersions: PhoneVersionQueue
    private var waiting: [Waiting] = []
    private let signal = Signal()
    private var isClosed = false
    /// The messages of the transaction that is under way, until their callers are answered.
    private var unanswered: [Waiting] = []
    /// Fires when PostgreSQL has not answered the transaction that is under way.
    private var answerTimer: EventLoopTimer?
    /// Whether it fired: who comes until PostgreSQL answers is refused at once.
    private var isStalled = false

    private struct Waiting {
        let message: DeliveryStore.NewMessage
        let continuation: CheckedContinuation<Result<Acceptance, GatewayUnavailable>, Never>
    }

    /// - Parameters:
    ///   - store: for what is accepted, however long it takes.
    ///   - callers: for the rest of what callers wait for, on connections that answer in time.
    ///   - backlogLimit: so many waiting rows mean that callers are told to slow down.
    ///   - answerLimit: how long PostgreSQL may take before the callers of a transaction are told to try again.
    init(
        store: DeliveryStore,
        callers: DeliveryStore,
        accounts: AccountStore,
        pushwoosh: PushwooshStore,
        engine: DeliveryEngine,
        fanOuts: FanOuts,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        backlogLimit: Int64,
        answerLimit: Duration,
        counters: DeliveryCounters,
        logger: Logger,
    ) {
        self.store = store
        self.callers = callers
        self.phoneVersions = PhoneVersionQueue(store: callers)
        self.accounts = accounts
        self.pushwoosh = pushwoosh
        self.engine = engine
        self.fanOuts = fanOuts
        self.instance = instance
        self.directory = directory
        self.backlogLimit = backlogLimit
        self.answerLimit = answerLimit
        self.counters = counters
        self.logger = logger
    }

    /// Starts the task that stores what arrives, until ``close()``.
    ///
    /// - Parameter loop: that of the caller's actor.
    func start(on loop: EventLoop, isolation: isolated any Actor = #isolation) {
        answerTimer = EventLoopTimer(on: loop) { [weak self] in self?.giveUpWaiting() }
        Task {
            _ = isolation
            await withTaskExecutorPreference(loop) { await self.storeWaiting() }
        }
        phoneVersions.start(on: loop)
    }

    /// Refuses what waits and lets the task end.
    func close() {
        isClosed = true
        answerTimer = nil
        refuse(&waiting)
        signal.set()
        phoneVersions.close()
    }

    // MARK: - MessageGateway

    func application(_ sdkAppID: Int64) throws(GatewayUnavailable) -> Application? {
        guard let configured = directory.known else { throw GatewayUnavailable(.databaseAway) }
        return try configured.application(sdkAppID)
    }

    func hasCertificate(businessID: Int64, in sdkAppID: Int64) -> Bool {
        directory.current.hasCertificate(businessID: businessID, in: sdkAppID)
    }

    func now() -> UnixTime {
        instance.time(at: .now) ?? .systemClock
    }

    func review(_ order: PushOrder) async throws(GatewayUnavailable) -> ContentReview? {
        let schemas = directory.current.applications[order.sdkAppID]?.contentSchemas
        switch ContentReview.begin(order, by: schemas, now: now().seconds) {
        case .finished(let review): return review
        case .dependsOnPhones(let pending):
            let phones = try await asking { () throws(PostgresError) in
                try await phoneVersions.answer(pending.question)
            }
            return pending.review(for: phones)
        }
    }

    func accept(_ order: PlannedOrder) async throws(GatewayUnavailable) -> Acceptance {
        guard order.sendAt == nil, !order.isPushToAll else {
            guard let acceptance = try await accept([order]).first else { throw GatewayUnavailable(.databaseRefused) }
            return acceptance
        }
        let message = try message(order)
        let result = await withCheckedContinuation { continuation in
            enqueue(Waiting(message: message, continuation: continuation))
        }
        return try result.get()
    }

    /// What is to be stored at once. A call of its own, so that it takes no room in the frame of the async function, each
    /// kilobyte of which is a malloc for every message.
    @inline(never)
    private func message(_ order: PlannedOrder) throws(GatewayUnavailable) -> DeliveryStore.NewMessage {
        guard instance.isAlive else { throw GatewayUnavailable(.databaseAway) }
        guard instance.backlog(of: order.order.sdkAppID) < backlogLimit else { throw GatewayUnavailable(.overloaded) }
        return DeliveryStore.NewMessage(order)
    }

    func accept(_ orders: [PlannedOrder]) async throws(GatewayUnavailable) -> [Acceptance] {
        guard !isClosed, instance.isAlive else { throw GatewayUnavailable(.databaseAway) }
        for order in orders where instance.backlog(of: order.order.sdkAppID) >= backlogLimit {
            throw GatewayUnavailable(.overloaded)
        }
        let now = now()
        var atOnce: [DeliveryStore.NewMessage] = []
        var later: [DeliveryStore.LaterMessage] = []
        var toAll: [DeliveryStore.NewMessage] = []
        // For each order, whether it is among the later ones.
        var waits: [Bool] = []
        for planned in orders {
            let message = DeliveryStore.NewMessage(planned)
            if planned.isPushToAll { toAll.append(message) }
            if let time = planned.sendAt, now < time {
                later.append(DeliveryStore.LaterMessage(message: message, sendAt: time))
                waits.append(true)
            } else {
                atOnce.append(message)
                waits.append(false)
            }
        }
        let recipients = atOnce.reduce(0) { $0 + $1.order.recipients.count }
        let owner =
            !atOnce.isEmpty && recipients <= engine.room && !areLeftToOthers(atOnce) ? instance.id(at: .now) : nil
        do throws(PostgresError) {
            let accepted = try await callers.accept(atOnce, later: later, toAll: toAll, owner: owner)
            for (message, acceptance) in zip(atOnce, accepted.atOnce) {
                begin(message, acceptance, owner)
            }
            for (entry, acceptance) in zip(later, accepted.later) {
                counters.accepted(entry.message.order, isRepeat: acceptance.isRepeat)
            }
            var (atOnceLeft, laterLeft) = (accepted.atOnce[...], accepted.later[...])
            return waits.compactMap { $0 ? laterLeft.popFirst() : atOnceLeft.popFirst() }
        } catch {
            if error.outcomeIsUnknown {
                instance.outcomeIsUnknown()
            }
            if error.sqlState == DeliveryStore.overLimitOfPushesToAll, let order = toAll.first?.order {
                throw try await overLimitOfPushesToAll(in: order.sdkAppID)
            }
            throw GatewayUnavailable(error, alarms: instance.alarms, logger: logger)
        }
    }

    /// Why the app's push to all was refused a moment ago, and for how long another would be now.
    private func overLimitOfPushesToAll(
        in sdkAppID: Int64
    ) async throws(GatewayUnavailable) -> GatewayUnavailable {
        let exceeded = try await asking { () throws(PostgresError) in try await callers.pushToAllWait(in: sdkAppID) }
        // That it has passed meanwhile tells which it was.
        return GatewayUnavailable(exceeded ?? RateLimitExceeded(.secondsBetweenPushesToAll, wait: .zero))
    }

    /// What follows an acceptance.
    private func begin(_ message: DeliveryStore.NewMessage, _ acceptance: Acceptance, _ owner: Int64?) {
        counters.accepted(message.order, isRepeat: acceptance.isRepeat)
        guard let owner, !acceptance.isRepeat else { return }
        guard message.order.audience != nil else {
            return engine.begin(acceptance.message, message.order, owner: owner)
        }
        let deadline = acceptance.message.acceptedAt + .seconds(message.order.lifetime)
        fanOuts.begin(FanOut(acceptance.message, message.order, deadline: deadline, owner: owner))
    }

    /// Takes a message in, or refuses it at once. Synchronous: between a check in an async method and what follows it,
    /// other jobs of the loop may run, ``close()`` among them.
    private func enqueue(_ entry: Waiting) {
        guard !isClosed, !isStalled else {
            return entry.continuation.resume(returning: .failure(GatewayUnavailable(.databaseAway)))
        }
        waiting.append(entry)
        signal.set()
    }

    func hasSegment(_ name: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> Bool {
        try await asking { () throws(PostgresError) in try await accounts.hasSegment(name, in: sdkAppID) }
    }

    func nickname(of account: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> String? {
        try await asking { () throws(PostgresError) in try await accounts.nickname(of: account, in: sdkAppID) }
    }

    func importAccounts(_ profiles: [AccountProfile], in sdkAppID: Int64) async throws(GatewayUnavailable) {
        try await asking { () throws(PostgresError) in try await accounts.importAccounts(profiles, in: sdkAppID) }
    }

    func importedAccounts(
        among names: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> AccountSet {
        try await asking { () throws(PostgresError) in try await accounts.imported(among: names, in: sdkAppID) }
    }

    func deleteAccounts(_ names: [String], in sdkAppID: Int64) async throws(GatewayUnavailable) -> AccountSet {
        try await asking { () throws(PostgresError) in try await accounts.delete(names, in: sdkAppID) }
    }

    // MARK: - PushwooshGateway

    func applicationCode(_ code: String) throws(GatewayUnavailable) -> ApplicationCode? {
        guard let configured = directory.known else { throw GatewayUnavailable(.databaseAway) }
        return configured.codes[code]
    }

    func apiToken(_ token: String) throws(GatewayUnavailable) -> APIToken? {
        guard let configured = directory.known else { throw GatewayUnavailable(.databaseAway) }
        return configured.apiTokens[APIToken.digest(of: token)]
    }

    func time(of localTime: String, in zone: String) async throws(GatewayUnavailable) -> UnixTime? {
        try await asking { () throws(PostgresError) in try await pushwoosh.time(of: localTime, in: zone) }
    }

    func deviceTokens(
        of installations: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [String: PushToken] {
        try await asking { () throws(PostgresError) in
            try await pushwoosh.deviceTokens(of: installations, in: sdkAppID)
        }
    }

    func activities(
        withTokens tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [PushToken: RegisteredActivity] {
        try await asking { () throws(PostgresError) in
            try await pushwoosh.activities(withTokens: tokens, in: sdkAppID)
        }
    }

    func registeredTokens(
        among tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Set<PushToken> {
        try await asking { () throws(PostgresError) in
            try await pushwoosh.registeredTokens(among: tokens, in: sdkAppID)
        }
    }

    func hasActivity(
        _ laID: String,
        for event: ActivityEvent,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Bool {
        try await asking { () throws(PostgresError) in
            try await pushwoosh.hasActivity(laID, for: event, in: sdkAppID)
        }
    }

    // MARK: - MessageRevoker

    /// How often it is tried again to take back a message to an audience that goes on meanwhile.
    private static let revocationAttempts = 20

    func revoke(
        _ key: String,
        replacing replacement: PushOrder?,
        by sender: String,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Revocation {
        for _ in 0..<MessageRouter.revocationAttempts {
            if let revocation = try await tryToRevoke(key, replacing: replacement, by: sender, in: sdkAppID) {
                return revocation
            }
        }
        throw GatewayUnavailable(.overloaded)
    }

    /// - Returns: nil if the message went on to other recipients since they were looked up.
    private func tryToRevoke(
        _ key: String,
        replacing replacement: PushOrder?,
        by sender: String,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Revocation? {
        guard instance.isAlive else { throw GatewayUnavailable(.databaseAway) }
        let found = try await asking { () throws(PostgresError) in try await callers.revocable(key, in: sdkAppID) }
        guard let found else {
            // One that waits for its time was shown nowhere.
            let isCancelled = try await asking { () throws(PostgresError) in
                try await callers.cancelScheduled(key, in: sdkAppID, by: sender)
            }
            return isCancelled ? .revoked : .unknown
        }
        if let refusal = found.refusal(replacing: replacement, at: now()) { return refusal }
        let replacements = found.replacements(by: replacement).map { order in
            DeliveryStore.NewMessage(PlannedOrder(order: order, digest: nil, sendAt: nil))
        }
        do throws(PostgresError) {
            try await callers.revoke(found, of: sdkAppID, by: sender, replacements: replacements)
        } catch {
            if error.sqlState == "23505" { return .revokedBefore }
            if error.sqlState == "22012" { return nil }
            throw GatewayUnavailable(error, alarms: instance.alarms, logger: logger)
        }
        for message in replacements {
            counters.accepted(message.order)
        }
        return .revoked
    }

    private func asking<Answer>(
        _ body: () async throws(PostgresError) -> Answer
    ) async throws(GatewayUnavailable) -> Answer {
        do throws(PostgresError) {
            return try await body()
        } catch {
            throw GatewayUnavailable(error, alarms: instance.alarms, logger: logger)
        }
    }

    // MARK: - Storing

    private func storeWaiting() async {
        while !isClosed {
            await signal.wait()
            while !waiting.isEmpty, !isClosed {
                await store(waiting.removePrefix(MessageRouter.batchSize))
            }
        }
    }

    /// Stores a batch. One that PostgreSQL refuses is halved until the message that it refuses stands alone, so that no
    /// message fails for another's fault.
    private func store(_ batch: [Waiting]) async {
        var parts = parts(of: batch)
        unanswered = parts.count == 1 ? batch : parts.reversed().flatMap { $0 }
        answerTimer?.schedule(after: answerLimit)
        defer {
            answerTimer?.cancel()
            isStalled = false
        }
        while let part = parts.popLast() {
            let recipients = part.reduce(0) { $0 + $1.message.order.recipients.count }
            let owner =
                recipients <= engine.room && !areLeftToOthers(part.lazy.map(\.message)) ? instance.id(at: .now) : nil
            do throws(PostgresError) {
                let acceptances = try await store.accept(part.map(\.message), owner: owner)
                for (entry, acceptance) in zip(takeUnanswered(part.count), acceptances) {
                    entry.continuation.resume(returning: .success(acceptance))
                }
                // Also of those whose callers were told to try again: they are stored.
                for (entry, acceptance) in zip(part, acceptances) {
                    begin(entry.message, acceptance, owner)
                }
            } catch {
                if error.outcomeIsUnknown {
                    instance.outcomeIsUnknown()
                }
                if error.isTransient(forBatchOf: part.count) || part.count == 1 {
                    let failure = GatewayUnavailable(error, alarms: instance.alarms, logger: logger)
                    for entry in takeUnanswered(part.count) {
                        entry.continuation.resume(returning: .failure(failure))
                    }
                } else {
                    parts.append(Array(part[(part.count / 2)...]))
                    parts.append(Array(part[..<(part.count / 2)]))
                }
            }
        }
    }

    /// What is stored in one transaction, the last part first: what this gateway cannot send is stored without an owner,
    /// so that any other takes it up at once.
    private func parts(of batch: [Waiting]) -> [[Waiting]] {
        guard let unreadable = directory.unreadable else { return [batch] }
        let isLeft = { (entry: Waiting) in unreadable.leaves(entry.message.order.sdkAppID) }
        return [batch.filter { !isLeft($0) }, batch.filter(isLeft)].filter { !$0.isEmpty }
    }

    private func areLeftToOthers(_ messages: some Sequence<DeliveryStore.NewMessage>) -> Bool {
        guard let unreadable = directory.unreadable else { return false }
        return messages.contains { unreadable.leaves($0.order.sdkAppID) }
    }

    /// The callers of the next messages of the batch, parts of which are stored in order; nobody once they were told to
    /// try again.
    private func takeUnanswered(_ count: Int) -> [Waiting] {
        unanswered.isEmpty ? [] : unanswered.removePrefix(count)
    }

    /// PostgreSQL does not answer. What it was given may be stored yet, and is then sent: the same request is recognised
    /// when it comes again. What still waits was not given to it.
    private func giveUpWaiting() {
        isStalled = true
        refuse(&unanswered)
        refuse(&waiting)
    }

    private func refuse(_ entries: inout [Waiting]) {
        let refused = entries
        entries = []
        for entry in refused {
            entry.continuation.resume(returning: .failure(GatewayUnavailable(.databaseAway)))
        }
    }
}

extension UnixTime {
    /// The machine's clock, for answers before PostgreSQL's is known.
    static var systemClock: UnixTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UnixTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}
