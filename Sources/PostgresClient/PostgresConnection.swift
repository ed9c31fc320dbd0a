import CLibevent
import CLibpq
import EventLoop
import Glibc
import Logging

/// One connection to PostgreSQL in pipeline mode: many units of work are under way at once.
///
/// It lives on the thread of its event loop. A unit is what is between two Syncs: the server runs it as one
/// transaction, and one that fails leaves the others alone. Units that are handed over in one turn of the loop are
/// written together at its end.
public final class PostgresConnection {
    /// Beyond the statement time-out, the server may be silent this long before the connection counts as dead.
    private static let silenceMargin = Duration.seconds(5)

    private enum Sent {
        case preparation(PreparedStatement)
        case unit(PostgresUnit)
    }

    private let loop: EventLoop
    private let logger: Logger
    private let silenceLimit: Duration
    private var handle: OpaquePointer?
    private var readEvent: OpaquePointer?
    private var writeEvent: OpaquePointer?
    private var turnEndEvent: OpaquePointer?
    private var silenceTimer: EventLoopTimer?
    private var lastActivity = MonotonicTime.now
    private var turnEndIsScheduled = false
    private var waitsForWriting = false
    private var waiting = FirstInFirstOut<PostgresUnit>()
    private var sent = FirstInFirstOut<Sent>()
    private var prepared = PreparedStatements()
    private var parameters = ParameterBuffer()

    /// Called once, on the loop's thread, when the connection has ended by itself; not after ``close()``.
    var onLoss: (() -> Void)?

    /// How many units wait for their answer.
    public private(set) var unitsInFlight = 0

    // MARK: - Opening and closing

    /// Takes over the `PGconn` at the address `handle`.
    init(
        _ handle: UInt,
        on loop: EventLoop,
        logger: Logger,
        statementTimeout: Duration,
    ) throws(PostgresError) {
        loop.checkIsolated()
        self.loop = loop
        self.logger = logger
        self.handle = OpaquePointer(bitPattern: handle)
        self.silenceLimit = statementTimeout + PostgresConnection.silenceMargin
        let context = Unmanaged.passUnretained(self).toOpaque()
        let socket = PQsocket(self.handle)
        readEvent = event_new(loop.base, socket, Int16(EV_READ | EV_PERSIST), Self.onReadable, context)
        writeEvent = event_new(loop.base, socket, Int16(EV_WRITE), Self.onWritable, context)
        turnEndEvent = event_new(loop.base, -1, 0, Self.onTurnEnd, context)
        silenceTimer = EventLoopTimer(on: loop) { [weak self] in self?.checkSilence() }
        guard let readEvent, writeEvent != nil, turnEndEvent != nil, event_add(readEvent, nil) == 0 else {
            throw PostgresError(.notConnected, reason: "the event loop takes no more sockets")
        }
    }

    deinit {
        end(.connectionLost)
    }

    /// Whether units can be run.
    public var isOpen: Bool { handle != nil }

    /// Closes the connection. Who still waits gets `connectionLost`, or `notConnected` if nothing was sent.
    public func close() {
        onLoss = nil
        end(.connectionLost)
    }

    private func lose(_ kind: PostgresError.Kind, reason: String? = nil) {
        guard isOpen else { return }
        // A server that goes takes all connections with it.
        logger.lasting(
            .warning,
            "connection to PostgreSQL lost",
            ["units": .count(unitsInFlight), "reason": .string(reason ?? "closed by the peer or the network")],
        )
        end(kind, reason: reason)
        let onLoss = self.onLoss
        self.onLoss = nil
        onLoss?()
    }

    /// Resumes everyone who waits. Resuming only queues their jobs, so nobody runs before this has returned.
    private func end(_ kind: PostgresError.Kind, reason: String? = nil) {
        for event in [readEvent, writeEvent, turnEndEvent] {
            event.map { event_free($0) }
        }
        readEvent = nil
        writeEvent = nil
        turnEndEvent = nil
        silenceTimer = nil
        handle.map { PQfinish($0) }
        handle = nil
        while let element = sent.removeFirst() {
            guard case .unit(let unit) = element else { continue }
            unit.finish(unit.failure ?? PostgresError(kind, reason: reason))
        }
        while let unit = waiting.removeFirst() {
            unit.finish(PostgresError(.notConnected))
        }
        unitsInFlight = 0
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
    /// - Returns: the results, one for each statement, once the server has committed.
    /// - Throws: the first error; see ``PostgresError/outcomeIsUnknown``.
    public func run(_ unit: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
        let outcome = await withCheckedContinuation { enqueue(unit, waiter: $0) }
        return try outcome.get()
    }

    /// Takes `unit` in, or resumes `waiter` at once with why not. Synchronous: between a check in an async method and
    /// what follows it, other jobs of the loop may run and close the connection.
    ///
    /// - Parameter answerBy: until when the waiter waits; nil: as long as the connection does. The unit goes on.
    func enqueue(_ unit: [PostgresStatement], waiter: PostgresUnit.Waiter, answerBy: MonotonicTime? = nil) {
        if let refusal = unit.lazy.compactMap(\.refusal).first {
            waiter.resume(returning: .failure(PostgresError(refusal)))
        } else if !isOpen {
            waiter.resume(returning: .failure(PostgresError(.notConnected)))
        } else if unit.isEmpty {
            waiter.resume(returning: .success([]))
        } else {
            unitsInFlight += 1
            let unit = PostgresUnit(unit, waiter: waiter)
            if let answerBy { unit.waitNoLonger(than: answerBy, on: loop) }
            waiting.append(unit)
            scheduleTurnEnd()
        }
    }

    private func scheduleTurnEnd() {
        guard !turnEndIsScheduled, !waitsForWriting, let turnEndEvent else { return }
        turnEndIsScheduled = true
        event_active(turnEndEvent, Int32(EV_TIMEOUT), 0)
    }

    // MARK: - Sending

    /// Sends what waits, until the socket takes no more: what is not handed to libpq has surely not left.
    private func sendWaiting() {
        guard let handle else { return }
        // libpq 15 writes at every Sync. Corked, the kernel makes one packet of them all.
        let isCorked = waiting.count > 1
        if isCorked { setCork(true) }
        while !waitsForWriting, let unit = waiting.removeFirst() {
            if sent.isEmpty {
                lastActivity = .now
                silenceTimer?.schedule(after: silenceLimit)
            }
            guard send(unit, on: handle), flush(handle) else { return loseByLibpq() }
        }
        if isCorked { setCork(false) }
        // A flush that finds the socket full also reads, and then no event tells of what it has read.
        if waitsForWriting { receive() }
    }

    /// - Returns: false when libpq cannot go on.
    private func flush(_ handle: OpaquePointer) -> Bool {
        switch PQflush(handle) {
        case 0:
            waitsForWriting = false
        case 1:
            waitsForWriting = true
            if let writeEvent { event_add(writeEvent, nil) }
        default:
            return false
        }
        return true
    }

    private func send(_ unit: PostgresUnit, on handle: OpaquePointer) -> Bool {
        var isQueued = true
        for statement in unit.statements where isQueued {
            if case .constant(let text) = statement.text, prepared.find(text, statement.parameters) == nil {
                isQueued = prepare(text, statement.parameters, on: handle)
            }
        }
        // From here on the unit is in the list of what may have reached the server.
        sent.append(.unit(unit))
        for statement in unit.statements where isQueued {
            isQueued = send(statement, of: unit, on: handle)
        }
        return isQueued && PQpipelineSync(handle) == 1
    }

    /// A preparation has its own Sync: in the unit's it would be undone with it, and later units would miss it.
    private func prepare(
        _ text: StaticString,
        _ values: [PostgresParameter],
        on handle: OpaquePointer,
    ) -> Bool {
        let statement = prepared.add(text, values)
        sent.append(.preparation(statement))
        let types = statement.types.map(\.rawValue)
        let isSent = text.withUTF8Buffer { text in
            text.withMemoryRebound(to: CChar.self) { text in
                PQsendPrepare(handle, statement.name, text.baseAddress, Int32(clamping: types.count), types)
            }
        }
        return isSent == 1 && PQpipelineSync(handle) == 1
    }

    private func send(_ statement: PostgresStatement, of unit: PostgresUnit, on handle: OpaquePointer) -> Bool {
        parameters.encode(statement.parameters)
        switch statement.text {
        case .constant(let text):
            guard let prepared = prepared.find(text, statement.parameters) else { return false }
            unit.prepared.append(prepared)
            return parameters.withPointers { count, _, values, lengths, formats in
                PQsendQueryPrepared(handle, prepared.name, count, values, lengths, formats, 1) == 1
            }
        case .unsafe(let text):
            return parameters.withPointers { count, types, values, lengths, formats in
                PQsendQueryParams(handle, text, count, types, values, lengths, formats, 1) == 1
            }
        }
    }

    /// Has no effect on a socket that is not TCP.
    private func setCork(_ isCorked: Bool) {
        guard let handle else { return }
        var value: Int32 = isCorked ? 1 : 0
        setsockopt(PQsocket(handle), Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: - Receiving

    private func receive() {
        guard let handle else { return }
        lastActivity = .now
        let isAlive = PQconsumeInput(handle) == 1
        guard takeResults(from: handle), isAlive else { return loseByLibpq() }
        if sent.isEmpty { silenceTimer?.cancel() }
    }

    /// - Returns: false when the connection is of no use any more.
    private func takeResults(from handle: OpaquePointer) -> Bool {
        var missing = 0
        while let element = sent.first, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                // One null ends each statement's results. More in a row would mean that libpq expects nothing.
                missing += 1
                if missing > 2 { return false }
                continue
            }
            missing = 0
            if PQresultStatus(result) == PGRES_PIPELINE_SYNC {
                PQclear(result)
                _ = sent.removeFirst()
                if case .unit(let unit) = element { finish(unit) }
            } else if !take(result, for: element) {
                return false
            }
        }
        return PQstatus(handle) == CONNECTION_OK
    }

    private func take(_ result: OpaquePointer, for element: Sent) -> Bool {
        switch (PQresultStatus(result), element) {
        case (PGRES_TUPLES_OK, .unit(let unit)), (PGRES_COMMAND_OK, .unit(let unit)),
            (PGRES_EMPTY_QUERY, .unit(let unit)):
            unit.add(PostgresResult(result))
            return true
        case (PGRES_FATAL_ERROR, _):
            defer { PQclear(result) }
            let error = ServerError(result)
            if error.endsConnection {
                lose(.connectionLost, reason: error.error.reason)
                return false
            }
            switch element {
            case .unit(let unit):
                unit.fail(error)
            case .preparation(let statement):
                statement.failure = error.error
                prepared.forget(statement)
            }
            return true
        case (PGRES_COMMAND_OK, .preparation), (PGRES_PIPELINE_ABORTED, _):
            PQclear(result)
            return true
        default:
            // COPY, which this module has no use for, and which would hold up all that follows.
            PQclear(result)
            lose(.connectionLost, reason: "a statement began a COPY")
            return false
        }
    }

    private func finish(_ unit: PostgresUnit) {
        if unit.preparedStatementIsStale {
            unit.prepared.forEach { prepared.forget($0) }
            if !unit.isRepeat {
                unit.prepareRepeat()
                waiting.append(unit)
                return scheduleTurnEnd()
            }
        }
        unitsInFlight -= 1
        unit.finish()
    }

    private func loseByLibpq() {
        lose(.connectionLost)
    }

    private func checkSilence() {
        // After a stall of this thread the answer may be here, unread.
        let last = lastActivity
        guard let handle, PQconsumeInput(handle) == 1, takeResults(from: handle) else { return loseByLibpq() }
        guard !sent.isEmpty else { return }
        let silence = MonotonicTime.now - last
        if silence >= silenceLimit {
            lose(.timeout, reason: "no answer in time")
        } else {
            silenceTimer?.schedule(after: silenceLimit - silence)
        }
    }

    // MARK: - Events

    private typealias Callback = @convention(c) (Int32, Int16, UnsafeMutableRawPointer?) -> Void

    private static let onReadable: Callback = { _, _, context in
        with(context) { $0.receive() }
    }

    private static let onWritable: Callback = { _, _, context in
        with(context) { connection in
            guard let handle = connection.handle else { return }
            guard connection.flush(handle) else { return connection.loseByLibpq() }
            connection.sendWaiting()
        }
    }

    private static let onTurnEnd: Callback = { _, _, context in
        with(context) { connection in
            connection.turnEndIsScheduled = false
            connection.sendWaiting()
        }
    }

    /// Keeps the connection alive during the call: the pool drops it in `onLoss`.
    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (PostgresConnection) -> Void) {
        guard let context else { return }
        let connection = Unmanaged<PostgresConnection>.fromOpaque(context).takeUnretainedValue()
        withExtendedLifetime(connection) { body(connection) }
    }
}
