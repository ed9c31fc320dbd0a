public import EventLoop
public import Logging

/// A few connections on one loop. Each unit goes to the one with the fewest under way; a lost one is opened again after
/// a back-off of 250 ms to 5 s.
///
/// It lives on the thread of its loop. ``close()`` must be called before the last reference goes.
public final class PostgresPool {
    private final class Slot {
        var connection: PostgresConnection?
        var backOff = ReconnectBackOff()
        var timer: EventLoopTimer?
    }

    private struct Lender {
        let pool: PostgresPool
        let answerLimit: Duration
        let isUsable: () -> Bool
    }

    private struct Waiter {
        let deadline: MonotonicTime
        let continuation: CheckedContinuation<Bool, Never>
    }

    private static let connectFault: StaticString = "cannot connect to PostgreSQL"

    private let loop: EventLoop
    private let logger: Logger
    private let login: PostgresLogin
    private let connectionWait: Duration
    private let slots: [Slot]
    /// Of a pool that only lends the connections of another one.
    private let lender: Lender?
    private var startConnecting: ((Slot) -> Void)?
    private var waiters = FirstInFirstOut<Waiter>()
    private var waitTimer: EventLoopTimer?
    private var isClosed = false

    /// - Parameters:
    ///   - url: as for ``PostgresConnection/open(_:on:logger:connectTimeout:statementTimeout:applicationName:)``.
    ///   - connections: how many to hold open; at least 1.
    ///   - loop: the loop of the caller's actor.
    ///   - statementTimeout: the server cancels a statement that takes longer.
    ///   - connectionWait: how long a unit waits for a connection when none is open, before `notConnected`.
    ///   - applicationName: what `pg_stat_activity` shows.
    public init(
        url: String,
        connections: Int,
        on loop: EventLoop,
        logger: Logger,
        statementTimeout: Duration = .seconds(30),
        connectTimeout: Duration = .seconds(10),
        connectionWait: Duration = .milliseconds(500),
        applicationName: String = "livepush",
    ) {
        self.loop = loop
        self.logger = logger
        self.connectionWait = connectionWait
        self.login = PostgresLogin(
            url: url,
            connectTimeout: connectTimeout,
            statementTimeout: statementTimeout,
            applicationName: applicationName,
        )
        self.slots = (0..<max(1, connections)).map { _ in Slot() }
        self.lender = nil
    }

    /// See ``answering(within:while:)``.
    private init(_ lender: Lender) {
        self.loop = lender.pool.loop
        self.logger = lender.pool.logger
        self.connectionWait = lender.pool.connectionWait
        self.login = lender.pool.login
        self.slots = lender.pool.slots
        self.lender = lender
    }

    /// The same connections for those who cannot wait long: a caller whose own time-out runs.
    ///
    /// A unit that got no answer within the limit fails as `timeout` and may be stored all the same, then or later; one
    /// that comes while the connections are not to be used fails as `notConnected` at once. What is returned need not be
    /// started or closed.
    ///
    /// - Parameters:
    ///   - limit: from the call to the answer, a wait for a connection included.
    ///   - isUsable: asked before each unit.
    public func answering(within limit: Duration, while isUsable: @escaping () -> Bool) -> PostgresPool {
        PostgresPool(Lender(pool: self, answerLimit: limit, isUsable: isUsable))
    }

    /// Whether a connection is open.
    public var isConnected: Bool { slots.contains { $0.connection != nil } }

    /// How many connections it holds open where it can.
    public var connectionCount: Int { slots.count }

    /// How many connections are open.
    public var openConnections: Int { slots.count { $0.connection != nil } }

    /// How many units wait for their answer.
    public var unitsInFlight: Int { slots.reduce(0) { $0 + ($1.connection?.unitsInFlight ?? 0) } }

    /// Begins to connect, and keeps connected until ``close()``.
    ///
    /// - Parameter isolation: the actor on the pool's loop that owns the pool.
    public func start(isolation: isolated any Actor = #isolation) {
        guard startConnecting == nil, !isClosed, lender == nil else { return }
        startConnecting = { [weak self] slot in
            Task {
                _ = isolation
                await self?.connect(slot)
            }
        }
        waitTimer = EventLoopTimer(on: loop) { [weak self] in self?.resumeExpiredWaiters() }
        for slot in slots {
            slot.timer = EventLoopTimer(on: loop) { [weak self, weak slot] in
                guard let slot else { return }
                self?.startConnecting?(slot)
            }
            startConnecting?(slot)
        }
    }

    /// Closes every connection. Who still waits gets `connectionLost`, or `notConnected` if nothing was sent.
    public func close() {
        guard lender == nil else { return }
        isClosed = true
        startConnecting = nil
        waitTimer = nil
        for slot in slots {
            slot.timer = nil
            slot.connection?.close()
            slot.connection = nil
        }
        resumeWaiters()
    }

    // MARK: - Units

    /// Runs one statement as a unit of its own.
    ///
    /// - Throws: ``PostgresError``; see ``PostgresError/outcomeIsUnknown``.
    public func run(_ statement: PostgresStatement) async throws(PostgresError) -> PostgresResult {
        guard let result = try await run([statement]).first else {
            throw PostgresError(.unexpectedResult(column: "(number of results)"))
        }
        return result
    }

    /// Runs `unit` in one transaction: all of it is stored, or nothing.
    ///
    /// A unit of which nothing was sent when its connection ended is run on another one.
    ///
    /// - Returns: the results, one for each statement, once the server has committed.
    /// - Throws: the first error; see ``PostgresError/outcomeIsUnknown``.
    public func run(_ unit: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
        guard let lender else { return try await run(unit, answerBy: nil) }
        guard lender.isUsable() else { throw PostgresError(.notConnected) }
        return try await lender.pool.run(unit, answerBy: .now + lender.answerLimit)
    }

    private func run(
        _ unit: [PostgresStatement],
        answerBy: MonotonicTime?,
    ) async throws(PostgresError) -> [PostgresResult] {
        var deadline: MonotonicTime?
        while true {
            // The choice and the hand-over are one step: else many units would choose before the first is counted.
            let outcome = await withCheckedContinuation { waiter in
                if let connection = leastLoaded {
                    connection.enqueue(unit, waiter: waiter, answerBy: answerBy)
                } else {
                    waiter.resume(returning: .failure(PostgresError(.notConnected)))
                }
            }
            if case .failure(let error) = outcome, error.kind == .notConnected {
                let limit = deadline ?? min(.now + connectionWait, answerBy ?? .now + connectionWait)
                deadline = limit
                guard await waitForConnection(until: limit) else { throw error }
            } else {
                return try outcome.get()
            }
        }
    }

    /// Runs `unit` in one transaction and rolls it back: what it would answer, without leaving anything.
    ///
    /// Rows are locked until then as they would be; sequences do not go back.
    ///
    /// - Throws: the first error; nothing was stored then either.
    public func runAndRollBack(_ unit: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
        // Without BEGIN: what is between two Syncs is one transaction, which this ends, and one that fails before is ended
        // by its Sync. After a BEGIN, the connection would be left in a failed transaction.
        Array(try await run(unit + [PostgresStatement("ROLLBACK")]).dropLast())
    }

    private var leastLoaded: PostgresConnection? {
        var best: PostgresConnection?
        for slot in slots {
            guard let connection = slot.connection, connection.isOpen else { continue }
            if connection.unitsInFlight < best?.unitsInFlight ?? .max { best = connection }
        }
        return best
    }

    // MARK: - Connecting

    private func connect(_ slot: Slot) async {
        do throws(PostgresError) {
            let connection = try await PostgresConnection.open(login, on: loop, logger: logger)
            guard !isClosed else { return connection.close() }
            // It may have been lost between its opening and this line.
            guard connection.isOpen else { return reconnect(slot) }
            connection.onLoss = { [weak self, weak slot] in
                guard let slot else { return }
                slot.connection = nil
                self?.reconnect(slot)
            }
            slot.connection = connection
            slot.backOff.reset()
            logger.over(PostgresPool.connectFault, "connected to PostgreSQL again")
            resumeWaiters()
        } catch {
            guard !isClosed else { return }
            logger.lasting(.warning, PostgresPool.connectFault, ["error": .describing(error)])
            reconnect(slot)
        }
    }

    private func reconnect(_ slot: Slot) {
        slot.timer?.schedule(after: slot.backOff.wait(fraction: .random(in: 0..<1)))
    }

    // MARK: - Waiting for a connection

    /// - Returns: whether to try again.
    private func waitForConnection(until deadline: MonotonicTime) async -> Bool {
        await withCheckedContinuation { continuation in
            guard !isClosed, let waitTimer, deadline > .now else { return continuation.resume(returning: false) }
            if isConnected { return continuation.resume(returning: true) }
            if waiters.isEmpty { waitTimer.schedule(after: deadline - .now) }
            waiters.append(Waiter(deadline: deadline, continuation: continuation))
        }
    }

    private func resumeWaiters() {
        while let waiter = waiters.removeFirst() {
            waiter.continuation.resume(returning: !isClosed)
        }
    }

    private func resumeExpiredWaiters() {
        let now = MonotonicTime.now
        while let waiter = waiters.first, waiter.deadline <= now {
            _ = waiters.removeFirst()
            waiter.continuation.resume(returning: false)
        }
        if let waiter = waiters.first { waitTimer?.schedule(after: waiter.deadline - now) }
    }
}
