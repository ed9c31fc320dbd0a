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
    /// - Parameter statementTimeout: the server cancels a statement that takes longer.
    static func run<Answer: Sendable>(
        _ url: String,
        statementTimeout: Duration = .seconds(30),
        _ body: @Sendable (isolated DatabaseSession, PostgresConnection) async throws -> Answer,
    ) async throws -> Answer {
        let session = try DatabaseSession()
        defer { session.loop.stop() }
        do {
            return try await session.withConnection(url, statementTimeout, body)
        } catch let error as PostgresError {
            throw CommandFailure("PostgreSQL: \(error)")
        }
    }

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
        return try await body(self, connection)
    }
}
