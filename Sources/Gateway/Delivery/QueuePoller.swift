import Logging
import PostgresClient

/// Takes up what is due in the table `pending`: retries, what did not fit into memory, and what a dead instance left.
final class QueuePoller {
    /// Most rows in one statement.
    private static let batchSize = 200
    private static let fault: StaticString = "queue not read"

    private let store: DeliveryStore
    private let engine: DeliveryEngine
    private let fanOuts: FanOuts
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let interval: Duration
    private let logger: Logger
    private let suspectSignal = Signal()
    private let lineSignal = Signal()
    private var isClosed = false

    /// - Parameter interval: how often due rows are looked for.
    init(
        store: DeliveryStore,
        engine: DeliveryEngine,
        fanOuts: FanOuts,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        interval: Duration,
        logger: Logger,
    ) {
        self.store = store
        self.engine = engine
        self.fanOuts = fanOuts
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
        engine.onLineLow = { [lineSignal] in lineSignal.set() }
        Task {
            _ = isolation
            await self.pollLines()
        }
        Task {
            _ = isolation
            // Not with the rest, which may take long to be taken up.
            while !self.isClosed {
                self.lineSignal.set()
                try? await Task.sleep(for: self.interval)
            }
        }
    }

    /// Lets the tasks end.
    func close() {
        isClosed = true
        suspectSignal.set()
        lineSignal.set()
    }

    // MARK: - Polling

    private func pollDue() async {
        while !isClosed {
            engine.retryRefusedSettlements()
            suspectSignal.set()
            await attempt { () throws(PostgresError) in try await takeDue() }
            try? await Task.sleep(for: interval)
        }
    }

    private func takeDue() async throws(PostgresError) {
        while !isClosed, let owner = instance.id(at: .now), engine.room > 0 {
            let limit = rowsWithRoom
            let work = try await taken { () throws(PostgresError) in
                try await store.takeDue(owner: owner, limit: Int64(limit), without: directory.unreadable)
            }
            await resume(work, owner) {}
            guard work.count == limit else { return }
        }
    }

    /// For how many rows there is room: a row can be a message of 500 recipients.
    private var rowsWithRoom: Int { max(1, min(engine.room / 500, QueuePoller.batchSize)) }

    /// Runs what may leave rows with this process that it does not work on: where it fails, they are looked for.
    private func taken<Answer>(_ body: () async throws(PostgresError) -> Answer) async throws(PostgresError) -> Answer {
        do throws(PostgresError) {
            return try await body()
        } catch {
            instance.outcomeIsUnknown()
            throw error
        }
    }

    /// - Returns: nil where it failed, which is logged.
    private func attempt<Answer>(_ body: () async throws(PostgresError) -> Answer) async -> Answer? {
        do throws(PostgresError) {
            let answer = try await body()
            logger.over(QueuePoller.fault, "queue read again")
            return answer
        } catch {
            logger.lasting(.warning, QueuePoller.fault, ["error": .describing(error)])
            return nil
        }
    }

    // MARK: - Lines

    private func pollLines() async {
        while !isClosed {
            await lineSignal.wait()
            await attempt { () throws(PostgresError) in
                let lines = try await store.lines()
                engine.lines.found(lines)
                guard !lines.isEmpty else { return }
                // Another one first each time, should there be no room for all of them.
                for line in lines.shuffled() {
                    try await takeDue(from: line)
                }
                try await takeExpired()
            }
        }
    }

    private func takeDue(from line: String) async throws(PostgresError) {
        while !isClosed, let owner = instance.id(at: .now) {
            // Each is one recipient.
            let limit = min(engine.room, engine.lines.room(in: line, at: .now), DeliveryEngine.batchSize)
            guard limit > 0 else { return }
            let work = try await taken { () throws(PostgresError) in
                try await store.takeDue(
                    owner: owner,
                    limit: Int64(limit),
                    from: line,
                    without: directory.unreadable,
                )
            }
            await resume(work, owner, from: line) {}
            guard work.count == limit else { return }
        }
    }

    private func takeExpired() async throws(PostgresError) {
        while !isClosed, let owner = instance.id(at: .now), engine.room > 0 {
            let limit = min(engine.room, DeliveryEngine.batchSize)
            let work = try await taken { () throws(PostgresError) in
                try await store.takeExpired(owner: owner, limit: Int64(limit))
            }
            await resume(work, owner) {}
            guard work.count == limit else { return }
        }
    }

    // MARK: - Suspects

    private func pollSuspects() async {
        while !isClosed {
            await suspectSignal.wait()
            while !isClosed, let owner = instance.id(at: .now), engine.room > 0,
                await attempt({ () throws(PostgresError) in try await takeSuspects(owner) }) == true
            {}
        }
    }

    /// - Returns: whether there were any for which there was a place.
    private func takeSuspects(_ owner: Int64) async throws(PostgresError) -> Bool {
        guard try await store.hasSuspects(except: directory.unreadable?.leftToOthers ?? []) else {
            instance.suspects(of: owner) { $0.rest() }
            return false
        }
        var foundAny = false
        for isolation in [InstanceDeaths.Isolation.inFewCompany, .inCompany, .alone] {
            let places = instance.suspects(of: owner) { $0.admit(rowsWithRoom, isolation) } ?? 0
            if places > 0, try await takeSuspects(owner, isolation, places: places) {
                foundAny = true
            }
        }
        return foundAny
    }

    private func takeSuspects(
        _ owner: Int64,
        _ isolation: InstanceDeaths.Isolation,
        places: Int,
    ) async throws(PostgresError) -> Bool {
        let (instance, suspectSignal) = (instance, suspectSignal)
        var unused = places
        defer { instance.suspects(of: owner) { $0.giveBack(unused, isolation) } }
        let work = try await taken { () throws(PostgresError) in
            try await store.takeDue(
                owner: owner,
                limit: Int64(places),
                isolation,
                without: directory.unreadable,
            )
        }
        unused -= work.count
        await resume(work, owner) {
            instance.suspects(of: owner) { $0.finish(isolation) }
            suspectSignal.set()
        }
        return !work.isEmpty
    }

    // MARK: - Resuming

    private typealias Resumable = (row: DeliveryStore.DueWork, order: PushOrder, progress: RecipientProgress)

    /// Goes on with rows that were taken up.
    ///
    /// - Parameters:
    ///   - line: at whose front they stood.
    ///   - isDone: called for each row once nothing of it is in memory any more.
    private func resume(
        _ work: [DeliveryStore.DueWork],
        _ owner: Int64,
        from line: String? = nil,
        isDone: @escaping () -> Void,
    ) async {
        var rows: [Resumable] = []
        for row in work {
            switch read(row) {
            case nil:
                await postpone(row, owner)
                isDone()
            case .recipients(let order, let progress):
                rows.append((row, order, progress))
            case .audience(let order, let cursor):
                fanOuts.begin(
                    FanOut(
                        row.receipt,
                        order,
                        deadline: row.deadline,
                        owner: owner,
                        fate: row.fate,
                        cursor: cursor,
                        isResumed: true,
                        isDone: isDone,
                    )
                )
            }
        }
        let whole = rows.filter { $0.row.account == nil }.map(\.row.receipt)
        let settled =
            whole.isEmpty
            ? [:]
            : await attempt { () throws(PostgresError) in
                try await taken { () throws(PostgresError) in try await store.recipientsSettled(of: whole) }
            }
        guard let settled else {
            // No lane holds them, so they are found and freed.
            return rows.forEach { _ in isDone() }
        }
        var finished: [Int64] = []
        for resumable in rows {
            if !begin(resumable, settled: settled[resumable.row.receipt.id] ?? [], owner, line, isDone: isDone) {
                finished.append(resumable.row.receipt.id)
            }
        }
        guard !finished.isEmpty else { return }
        _ = await attempt { () throws(PostgresError) in
            try await taken { () throws(PostgresError) in
                try await store.settle([], completed: finished, shared: finished, owner: owner, mayBeRepeated: false)
            }
        }
        finished.forEach { _ in isDone() }
    }

    /// What a row asks for.
    private enum Work {
        case recipients(PushOrder, RecipientProgress)
        /// The whole row of a message to an audience.
        case audience(PushOrder, FanOutCursor)
    }

    private func read(_ row: DeliveryStore.DueWork) -> Work? {
        do throws(PushOrder.DecodingError) {
            let order = try PushOrder(decoding: row.content)
            if order.audience != nil, row.account == nil {
                guard let stored = row.progress else { return .audience(order, FanOutCursor()) }
                if let cursor = FanOutCursor(decoding: stored) { return .audience(order, cursor) }
            } else {
                guard let stored = row.progress else { return .recipients(order, .none) }
                if let progress = RecipientProgress(decoding: stored) { return .recipients(order, progress) }
            }
            logger.error(
                "progress not readable by this release; left for a newer one",
                ["message_id": .integer(row.receipt.id)],
            )
        } catch {
            logger.error(
                "message not readable by this release; left for a newer one",
                ["message_id": .integer(row.receipt.id), "key": .string(error.key)],
            )
        }
        return nil
    }

    private func postpone(_ row: DeliveryStore.DueWork, _ owner: Int64) async {
        _ = await attempt { () throws(PostgresError) in
            try await taken { () throws(PostgresError) in
                try await store.postpone(row, owner: owner, reason: "not_readable")
            }
        }
    }

    /// - Returns: whether there was anything left to do.
    private func begin(
        _ resumable: Resumable,
        settled: AccountSet,
        _ owner: Int64,
        _ line: String?,
        isDone: @escaping () -> Void,
    ) -> Bool {
        let (row, order, progress) = resumable
        let open =
            row.account.map { [($0, progress)] }
            ?? order.recipients.filter { !settled.contains($0) }.map { ($0, .none) }
        guard !open.isEmpty else { return false }
        if row.deaths.quarantines {
            logger.error(
                "message quarantined: its instance died with it again and again",
                ["message_id": .integer(row.receipt.id), "takeovers": .integer(row.deaths.number)],
            )
        }
        let underWay = directory.underWay(row.receipt, order, deadline: row.deadline)
        let message = MessageTask(underWay, isWhole: row.account == nil, isShared: true, isDone: isDone)
        engine.begin(
            message,
            open,
            owner: owner,
            as: row.fate,
            from: line,
        )
        return true
    }
}
