import Glibc
import TestSupport
import Testing

/// A database with old partitions, for one test of `livepush retention`.
struct RetentionDatabase {
    let url: String
    private let postgres: PrivatePostgres

    /// - Parameter days: how many days ago; each gets its two partitions, with a message and a delivery in them.
    init(days: [Int]) throws {
        postgres = try PrivatePostgres.shared()
        url = try postgres.makeDatabase()
        let migration = try ChildProcess.run(Paths.livepush, ["migrate", "--database-url", url])
        guard migration.status == 0 else { throw ChildProcess.Failure(migration.errors) }
        for day in days {
            try addPartitions(of: day)
            try addMessage(of: day)
        }
    }

    // MARK: - The command

    /// Runs `livepush retention`.
    func retention(_ flags: String...) throws -> ChildProcess.Outcome {
        try ChildProcess.run(Paths.livepush, arguments(flags))
    }

    /// Starts `livepush retention`.
    func startRetention(_ flags: String...) throws -> RunningProgram {
        try RunningProgram(Paths.livepush, arguments(flags))
    }

    private func arguments(_ flags: [String]) -> [String] {
        ["retention", "--database-url", url] + flags
    }

    // MARK: - SQL

    @discardableResult
    func sql(_ text: String) throws -> String {
        try postgres.psql(text, database: url)
    }

    /// A session that has run `text` and goes on.
    func session(_ text: String) throws -> RunningProgram {
        let session = try RunningProgram("psql", ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", url])
        try session.write(text + "\n\\echo ready\n")
        guard eventually(within: 10, { session.output.contains("ready") || session.status != nil }),
            session.status == nil
        else {
            throw ChildProcess.Failure("psql: \(session.errors)")
        }
        return session
    }

    /// The tables of messages and deliveries of days that are over, partitions or not.
    func oldTables() throws -> [String] {
        try sql(
            """
            SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^(message|delivery)_[0-9]{8}$'
                AND right(relname, 8) < to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')
                AND right(relname, 8) <> '\(digits(1))'
            ORDER BY right(relname, 8), relname DESC
            """
        ).split(separator: "\n").map(String.init)
    }

    // MARK: - Days

    /// Such as `20260131`.
    func digits(_ daysAgo: Int) throws -> String { try day(daysAgo, "YYYYMMDD") }

    /// Such as `2026-01-31`.
    func date(_ daysAgo: Int) throws -> String { try day(daysAgo, "YYYY-MM-DD") }

    private func day(_ daysAgo: Int, _ format: String) throws -> String {
        try sql("SELECT to_char((now() AT TIME ZONE 'UTC')::date - \(daysAgo), '\(format)')")
    }

    private func addPartitions(of day: Int) throws {
        for parent in ["message", "delivery"] {
            try sql(
                """
                SET timezone = 'UTC';
                CREATE TABLE \(parent)_\(digits(day)) (LIKE \(parent) INCLUDING ALL);
                ALTER TABLE \(parent) ATTACH PARTITION \(parent)_\(digits(day))
                    FOR VALUES FROM ('\(date(day))') TO ('\(date(day - 1))');
                """
            )
        }
    }

    /// A message that was accepted at noon of that day, with its delivery.
    func addMessage(of day: Int) throws {
        try sql(Self.message("'\(date(day)) 12:00+00'"))
    }

    static func message(_ acceptedAt: String) -> String {
        """
        INSERT INTO message (accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, recipients)
            VALUES (\(acceptedAt), 1, 'tencent', 'sendmsg', 'key', 'shop', 1);
        INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, route, route_reason, fallback, outcome, attempts)
            VALUES (currval('message_id'), \(acceptedAt), 1, 'alice', 'none', 'no_device', false, 'nothing_to_send', 0);
        """
    }
}
