import PostgresClient

extension DeliveryStore {
    /// A pending row that this instance took up.
    struct DueWork: Sendable {
        var receipt: AcceptedMessage
        /// nil: the whole message.
        var account: String?
        var deadline: UnixTime
        var takeovers: Int64
        /// The message's order as stored.
        var content: [UInt8]
        /// The recipient's progress as stored.
        var progress: [UInt8]?
    }

    /// Takes up rows that are due and owned by nobody, oldest first.
    ///
    /// - Parameters:
    ///   - limit: at most so many rows.
    ///   - suspects: rows whose instances died with them twice or more, instead of the others.
    func takeDue(owner: Int64, limit: Int64, suspects: Bool) async throws(PostgresError) -> [DueWork] {
        let parameters: [PostgresParameter] = [.integer(owner), .integer(limit)]
        // Two texts rather than one with a parameter: only then does the planner see that no row can be a suspect.
        let result = try await pool.run(
            suspects
                ? PostgresStatement(
                    """
                    WITH due AS (
                        SELECT ctid FROM pending WHERE instance_id IS NULL AND due <= now() AND takeovers > 1
                        ORDER BY due LIMIT $2::bigint FOR UPDATE SKIP LOCKED
                    ), taken AS (
                        UPDATE pending SET instance_id = $1::bigint FROM due WHERE pending.ctid = due.ctid
                        RETURNING pending.*
                    )
                    SELECT message_id, accepted_at, account, deadline, takeovers::bigint,
                        coalesce(content, (SELECT whole.content FROM pending AS whole
                            WHERE whole.account IS NULL AND whole.message_id = taken.message_id)), progress
                    FROM taken ORDER BY message_id
                    """,
                    parameters,
                )
                : PostgresStatement(
                    """
                    WITH due AS (
                        SELECT ctid FROM pending WHERE instance_id IS NULL AND due <= now() AND takeovers <= 1
                        ORDER BY due LIMIT $2::bigint FOR UPDATE SKIP LOCKED
                    ), taken AS (
                        UPDATE pending SET instance_id = $1::bigint FROM due WHERE pending.ctid = due.ctid
                        RETURNING pending.*
                    )
                    SELECT message_id, accepted_at, account, deadline, takeovers::bigint,
                        coalesce(content, (SELECT whole.content FROM pending AS whole
                            WHERE whole.account IS NULL AND whole.message_id = taken.message_id)), progress
                    FROM taken ORDER BY message_id
                    """,
                    parameters,
                )
        )
        var work: [DueWork] = []
        for row in result.rows {
            work.append(
                DueWork(
                    receipt: AcceptedMessage(
                        id: try row.integer(0),
                        acceptedAt: UnixTime(microseconds: try row.timestampMicroseconds(1)),
                    ),
                    account: try row.textOrNil(2),
                    deadline: UnixTime(microseconds: try row.timestampMicroseconds(3)),
                    takeovers: try row.integer(4),
                    content: try row.bytesOrNil(5) ?? [],
                    progress: try row.bytesOrNil(6),
                )
            )
        }
        return work
    }

    /// The recipients of a message that need nothing more from its whole row: they have delivery rows, or a pending row
    /// of their own.
    func recipientsSettled(of receipt: AcceptedMessage) async throws(PostgresError) -> AccountSet {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT account FROM delivery WHERE message_id = $1::bigint AND accepted_at = $2::timestamptz
                UNION
                SELECT account FROM pending WHERE message_id = $1::bigint AND account IS NOT NULL
                """,
                [.integer(receipt.id), .timestamp(microsecondsSinceUnixEpoch: receipt.acceptedAt.microseconds)],
            )
        )
        var accounts: AccountSet = []
        for row in result.rows {
            accounts.insert(try row.text(0))
        }
        return accounts
    }

    /// Puts rows that cannot be read by this release aside, for a newer one.
    func postpone(_ work: DueWork, owner: Int64, reason: String) async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                UPDATE pending SET instance_id = NULL, due = now() + interval '1 minute', reason = $4::text
                WHERE message_id = $1::bigint AND account IS NOT DISTINCT FROM $2::text AND instance_id = $3::bigint
                """,
                [.integer(work.receipt.id), .text(work.account), .integer(owner), .text(reason)],
            )
        )
    }

    /// Gives back everything that an instance owns, to be taken up by any instance at once.
    func release(owner: Int64) async throws(PostgresError) {
        _ = try await pool.run([
            PostgresStatement(
                "UPDATE pending SET instance_id = NULL WHERE instance_id = $1::bigint",
                [.integer(owner)],
            ),
            PostgresStatement("DELETE FROM instance WHERE id = $1::bigint", [.integer(owner)]),
        ])
    }

    /// Messages of which the instance owns a row.
    func messagesOwned(by owner: Int64) async throws(PostgresError) -> Set<Int64> {
        let result = try await pool.run(
            PostgresStatement(
                "SELECT DISTINCT message_id FROM pending WHERE instance_id = $1::bigint",
                [.integer(owner)],
            )
        )
        var messages: Set<Int64> = []
        for row in result.rows {
            messages.insert(try row.integer(0))
        }
        return messages
    }

    /// Frees the rows of messages that the instance owns without working on them.
    func free(_ messages: Set<Int64>, owner: Int64) async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                UPDATE pending SET instance_id = NULL
                WHERE instance_id = $2::bigint AND message_id = ANY($1::bigint[])
                """,
                [.integers(messages.sorted()), .integer(owner)],
            )
        )
    }

    /// How many rows are due and owned by nobody, counted up to `limit`, and how long the oldest has been due.
    func backlog(
        upTo limit: Int64
    ) async throws(PostgresError) -> (rows: Int64, oldestMicroseconds: Int64) {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT count(*), coalesce((extract(epoch FROM now() - min(due)) * 1000000)::bigint, 0)
                FROM (SELECT due FROM pending WHERE instance_id IS NULL AND due <= now()
                    ORDER BY due LIMIT $1::bigint) AS waiting
                """,
                [.integer(limit)],
            )
        )
        guard let row = result.rows.first else { return (0, 0) }
        return (try row.integer(0), try row.integer(1))
    }

    /// How many rows of each app are due later and owned by nobody, counted up to `limit` of all. Those that only keep a
    /// message's content for such rows are not counted.
    func scheduled(upTo limit: Int64) async throws(PostgresError) -> [Int64: Int64] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT sdk_app_id, count(*) FROM (
                    SELECT sdk_app_id FROM pending WHERE instance_id IS NULL AND due > now() AND due < 'infinity'
                    LIMIT $1::bigint) AS scheduled
                GROUP BY sdk_app_id
                """,
                [.integer(limit)],
            )
        )
        var rows: [Int64: Int64] = [:]
        for row in result.rows {
            rows[try row.integer(0)] = try row.integer(1)
        }
        return rows
    }
}
