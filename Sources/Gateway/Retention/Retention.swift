public import PostgresClient

/// Takes what is old out of the database: whole days of messages and deliveries, and rows of tables without partitions.
///
/// A partition goes by DETACH CONCURRENTLY and then DROP. A plain DROP would lock the parent against every reader and
/// writer, and wait for the slowest of them while all others wait behind it.
public final class Retention {
    /// What is old, and how long to wait for others.
    public struct Configuration: Sendable {
        /// Days that stay, beside today. At least 1: yesterday's partition is still written to.
        public var days: Int64
        /// How long one reader may hold up a partition.
        public var lockTimeout: Duration
        /// Only says what would be done.
        public var isDryRun: Bool

        /// Makes a configuration.
        public init(days: Int64, lockTimeout: Duration, isDryRun: Bool) {
            self.days = max(1, days)
            self.lockTimeout = lockTimeout
            self.isDryRun = isDryRun
        }
    }

    /// Another run is under way.
    public struct AlreadyRunning: Error, CustomStringConvertible {
        /// Says so.
        public let description = "another `livepush retention` is under way in this database"
    }

    /// Held by the session for the length of a run. A second run must not wait for it: its statement's snapshot would be
    /// one that FINALIZE waits for.
    private static let lock: Int64 = 5_065_287_241_953_030
    private static let rowsPerTransaction: Int64 = 10_000
    private static let lookInterval: Duration = .milliseconds(100)

    private let configuration: Configuration
    private let connection: PostgresConnection
    private let report: (RetentionEvent) -> Void
    /// When each transaction was first seen in the way: a reader holds up a run once, not once for each day.
    private var firstSeen: [String: ContinuousClock.Instant] = [:]
    /// The partition of each parent whose detach is not finished.
    private var unfinished: [String: String] = [:]

    /// - Parameters:
    ///   - connection: one that nothing else uses. Its statement time-out must be well above the lock time-out.
    ///   - report: called for each thing that was done or could not be.
    public init(
        _ configuration: Configuration,
        in connection: PostgresConnection,
        report: @escaping (RetentionEvent) -> Void,
    ) {
        self.configuration = configuration
        self.connection = connection
        self.report = report
    }

    /// Runs once.
    ///
    /// - Throws: ``AlreadyRunning`` or `PostgresError`; what was reported before is done.
    public func run() async throws {
        let locked = try await connection.run([
            PostgresStatement(
                "SELECT set_config('lock_timeout', $1::text, false)",
                [.text("\(configuration.lockTimeout / .milliseconds(1))ms")],
            ),
            PostgresStatement("SELECT pg_try_advisory_lock($1::bigint)", [.integer(Retention.lock)]),
        ])
        guard try locked[1].rows.first?.boolean(0) == true else { throw AlreadyRunning() }
        var tables = try await oldTables()
        // First of all, whatever day they are of: while one is unfinished its parent can detach no other.
        for index in tables.indices where tables[index].state == .detachPending && !configuration.isDryRun {
            if try await detach(tables[index]) { tables[index].state = .detached }
        }
        for day in PartitionDay.days(of: tables) {
            try await handle(day)
        }
        for table in AgedTable.all {
            try await age(table)
        }
    }

    // MARK: - Days

    /// Partitions of days that are over, and tables that a former run detached and did not drop: they have a partition's
    /// name and columns, are attached to nothing, and belong to us.
    private func oldTables() async throws(PostgresError) -> [PartitionDay.Table] {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT parent.relname::text, child.relname::text,
                    CASE WHEN inherits.inhrelid IS NULL THEN 'detached'
                        WHEN inherits.inhdetachpending THEN 'pending' ELSE 'attached' END
                FROM pg_class AS parent
                JOIN pg_class AS child ON child.relnamespace = parent.relnamespace AND child.relkind = 'r'
                    AND child.relname ~ ('^' || parent.relname || '_[0-9]{8}$')
                LEFT JOIN pg_inherits AS inherits ON inherits.inhrelid = child.oid
                WHERE parent.relnamespace = 'public'::regnamespace AND parent.relkind = 'p'
                    AND parent.relname IN ('message', 'delivery')
                    AND right(child.relname, 8)
                        < to_char((now() AT TIME ZONE 'UTC')::date - $1::bigint::integer, 'YYYYMMDD')
                    AND (inherits.inhparent = parent.oid
                        OR inherits.inhrelid IS NULL AND pg_has_role(child.relowner, 'USAGE') AND NOT EXISTS (
                            SELECT FROM unnest(CASE parent.relname
                                    WHEN 'message' THEN '{id,accepted_at,sdk_app_id,msg_key,sender}'::text[]
                                    ELSE '{message_id,accepted_at,sdk_app_id,account,outcome}'::text[] END) AS needed (name)
                            WHERE NOT EXISTS (
                                SELECT FROM pg_attribute
                                WHERE attrelid = child.oid AND attname = needed.name AND attnum > 0)))
                ORDER BY parent.relname DESC, child.relname
                """,
                [.integer(configuration.days)],
            )
        )
        var tables: [PartitionDay.Table] = []
        for row in result.rows {
            guard let state = PartitionDay.State(rawValue: try row.text(2)) else { continue }
            tables.append(PartitionDay.Table(parent: try row.text(0), name: try row.text(1), state: state))
        }
        return tables
    }

    private func handle(_ day: PartitionDay) async throws {
        if try await isKept(day) { return }
        if configuration.isDryRun {
            return report(.dropped(day: day.date, tables: day.tables.map(\.name)))
        }
        for table in day.tables where table.state != .detached {
            if let other = unfinished[table.parent] {
                return report(.postponed(day: day.date, reason: "\(other) could not be detached in time"))
            }
        }
        if let reader = try await readerInTheWay(of: day) {
            return report(.postponed(day: day.date, reason: "process \(reader) has it open in a transaction"))
        }
        // A second look, now that whoever wrote to the day has ended.
        if try await isKept(day) { return }
        for table in day.tables {
            guard try await detach(table) else {
                return report(.postponed(day: day.date, reason: "\(table.name) could not be detached in time"))
            }
        }
        let names = day.tables.map { "public.\($0.name)" }.joined(separator: ", ")
        guard try await runInTime("DROP TABLE \(names)") else {
            return report(.postponed(day: day.date, reason: "it is detached, and somebody reads it"))
        }
        report(.dropped(day: day.date, tables: day.tables.map(\.name)))
    }

    /// Whether work of the day is left, which is reported.
    ///
    /// Once none is found none can come. A row of `pending` carries the accept time of its message, and is made either by
    /// the accept, whose transaction begins at that time and writes to the day's partition of `message`, so that it was
    /// waited for; or in place of another row of the same message, in one transaction, so that every snapshot sees one of
    /// the two until the last row of the message goes for good.
    private func isKept(_ day: PartitionDay) async throws(PostgresError) -> Bool {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT count(DISTINCT message_id) FROM pending
                WHERE to_char(accepted_at AT TIME ZONE 'UTC', 'YYYYMMDD') = $1::text
                """,
                [.text(day.digits)],
            )
        )
        let messages = try result.rows.first?.integer(0) ?? 0
        guard messages > 0 else { return false }
        report(.kept(day: day.date, messages: messages))
        return true
    }

    /// Waits for transactions that hold a lock on the day's tables or their parents now; those that come later do not
    /// matter to DETACH CONCURRENTLY. It would wait for them too, but if it gives up, the detach is left half done and no
    /// other day can be detached. Waiting here queues for no lock, so nobody waits behind it.
    ///
    /// - Returns: the process id of one that takes longer than the lock time-out.
    private func readerInTheWay(of day: PartitionDay) async throws -> String? {
        let names = Set(day.tables.map(\.name) + day.tables.filter { $0.state == .attached }.map(\.parent)).sorted()
        var awaited: Set<String>?
        while true {
            let holders = try await holders(of: names)
            let left = awaited?.intersection(holders.keys) ?? Set(holders.keys)
            awaited = left
            guard !left.isEmpty else { return nil }
            let now = ContinuousClock.now
            for transaction in left.sorted() {
                let since = firstSeen[transaction] ?? now
                firstSeen[transaction] = since
                if now - since >= configuration.lockTimeout { return holders[transaction] ?? "" }
            }
            try await Task.sleep(for: Retention.lookInterval)
        }
    }

    /// Transactions that hold a lock on one of the tables, with the process of each. Not autovacuum, which gives way.
    private func holders(of names: [String]) async throws(PostgresError) -> [String: String] {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT held.virtualtransaction, coalesce(held.pid::text, 'of a prepared transaction')
                FROM pg_locks AS held
                JOIN pg_class AS class ON class.oid = held.relation
                LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid
                WHERE held.locktype = 'relation' AND held.granted AND held.pid IS DISTINCT FROM pg_backend_pid()
                    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND class.relnamespace = 'public'::regnamespace AND class.relname = ANY($1::text[])
                    AND activity.backend_type IS DISTINCT FROM 'autovacuum worker'
                """,
                [.texts(names)],
            )
        )
        var holders: [String: String] = [:]
        for row in result.rows {
            holders[try row.text(0)] = try row.text(1)
        }
        return holders
    }

    /// - Returns: false if it was not finished in time.
    private func detach(_ table: PartitionDay.Table) async throws(PostgresError) -> Bool {
        let how: String
        switch table.state {
        case .detached: return true
        case .attached: how = "CONCURRENTLY"
        case .detachPending: how = "FINALIZE"
        }
        // Neither can run in a transaction with another statement, nor in a function.
        let isDone = try await runInTime(
            "ALTER TABLE public.\(table.parent) DETACH PARTITION public.\(table.name) \(how)"
        )
        if !isDone { unfinished[table.parent] = table.name }
        return isDone
    }

    /// - Returns: false where it gave up waiting for a lock.
    private func runInTime(_ sql: String) async throws(PostgresError) -> Bool {
        do throws(PostgresError) {
            _ = try await connection.run(PostgresStatement(unsafeText: sql))
            return true
        } catch {
            guard ["55P03", "40P01"].contains(error.sqlState) else { throw error }
            return false
        }
    }

    // MARK: - Rows

    private func age(_ table: AgedTable) async throws(PostgresError) {
        let exists = try await connection.run(
            PostgresStatement("SELECT to_regclass('public.' || $1::text) IS NOT NULL", [.text("\(table.name)")])
        )
        guard try exists.rows.first?.boolean(0) == true else { return }
        let days = PostgresParameter.integer(configuration.days)
        var rows: Int64 = 0
        if configuration.isDryRun {
            let count = "SELECT count(*) FROM \(table.name) WHERE \(table.condition) AND $1::bigint > 0"
            rows = try await connection.run(PostgresStatement(unsafeText: count, [days])).rows.first?.integer(0) ?? 0
        } else {
            // In pieces, past rows that somebody else has locked: a gateway that needs one never waits long.
            let delete = """
                DELETE FROM \(table.name) WHERE ctid = ANY(ARRAY(
                    SELECT ctid FROM \(table.name) WHERE \(table.condition) AND $1::bigint > 0
                    LIMIT $2::bigint FOR UPDATE SKIP LOCKED))
                """
            var deleted: Int
            repeat {
                let parameters = [days, .integer(Retention.rowsPerTransaction)]
                deleted = try await connection.run(PostgresStatement(unsafeText: delete, parameters)).affectedRows
                rows += Int64(deleted)
            } while deleted == Int(Retention.rowsPerTransaction)
        }
        if rows > 0 { report(.deleted(rows: rows, table: "\(table.name)")) }
    }
}
