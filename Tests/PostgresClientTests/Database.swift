import EventLoop
import Logging
import PostgresClient
import TestSupport
import Testing

/// A database on the shared private server, and a lane to reach it from.
struct Database {
    let server: PrivatePostgres
    let url: String
    let lane: LoopActor

    static let silent = Logger(minimumLevel: .error)

    /// - Parameter isFresh: false for a test that leaves nothing behind and needs no database of its own.
    init(isFresh: Bool = true) async throws {
        lane = try LoopActor()
        // On the lane's thread: `psql` blocks, and the threads that all tests share are few.
        (server, url) = try await lane.run { _ in
            let server = try PrivatePostgres.shared()
            return (server, isFresh ? try server.makeDatabase() : server.url)
        }
    }

    /// Opens a connection on the lane's loop, hands it to `body`, and closes it.
    func connect<Result: Sendable>(
        _ body: @Sendable (isolated LoopActor, PostgresConnection) async throws -> Result
    ) async throws -> Result {
        defer { lane.stop() }
        return try await lane.run { [url] lane in
            let connection = try await PostgresConnection.open(url, on: lane.loop, logger: Database.silent)
            defer { connection.close() }
            return try await body(lane, connection)
        }
    }

    func psql(_ sql: String) throws -> String {
        try server.psql(sql, database: url)
    }
}

typealias Outcome = Result<[PostgresResult], PostgresError>

/// Hands a unit over without waiting for its answer.
func submit(
    _ unit: [PostgresStatement],
    to connection: PostgresConnection,
    isolation: isolated any Actor = #isolation,
) -> Task<Outcome, Never> {
    Task {
        _ = isolation
        do throws(PostgresError) {
            return .success(try await connection.run(unit))
        } catch {
            return .failure(error)
        }
    }
}

/// Hands units over, one after another, without waiting for their answers.
func submit(
    all units: [[PostgresStatement]],
    to connection: PostgresConnection,
    isolation: isolated any Actor = #isolation,
) -> [Task<Outcome, Never>] {
    var tasks: [Task<Outcome, Never>] = []
    for unit in units {
        tasks.append(submit(unit, to: connection, isolation: isolation))
    }
    return tasks
}

extension Outcome {
    var error: PostgresError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
