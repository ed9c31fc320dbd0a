import Logging
import PostgresClient

/// Takes up what is due in the table `pending`: retries, what did not fit into memory, and what a dead instance left.
final class QueuePoller {
    /// Most rows in one statement.
    private static let batchSize = 200
    /// After so many takeovers a message is quarantined.
    private static let takeoverLimit: Int64 = 3

    private let store: DeliveryStore
    private let engine: DeliveryEngine
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let interval: Duration
    private let logger: Logger
    private let suspectDone = Signal()
    /// The id under which a suspect is under way.
    private var suspectOwner: Int64?
    private var isClosed = false

    /// - Parameter interval: how often due rows are looked for.
    init(
        store: DeliveryStore,
        engine: DeliveryEngine,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        interval: Duration,
        logger: Logger,
    ) {
        self.store = store
        self.engine = engine
        self.instance = instance
        self.directory = directory
        self.interval = interval
        self.logger = logger
    }

    /// Starts the tasks that run until ``close()``.
    func start(isolation: isolated any Actor = #isolation) {
        Task {
            _ = isolation
            await self.pollDue()
        }
        Task {
            _ = isolation
            await self.pollSuspects()
        }
    }

    /// Lets the tasks end.
    func close() {
        isClosed = true
        suspectDone.set()
    }

    // MARK: - Polling

    private func pollDue() async {
        while !isClosed {
            if let suspectOwner, suspectOwner != instance.owner {
                suspectDone.set()
            }
            engine.retryRefusedSettlements()
            do throws(PostgresError) {
                try await takeDue()
            } catch {
                logger.warning("queue not read", ["error": .describing(error)])
            }
            try? await Task.sleep(for: interval)
        }
    }

    private func takeDue() async throws(PostgresError) {
        while !isClosed, let owner = instance.id(at: .now), engine.room > 0 {
            // A row can be a message of 500 recipients.
            let limit = max(1, min(engine.room / 500, QueuePoller.batchSize))
            let work = try await taken { () throws(PostgresError) in
                try await store.takeDue(owner: owner, limit: Int64(limit), suspects: false)
            }
            for row in work {
                try await taken { () throws(PostgresError) in try await resume(row, owner) {} }
            }
            guard work.count == limit else { return }
        }
    }

    /// Runs what may leave rows with this process that it does not work on: where it fails, they are looked for.
    private func taken<Answer>(_ body: () async throws(PostgresError) -> Answer) async throws(PostgresError) -> Answer {
        do throws(PostgresError) {
            return try await body()
        } catch {
            instance.outcomeIsUnknown()
            throw error
        }
    }

    /// Messages whose instances died with them twice run one at a time in a process, so that one that kills it takes no
    /// other with it: the third takeover finds the culprit alone.
    private func pollSuspects() async {
        while !isClosed {
            do throws(PostgresError) {
                if let owner = instance.id(at: .now), instance.admitSuspect() {
                    if try await takeSuspect(owner) { continue }
                    instance.dismissSuspect()
                }
            } catch {
                instance.dismissSuspect()
                logger.warning("queue not read", ["error": .describing(error)])
            }
            try? await Task.sleep(for: interval)
        }
    }

    /// - Returns: whether there was one; it is done then.
    private func takeSuspect(_ owner: Int64) async throws(PostgresError) -> Bool {
        let found = try await taken { () throws(PostgresError) in
            try await store.takeDue(owner: owner, limit: 1, suspects: true)
        }
        guard let suspect = found.first else { return false }
        let (instance, suspectDone) = (instance, suspectDone)
        suspectOwner = owner
        defer { suspectOwner = nil }
        try await taken { () throws(PostgresError) in
            try await resume(suspect, owner) {
                instance.dismissSuspect()
                suspectDone.set()
            }
        }
        await suspectDone.wait()
        return true
    }

    // MARK: - Resuming

    /// - Parameter isDone: called once nothing of the row is in memory any more.
    private func resume(
        _ work: DeliveryStore.DueWork,
        _ owner: Int64,
        isDone: @escaping () -> Void,
    ) async throws(PostgresError) {
        let order: PushOrder
        do throws(PushOrder.DecodingError) {
            order = try PushOrder(decoding: work.content)
        } catch {
            logger.error(
                "message not readable by this release; left for a newer one",
                ["message_id": .integer(work.receipt.id), "key": .string(error.key)],
            )
            try await store.postpone(work, owner: owner, reason: "not_readable")
            isDone()
            return
        }
        var progress = RecipientProgress.none
        if let stored = work.progress {
            guard let known = RecipientProgress(decoding: stored) else {
                logger.error(
                    "progress not readable by this release; left for a newer one",
                    ["message_id": .integer(work.receipt.id)],
                )
                try await store.postpone(work, owner: owner, reason: "not_readable")
                isDone()
                return
            }
            progress = known
        }
        let isQuarantined = work.takeovers >= QueuePoller.takeoverLimit
        if isQuarantined {
            logger.error(
                "message quarantined: its instance died with it again and again",
                ["message_id": .integer(work.receipt.id), "takeovers": .integer(work.takeovers)],
            )
        }
        let underWay = directory.underWay(work.receipt, order, deadline: work.deadline)
        let message = MessageTask(underWay, isWhole: work.account == nil, isShared: true, isDone: isDone)
        if let account = work.account {
            engine.begin(message, [(account, progress)], owner: owner, quarantined: isQuarantined)
            return
        }
        let settled = try await store.recipientsSettled(of: work.receipt)
        let open = order.recipients.filter { !settled.contains($0) }
        if open.isEmpty {
            let id = work.receipt.id
            try await store.settle([], completed: [id], shared: [id], owner: owner, mayBeRepeated: false)
            isDone()
        } else {
            engine.begin(message, open.map { ($0, .none) }, owner: owner, quarantined: isQuarantined)
        }
    }
}
