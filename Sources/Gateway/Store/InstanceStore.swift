import PostgresClient

/// The SQL of instances: heartbeat, takeover, partitions.
final class InstanceStore {
    private let pool: PostgresPool

    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Registers a new instance.
    ///
    /// - Parameter host: for people: host name and process id.
    func register(host: String) async throws(PostgresError) -> Int64 {
        let result = try await pool.run(
            PostgresStatement("INSERT INTO instance (host) VALUES ($1::text) RETURNING id", [.text(host)])
        )
        return try result.rows.first?.integer(0) ?? 0
    }

    /// What a heartbeat brings back.
    struct Heartbeat: Sendable {
        /// Whether this instance's row was still there.
        var isKnown: Bool
        /// Heartbeat counters of all other instances.
        var others: [Int64: Int64]
        /// PostgreSQL's clock.
        var time: UnixTime
    }

    /// Increases this instance's counter and reads those of the others.
    func heartbeat(of id: Int64) async throws(PostgresError) -> Heartbeat {
        let results = try await pool.run([
            PostgresStatement(
                """
                UPDATE instance SET heartbeat = heartbeat + 1, heartbeat_at = clock_timestamp() WHERE id = $1::bigint
                """,
                [.integer(id)],
            ),
            PostgresStatement("SELECT id, heartbeat FROM instance WHERE id <> $1::bigint", [.integer(id)]),
            PostgresStatement("SELECT clock_timestamp()"),
        ])
        var others: [Int64: Int64] = [:]
        for row in results[1].rows {
            others[try row.integer(0)] = try row.integer(1)
        }
        let time = try results[2].rows.first?.timestampMicroseconds(0) ?? 0
        return Heartbeat(
            isKnown: results[0].affectedRows == 1,
            others: others,
            time: UnixTime(microseconds: time),
        )
    }

    /// Takes the work of a dead instance from it, once whoever tries.
    ///
    /// A row counts as alone in the dead instance where no other had lost an instance before: those are suspects and
    /// were taken up a few at a time, so what was owned was begun.
    ///
    /// - Returns: how many rows were freed; nil if another instance was first.
    func takeOver(_ id: Int64) async throws(PostgresError) -> Int64? {
        let result = try await pool.run(
            PostgresStatement(
                """
                WITH dead AS (
                    DELETE FROM instance WHERE id = $1::bigint RETURNING id
                ), freed AS (
                    UPDATE pending SET instance_id = NULL, takeovers = takeovers + 1, reason = 'taken_over',
                        lone_takeovers = CASE WHEN takeovers = 0 THEN 0
                            WHEN suspects.number = 1 THEN lone_takeovers + 1 ELSE lone_takeovers END
                    FROM dead, (
                        SELECT count(*) AS number FROM pending WHERE instance_id = $1::bigint AND takeovers > 0
                    ) AS suspects
                    WHERE pending.instance_id = dead.id
                    RETURNING 1
                )
                SELECT (SELECT count(*) FROM dead), (SELECT count(*) FROM freed)
                """,
                [.integer(id)],
            )
        )
        guard let row = result.rows.first, try row.integer(0) == 1 else { return nil }
        return try row.integer(1)
    }

    /// Frees rows whose instance is not registered at all: left by a takeover that saw only part of them.
    func releaseOrphans() async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                UPDATE pending SET instance_id = NULL, takeovers = takeovers + 1, reason = 'taken_over'
                WHERE instance_id IS NOT NULL AND NOT EXISTS (SELECT FROM instance WHERE id = pending.instance_id)
                """
            )
        )
    }

    /// Forgets requests that were accepted too long ago to be repeated. Rows that another transaction holds are left for
    /// the next time.
    ///
    /// - Parameter limit: at most so many.
    /// - Returns: how many were forgotten.
    func forgetRequests(limit: Int64) async throws(PostgresError) -> Int64 {
        let result = try await pool.run(
            PostgresStatement(
                """
                DELETE FROM recent_request WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM recent_request WHERE accepted_at <= now() - interval '120 seconds'
                    LIMIT $1::bigint FOR UPDATE SKIP LOCKED))
                """,
                [.integer(limit)],
            )
        )
        return Int64(result.affectedRows)
    }

    /// Makes messages of those whose time has come. What another gateway is at is left to it.
    ///
    /// - Parameter limit: at most so many.
    /// - Returns: how many there were.
    func releaseScheduled(limit: Int64) async throws(PostgresError) -> Int64 {
        let result = try await pool.run(PostgresStatement("SELECT release_scheduled($1::bigint)", [.integer(limit)]))
        return try result.rows.first?.integer(0) ?? 0
    }

    /// Makes the day partitions of the next week.
    func createPartitions() async throws(PostgresError) {
        _ = try await pool.run(PostgresStatement("SELECT create_partitions(7)"))
    }
}
