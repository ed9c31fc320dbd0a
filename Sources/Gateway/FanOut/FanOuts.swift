import EventLoop
import Logging
import PostgresClient

/// Sends messages to audiences, a chunk of recipients at a time, with the same ``DeliveryEngine`` as all others.
///
/// The message's own row in `pending` is owned all the while and holds the cursor: the last account of which everything
/// stands in rows. Chunks of several messages alternate, and share half of the lane's memory: whatever waits for an
/// attempt, or is accepted meanwhile, has the other half. One object per lane, on its thread.
final class FanOuts {
    /// Most recipients of one message in memory.
    static let chunkSize = 500
    /// Most messages that are worked on at a time; further ones wait in PostgreSQL.
    static let limit = 200
    /// How long one of those waits.
    static let turnInterval = Duration.seconds(1)
    /// Why it waits.
    static let waitsForTurn = "fan_out_waits"
    /// How soon one that waits for an older start looks again.
    static let startInterval = Duration.milliseconds(500)

    private let store: FanOutStore
    private let engine: DeliveryEngine
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory
    private let backlogLimit: Int64
    private let counters: DeliveryCounters
    private let logger: Logger

    private var running: [ObjectIdentifier: FanOut] = [:]
    private var begun: [FanOut] = []
    private var givenBack: [FanOut] = []
    private let begunSignal = Signal()
    /// Who waits for room, first come first served.
    private var waiting: [(fanOut: FanOut, continuation: CheckedContinuation<Bool, Never>)] = []
    private let waitingSignal = Signal()
    private var placesInUse = 0
    private var isClosed = false

    /// - Parameter backlogLimit: while so many rows of an app wait, no more of its audiences are listed.
    init(
        store: FanOutStore,
        engine: DeliveryEngine,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        backlogLimit: Int64,
        counters: DeliveryCounters,
        logger: Logger,
    ) {
        self.store = store
        self.engine = engine
        self.instance = instance
        self.directory = directory
        self.backlogLimit = backlogLimit
        self.counters = counters
        self.logger = logger
    }

    /// How many messages are worked on.
    var count: Int { running.count }

    /// Starts the tasks that run until ``close()``.
    ///
    /// - Parameter loop: that of the caller's actor.
    func start(on loop: EventLoop, isolation: isolated any Actor = #isolation) {
        engine.onDrop = { [weak self] in self?.dropped() }
        Task {
            _ = isolation
            await withTaskExecutorPreference(loop) { await self.runBegun(on: loop) }
        }
        Task {
            _ = isolation
            await withTaskExecutorPreference(loop) { await self.giveRoom() }
        }
    }

    /// Lets the tasks end; the rows stay as they are.
    func close() {
        isClosed = true
        dropped()
        begunSignal.set()
        waitingSignal.set()
    }

    /// Begins or goes on with a message whose row this instance owns. Past the limit it is given back.
    func begin(_ fanOut: FanOut) {
        // Whoever looks for rows that no lane works on must not find it.
        instance.hold(fanOut.receipt.id)
        if running.count < FanOuts.limit, !isClosed {
            running[ObjectIdentifier(fanOut)] = fanOut
            begun.append(fanOut)
        } else {
            givenBack.append(fanOut)
        }
        begunSignal.set()
    }

    /// The engine has forgotten what was in memory: whoever waits for it looks again.
    private func dropped() {
        // Not those that were taken up since, under another id.
        for fanOut in running.values where !isCurrent(fanOut) {
            fanOut.chunkIsDone.set()
        }
        admit()
    }

    private func runBegun(on loop: EventLoop, isolation: isolated (any Actor)? = #isolation) async {
        while !isClosed {
            await begunSignal.wait()
            for fanOut in begun.removePrefix(.max) {
                Task {
                    _ = isolation
                    await withTaskExecutorPreference(loop) { await self.run(fanOut) }
                }
            }
            for fanOut in givenBack.removePrefix(.max) {
                await giveBack(fanOut, for: FanOuts.turnInterval, because: FanOuts.waitsForTurn)
                leave(fanOut)
            }
        }
    }

    // MARK: - Room

    private var chunkSize: Int { min(FanOuts.chunkSize, max(engine.recipientsInMemory / 2, 1)) }

    /// Waits until there is room for a chunk.
    ///
    /// - Returns: false if the work is not this process's any more, or is to be left to others.
    private func takeRoom(for fanOut: FanOut) async -> Bool {
        guard isToGoOn(fanOut) else { return false }
        if waiting.isEmpty, takeRoomIfAny(for: fanOut) { return true }
        return await withCheckedContinuation { continuation in
            waiting.append((fanOut, continuation))
            waitingSignal.set()
        }
    }

    private func takeRoomIfAny(for fanOut: FanOut) -> Bool {
        guard isAllowed(fanOut), engine.freePlaces >= chunkSize else { return false }
        fanOut.places = chunkSize
        placesInUse += chunkSize
        return true
    }

    /// Whether only a lack of memory can be in its way.
    private func isAllowed(_ fanOut: FanOut) -> Bool {
        let size = chunkSize
        return placesInUse + size <= max(engine.recipientsInMemory / 2, size)
            && instance.backlog(of: fanOut.order.sdkAppID) < backlogLimit
    }

    private func giveBackRoom(of fanOut: FanOut, except count: Int = 0) {
        placesInUse -= fanOut.places - count
        fanOut.places = count
    }

    /// Lets those in that wait as room comes.
    private func giveRoom() async {
        while !isClosed {
            await waitingSignal.wait()
            while !waiting.isEmpty, !isClosed {
                admit()
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    private func admit() {
        let entries = waiting
        waiting = []
        for entry in entries {
            let goesOn = isToGoOn(entry.fanOut)
            if !goesOn || takeRoomIfAny(for: entry.fanOut) {
                entry.continuation.resume(returning: goesOn)
            } else {
                waiting.append(entry)
            }
        }
        // Others leave as much as a chunk takes, or it would never come.
        engine.reserved = waiting.contains { isAllowed($0.fanOut) } ? chunkSize : 0
    }

    // MARK: - Running

    /// Whether the work is still this process's.
    private func isCurrent(_ fanOut: FanOut) -> Bool {
        instance.owner == fanOut.owner && !isClosed
    }

    private func isToGoOn(_ fanOut: FanOut) -> Bool {
        isCurrent(fanOut) && engine.isTakingUp
    }

    private func leave(_ fanOut: FanOut) {
        running[ObjectIdentifier(fanOut)] = nil
        if isCurrent(fanOut) {
            instance.letGo(fanOut.receipt.id)
        }
        fanOut.wentWell()
    }

    private func run(_ fanOut: FanOut) async {
        let isBegun: Void? = await attempt(fanOut) { () throws(PostgresError) in
            try await store.begin(fanOut.receipt, fanOut.order, owner: fanOut.owner)
        }
        if isBegun != nil {
            while await takeRoom(for: fanOut) {
                let goesOn = await runChunk(fanOut)
                giveBackRoom(of: fanOut)
                guard goesOn else { break }
            }
        }
        leave(fanOut)
    }

    /// - Returns: whether another chunk follows.
    private func runChunk(_ fanOut: FanOut) async -> Bool {
        let (receipt, order) = (fanOut.receipt, fanOut.order)
        let found = await attempt(fanOut) { () throws(PostgresError) in try await self.standing(of: fanOut) }
        guard let standing = found else { return false }
        if let end = FanOutEnd(
            of: order,
            newer: standing.newer,
            isRevoked: standing.isRevoked,
            deadline: fanOut.deadline,
            at: currentTime,
        ) {
            await finish(fanOut, as: end)
            return false
        }
        guard fanOut.fate == .quarantined || directory.unreadable?.leaves(order.sdkAppID) != true else {
            await giveBack(fanOut, for: .zero, because: UnreadableSecrets.reason)
            return false
        }
        guard await isFree(fanOut, standing) else { return false }
        let listed = await attempt(fanOut) { () throws(PostgresError) in
            let limit = Int64(fanOut.places)
            let chunk = try await store.chunk(of: order, receipt, after: fanOut.cursor.account, limit: limit)
            let settled =
                fanOut.isResumed
                ? try await store.settled(chunk.recipients.map(\.account), of: receipt, in: order.sdkAppID) : []
            return (chunk, settled)
        }
        guard let (chunk, settled) = listed, isCurrent(fanOut) else { return false }
        giveBackRoom(of: fanOut, except: chunk.recipients.count)
        await deliver(chunk.recipients.filter { !settled.contains($0.account) }, of: fanOut)
        guard isCurrent(fanOut) else { return false }
        counters.listed(chunk.recipients.count, of: order)
        fanOut.chunkEnded(listing: chunk.recipients.count)
        guard let next = chunk.next, fanOut.fate != .quarantined else {
            await finish(fanOut, as: fanOut.fate == .quarantined ? .quarantined : .listed)
            return false
        }
        fanOut.cursor.account = next
        let isOwn = await attempt(fanOut) { () throws(PostgresError) in
            try await store.advance(receipt, to: fanOut.cursor, owner: fanOut.owner)
        }
        fanOut.wentWell()
        return isOwn == true
    }

    private func standing(of fanOut: FanOut) async throws(PostgresError) -> FanOutStore.Standing {
        var activity: String?
        if fanOut.order.yieldsToNewer, case .activity(let laID) = fanOut.order.audience { activity = laID }
        let instruction = fanOut.order.activity
        return try await store.standing(
            of: fanOut.receipt.id,
            to: activity,
            after: instruction?.content.event == .start ? nil : instruction?.laID,
            patience: engine.startRules.patience,
            in: fanOut.order.sdkAppID,
        )
    }

    /// Whether no older start of the message's activity is in its way: only once that has reached all its recipients is
    /// it known where the activity may come up. Otherwise the message is given back.
    private func isFree(_ fanOut: FanOut, _ standing: FanOutStore.Standing) async -> Bool {
        guard let start = standing.undecidedStart else { return true }
        guard standing.isGivenUp else {
            await giveBack(fanOut, for: FanOuts.startInterval, because: RecipientDelivery.startUndecided)
            return false
        }
        guard fanOut.undecidedStart != start else { return true }
        fanOut.undecidedStart = start
        logger.warning(
            "a start gets no further; a later message to its activity goes on without it",
            ["start": .integer(start), "message_id": .integer(fanOut.receipt.id)],
        )
        let isNoted: Void? = await attempt(fanOut) { () throws(PostgresError) in
            try await store.goOn(fanOut.receipt, without: start, owner: fanOut.owner)
        }
        return isNoted != nil
    }

    /// Works on recipients until all of them stand in rows, or are not this process's any more.
    private func deliver(_ recipients: [FanOutStore.Chunk.Recipient], of fanOut: FanOut) async {
        guard !recipients.isEmpty else { return }
        let underWay = directory.underWay(fanOut.receipt, fanOut.order, deadline: fanOut.deadline)
        let message = MessageTask(underWay, isWhole: true, isShared: false, isChunk: true) {
            fanOut.chunkIsDone.set()
        }
        engine.begin(
            message,
            recipients.map { ($0.account, RecipientProgress.beginning(on: $0.installations)) },
            owner: fanOut.owner,
            as: fanOut.fate,
        )
        await fanOut.chunkIsDone.wait()
    }

    private func finish(_ fanOut: FanOut, as end: FanOutEnd) async {
        let isFinished: Void? = await attempt(fanOut) { () throws(PostgresError) in
            try await store.finish(fanOut.receipt, as: end, listed: fanOut.cursor.listed, owner: fanOut.owner)
        }
        guard isFinished != nil else { return }
        counters.fannedOut(end)
        if end == .quarantined {
            logger.error(
                "message to an audience quarantined: its instance died with it again and again",
                ["message_id": .integer(fanOut.receipt.id), "listed": .integer(fanOut.cursor.listed)],
            )
        }
    }

    private var currentTime: UnixTime {
        instance.time(at: .now) ?? UnixTime(microseconds: 0)
    }

    // MARK: - Statements

    /// Runs a unit until PostgreSQL takes it. All of them may be repeated.
    ///
    /// - Returns: nil if the work is not this process's any more, or PostgreSQL refuses the unit: the message is given
    ///   back then.
    @discardableResult
    private func attempt<Answer>(
        _ fanOut: FanOut,
        _ body: () async throws(PostgresError) -> Answer,
    ) async -> Answer? {
        while isCurrent(fanOut) {
            do throws(PostgresError) {
                return try await body()
            } catch {
                guard error.isTransient else {
                    instance.alarms.raise(.databaseRefused(error, for: "a message to an audience"))
                    logger.error(
                        "PostgreSQL refused a message to an audience; it waits",
                        ["message_id": .integer(fanOut.receipt.id), "error": .describing(error)],
                    )
                    await giveBack(fanOut, for: .seconds(60), because: "database_refused")
                    return nil
                }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
        return nil
    }

    private func giveBack(_ fanOut: FanOut, for delay: Duration, because reason: String) async {
        do throws(PostgresError) {
            try await store.giveBack(fanOut.receipt, for: delay, because: reason, owner: fanOut.owner)
        } catch {
            // Nothing works on it here any more: it is looked for.
            instance.outcomeIsUnknown()
            logger.warning(
                "a message to an audience was not given back",
                ["message_id": .integer(fanOut.receipt.id), "error": .describing(error)],
            )
        }
    }
}
