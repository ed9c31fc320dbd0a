import CLibpq
import EventLoop

/// Statements between two Syncs, all or nothing, and who waits for them.
final class PostgresUnit {
    typealias Waiter = CheckedContinuation<Result<[PostgresResult], PostgresError>, Never>

    let statements: [PostgresStatement]
    /// What the statements were sent by name of, to be forgotten when the server does not know one of them.
    var prepared: [PreparedStatement] = []
    var isRepeat = false
    private(set) var failure: PostgresError?
    private(set) var preparedStatementIsStale = false
    private var results: [PostgresResult] = []
    private var waiter: Waiter?
    private var patience: EventLoopTimer?

    init(_ statements: [PostgresStatement], waiter: Waiter) {
        self.statements = statements
        self.waiter = waiter
    }

    /// Lets the waiter go with `timeout` at `time`; what becomes of the unit then is told to nobody.
    func waitNoLonger(than time: MonotonicTime, on loop: EventLoop) {
        let timer = EventLoopTimer(on: loop) { [weak self] in self?.finish(PostgresError(.timeout)) }
        timer.schedule(after: time - .now)
        patience = timer
    }

    func add(_ result: PostgresResult) {
        results.append(result)
    }

    /// Notes the first error of the unit; those that follow it are consequences.
    func fail(_ error: ServerError) {
        guard failure == nil else { return }
        let refusedPreparation = prepared.lazy.compactMap(\.failure).first
        failure = refusedPreparation ?? error.error
        preparedStatementIsStale = error.preparedStatementIsStale && refusedPreparation == nil && !prepared.isEmpty
    }

    /// Makes the unit as new, for its second and last try. Nothing of the first was stored, since it failed.
    func prepareRepeat() {
        isRepeat = true
        failure = nil
        preparedStatementIsStale = false
        results.removeAll()
        prepared.removeAll()
    }

    /// To be called at the unit's own Sync, which alone says that it is committed.
    func finish() {
        if let failure {
            finish(failure)
        } else if results.count == statements.count {
            waiter?.resume(returning: .success(results))
            waiter = nil
            patience = nil
        } else {
            finish(PostgresError(.unexpectedResult(column: "(number of results)")))
        }
    }

    func finish(_ error: PostgresError) {
        waiter?.resume(returning: .failure(error))
        waiter = nil
        patience = nil
    }
}

/// An error the server reported, with what this module must know of it.
struct ServerError {
    let error: PostgresError
    /// The server, or libpq, ends the connection with this. It says nothing about the unit: a session can be
    /// terminated after a commit and before its answer.
    let endsConnection: Bool
    /// The unit failed because a prepared statement is gone (`DISCARD`, `DEALLOCATE`) or returns other columns than when
    /// it was prepared (a schema change). To prepare again helps.
    let preparedStatementIsStale: Bool

    init(_ result: OpaquePointer) {
        func field(_ code: Character) -> String? {
            guard let ascii = code.asciiValue, let text = PQresultErrorField(result, Int32(ascii)) else { return nil }
            return String(cString: text)
        }
        let sqlState = field("C")
        let severity = field("V")
        self.endsConnection = sqlState == nil || severity == "FATAL" || severity == "PANIC"
        // "cached plan must not change result type" shares its code with other errors, and its words are translated.
        let isChangedPlan = sqlState == "0A000" && field("R") == "RevalidateCachedQuery"
        self.preparedStatementIsStale = sqlState == "26000" || isChangedPlan
        // In these classes the primary message names parts of the SQL text or of the server, never a value.
        let isWithoutData = sqlState.map { $0.hasPrefix("42") || $0.hasPrefix("53") || $0.hasPrefix("57") } ?? false
        self.error = PostgresError(
            endsConnection ? .connectionLost : .server(sqlState: sqlState ?? ""),
            constraint: field("n"),
            table: field("t"),
            column: field("c"),
            reason: isWithoutData ? field("M") : nil,
        )
    }
}
