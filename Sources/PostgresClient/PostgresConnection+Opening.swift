public import EventLoop
public import Logging

extension PostgresConnection {
    /// Connects and logs in, on a thread of its own, then serves the connection on `loop`.
    ///
    /// - Parameters:
    ///   - url: a PostgreSQL URL or conninfo string. Its settings win over the ones made here, except that the
    ///     encoding is always UTF-8.
    ///   - loop: the loop of the caller's actor.
    ///   - connectTimeout: for each address of the host; whole seconds, at least 2.
    ///   - statementTimeout: the server cancels a statement that takes longer (SQLSTATE 57014). When the server says
    ///     nothing for 5 s more, the connection is closed (`timeout`).
    ///   - applicationName: what `pg_stat_activity` shows.
    /// - Throws: `notConnected` with the reason.
    public static func open(
        _ url: String,
        on loop: EventLoop,
        logger: Logger,
        connectTimeout: Duration = .seconds(10),
        statementTimeout: Duration = .seconds(30),
        applicationName: String = "livepush",
    ) async throws(PostgresError) -> PostgresConnection {
        let login = PostgresLogin(
            url: url,
            connectTimeout: connectTimeout,
            statementTimeout: statementTimeout,
            applicationName: applicationName,
        )
        return try await open(login, on: loop, logger: logger)
    }

    static func open(
        _ login: PostgresLogin,
        on loop: EventLoop,
        logger: Logger,
    ) async throws(PostgresError) -> PostgresConnection {
        let handle = try await login.open().get()
        return try PostgresConnection(handle, on: loop, logger: logger, statementTimeout: login.statementTimeout)
    }

    /// Runs a script of many statements, such as a schema migration, in one transaction on a connection of its own.
    ///
    /// - Parameters:
    ///   - script: SQL without parameters; nothing a user sent may be in it.
    ///   - url: as for ``open(_:on:logger:connectTimeout:statementTimeout:applicationName:)``.
    ///   - statementTimeout: for the whole script.
    public static func run(
        script: String,
        url: String,
        connectTimeout: Duration = .seconds(10),
        statementTimeout: Duration = .seconds(600),
        applicationName: String = "livepush",
    ) async throws(PostgresError) {
        let login = PostgresLogin(
            url: url,
            connectTimeout: connectTimeout,
            statementTimeout: statementTimeout,
            applicationName: applicationName,
        )
        try await login.run(script: script).get()
    }
}
