import EventLoop
import Logging
import PostgresClient

/// One connection for the length of a command, on a loop of its own.
actor DatabaseSession {
    private nonisolated let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init() throws(EventLoopError) {
        self.loop = try EventLoop()
        loop.runInNewThread(name: "database")
    }

    /// Connects, runs `body` and disconnects.
    ///
    /// - Parameters:
    ///   - statementTimeout: the server cancels a statement that takes longer.
    ///   - needsSchema: whether all that this release's `livepush migrate` makes must be there.
    static func run<Answer: Sendable>(
        _ url: String,
        statementTimeout: Duration = .seconds(30),
        needsSchema: Bool = true,
        _ body: @Sendable (isolated DatabaseSession, PostgresConnection) async throws -> Answer,
    ) async throws -> Answer {
        let session = try DatabaseSession()
        defer { session.loop.stop() }
        do {
            return try await session.withConnection(url, statementTimeout, needsSchema: needsSchema, body)
        } catch let error as PostgresError {
            // read_only_sql_transaction
            guard error.sqlState != "25006" else { throw CommandFailure("PostgreSQL \(refusesWrites)") }
            throw CommandFailure("PostgreSQL: \(error)")
        }
    }

    /// What is wrong with a server that only reads, and what to do.
    static let refusesWrites = """
        refuses writes: it is a standby, or default_transaction_read_only is on for the server, the database or this user; \
        give the address of the primary, or switch that off
        """

    /// A pool of one connection on the session's loop, to be closed before the session ends: for what a gateway's parts do
    /// in a command.
    func openPool(_ url: String, logger: Logger) -> PostgresPool {
        let pool = PostgresPool(
            url: url,
            connections: 1,
            on: loop,
            logger: logger,
            connectionWait: .seconds(10),
            applicationName: "livepush command",
        )
        pool.start()
        return pool
    }

    private func withConnection<Answer: Sendable>(
        _ url: String,
        _ statementTimeout: Duration,
        needsSchema: Bool,
        _ body: @Sendable (isolated DatabaseSession, PostgresConnection) async throws -> Answer,
    ) async throws -> Answer {
        let connection = try await PostgresConnection.open(
            url,
            on: loop,
            logger: Logger(minimumLevel: .error),
            statementTimeout: statementTimeout,
            applicationName: "livepush command",
        )
        defer { connection.close() }
        if needsSchema, let missing = try await SchemaMigration.applied(in: connection).missing.first {
            throw CommandFailure("the database lacks \(missing.name); run: livepush migrate")
        }
        return try await body(self, connection)
    }
}
