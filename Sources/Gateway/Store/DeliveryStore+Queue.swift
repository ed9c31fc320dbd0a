import PostgresClient

extension DeliveryStore {
    /// A pending row that this instance took up.
    struct DueWork: Sendable {
        var receipt: AcceptedMessage
        /// nil: the whole message.
        var account: String?
        var deadline: UnixTime
        var deaths: InstanceDeaths
        /// Whether an instance that worked on it died, or dropped it.
        var isTakenOver: Bool
        /// Whether its sender took the message back.
        var isRevoked: Bool
        /// The message's order as stored.
        var content: [UInt8]
        /// The recipient's progress as stored.
        var progress: [UInt8]?

        /// What is to become of its recipients.
        var fate: DeliveryEngine.Fate {
            if deaths.quarantines { return .quarantined }
            if isRevoked { return .revoked }
            return isTakenOver ? .takenOver : .toBeSent
        }
    }

    /// Takes up rows that are due, owned by nobody and in no line, oldest first.
    ///
    /// - Parameters:
    ///   - limit: at most so many rows.
    ///   - isolation: only rows that are to run so.
    ///   - unreadable: the secrets that this gateway cannot use, so that it leaves rows to others; nil: there are none.
    func takeDue(
        owner: Int64,
        limit: Int64,
        _ isolation: InstanceDeaths.Isolation = .none,
        without unreadable: UnreadableSecrets? = nil,
    ) async throws(PostgresError) -> [DueWork] {
        // Two texts rather than one with a parameter: only then does the planner see which index has the rows.
        try await take(
            isolation == .none
                ? DeliveryStore.taking(
                    "line IS NULL AND due <= now() AND takeovers = 0",
                    [.integer(owner), .integer(limit)],
                    without: unreadable,
                )
                : DeliveryStore.taking(
                    """
                    due <= now() AND takeovers > 0
                        AND (CASE WHEN lone_takeovers > 0 OR takeovers > 2 THEN 3 ELSE takeovers END) = $3::bigint
                    """,
                    [.integer(owner), .integer(limit), .integer(isolation.rawValue)],
                    without: unreadable,
                )
        )
    }

    /// Takes up rows from the front of a line.
    func takeDue(
        owner: Int64,
        limit: Int64,
        from line: String,
        without unreadable: UnreadableSecrets? = nil,
    ) async throws(PostgresError) -> [DueWork] {
        try await take(
            DeliveryStore.taking(
                "line = $3::text AND due <= now() AND takeovers = 0",
                by: "due, message_id",
                [.integer(owner), .integer(limit), .text(line)],
                without: unreadable,
            )
        )
    }

    /// Takes up rows of any line that have waited until their deadline.
    func takeExpired(owner: Int64, limit: Int64) async throws(PostgresError) -> [DueWork] {
        try await take(
            DeliveryStore.taking(
                "line IS NOT NULL AND deadline <= now() AND takeovers = 0",
                by: "deadline",
                [.integer(owner), .integer(limit)],
                without: nil,
            )
        )
    }

    /// The lines that have rows.
    func lines() async throws(PostgresError) -> [String] {
        let result = try await pool.run(
            PostgresStatement(
                """
                -- From one line to the next through the index: as many steps as there are lines, however many rows.
                WITH RECURSIVE known (line) AS (
                    (SELECT line FROM pending WHERE instance_id IS NULL AND line IS NOT NULL ORDER BY line LIMIT 1)
                    UNION ALL
                    SELECT (SELECT pending.line FROM pending
                        WHERE instance_id IS NULL AND pending.line > known.line ORDER BY pending.line LIMIT 1)
                    FROM known WHERE known.line IS NOT NULL
                )
                SELECT line FROM known WHERE line IS NOT NULL
                """
            )
        )
        var lines: [String] = []
        for row in result.rows {
            lines.append(try row.text(0))
        }
        return lines
    }

    /// The statement by which the instance `$1` takes up at most `$2` rows of nobody, its condition a constant.
    private static func taking(
        _ condition: String,
        by order: String = "due",
        _ parameters: [PostgresParameter],
        without unreadable: UnreadableSecrets?,
    ) -> PostgresStatement {
        guard let unreadable, unreadable.leavesWork else {
            return PostgresStatement(unsafeText: taking(condition, by: order), parameters)
        }
        let next = parameters.count + 1
        // What waits for another key may be taken here once no other gateway did for a while.
        let others = """
             AND (sdk_app_id <> ALL($\(next)::bigint[]) OR deadline <= now())
            AND (sdk_app_id <> ALL($\(next + 1)::bigint[]) OR reason <> $\(next + 2)::text
                OR due <= now() - interval '10 seconds' OR deadline <= now())
            """
        return PostgresStatement(
            unsafeText: taking(condition + others, by: order),
            parameters + [
                .integers(unreadable.leftToOthers), .integers(unreadable.sharedWithOthers),
                .text(UnreadableSecrets.reason),
            ],
        )
    }

    private static func taking(_ condition: String, by order: String) -> String {
        """
        WITH due AS (
            SELECT ctid FROM pending WHERE instance_id IS NULL AND \(condition)
            ORDER BY \(order) LIMIT $2::bigint FOR UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE pending SET instance_id = $1::bigint, line = NULL FROM due WHERE pending.ctid = due.ctid
            RETURNING pending.*
        )
        SELECT message_id, accepted_at, account, deadline, takeovers::bigint, lone_takeovers::bigint,
            coalesce(content, (SELECT whole.content FROM pending AS whole
                WHERE whole.account IS NULL AND whole.message_id = taken.message_id)), progress,
            EXISTS (SELECT FROM revocation WHERE revocation.message_id = taken.message_id),
            takeovers > 0 OR reason = 'given_back'
        FROM taken ORDER BY message_id
        """
    }

    private func take(_ statement: PostgresStatement) async throws(PostgresError) -> [DueWork] {
        let result = try await pool.run(statement)
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
                    deaths: InstanceDeaths(number: try row.integer(4), alone: try row.integer(5)),
                    isTakenOver: try row.boolean(9),
                    isRevoked: try row.boolean(8),
                    content: try row.bytesOrNil(6) ?? [],
                    progress: try row.bytesOrNil(7),
                )
            )
        }
        return work
    }

    /// Whether rows wait that an instance died with.
    ///
    /// - Parameter apps: whose rows are left to others.
    func hasSuspects(except apps: [Int64] = []) async throws(PostgresError) -> Bool {
        let others = apps.isEmpty ? "" : "AND (sdk_app_id <> ALL($1::bigint[]) OR deadline <= now())"
        let result = try await pool.run(
            PostgresStatement(
                unsafeText: """
                    SELECT EXISTS (
                        SELECT FROM pending WHERE instance_id IS NULL AND due <= now() AND takeovers > 0 \(others))
                    """,
                apps.isEmpty ? [] : [.integers(apps)],
            )
        )
        return try result.rows.first?.boolean(0) ?? false
    }

    /// The recipients of messages that need nothing more from their whole rows: they have delivery rows, or a pending
    /// row of their own.
    func recipientsSettled(of receipts: [AcceptedMessage]) async throws(PostgresError) -> [Int64: AccountSet] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT message_id, account
                FROM unnest($1::bigint[], $2::timestamptz[]) AS asked (message_id, accepted_at)
                -- OFFSET 0: one look into the index for each message, whatever the planner thinks of the tables.
                CROSS JOIN LATERAL (
                    SELECT account FROM delivery
                    WHERE delivery.message_id = asked.message_id AND delivery.accepted_at = asked.accepted_at OFFSET 0
                ) AS finished
                UNION ALL
                SELECT message_id, account FROM unnest($1::bigint[]) AS asked (message_id)
                CROSS JOIN LATERAL (
                    SELECT account FROM pending
                    WHERE pending.message_id = asked.message_id AND account IS NOT NULL OFFSET 0
                ) AS waiting
                """,
                [.integers(receipts.map(\.id)), .timestamps(receipts.map(\.acceptedAt.microseconds))],
            )
        )
        var accounts: [Int64: AccountSet] = [:]
        for row in result.rows {
            accounts[try row.integer(0), default: []].insert(try row.text(1))
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
                "UPDATE pending SET instance_id = NULL, reason = 'given_back' WHERE instance_id = $1::bigint",
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

    /// Writes down why rows wait that no gateway took up although they are due, and puts them off for a tenth of their
    /// age, so that what waits for long is not in the way of all who look for due rows.
    ///
    /// - Parameter apps: none of whose keys this gateway can use.
    func nameUnreadable(_ apps: [Int64]) async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                UPDATE pending SET reason = $2::text, due = least(
                    deadline,
                    now() + greatest(interval '5 seconds', least((now() - accepted_at) / 10, interval '5 minutes')))
                WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM pending
                    WHERE instance_id IS NULL AND line IS NULL AND due <= now() - interval '5 seconds'
                        AND deadline > now() AND sdk_app_id = ANY($1::bigint[])
                    ORDER BY due LIMIT 10000 FOR UPDATE SKIP LOCKED))
                """,
                [.integers(apps), .text(UnreadableSecrets.reason)],
            )
        )
    }

    /// How many rows are due, owned by nobody and in no line, counted up to `limit`, and how long the oldest has been due.
    ///
    /// - Parameter apps: whose rows are left to others: they are none of this gateway's backlog.
    func backlog(
        upTo limit: Int64,
        except apps: [Int64] = [],
    ) async throws(PostgresError) -> (rows: Int64, oldestMicroseconds: Int64) {
        // Without apps the index alone has the answer.
        let others = apps.isEmpty ? "" : "AND sdk_app_id <> ALL($2::bigint[])"
        let result = try await pool.run(
            PostgresStatement(
                unsafeText: """
                    SELECT count(*), coalesce((extract(epoch FROM now() - min(due)) * 1000000)::bigint, 0)
                    FROM (SELECT due FROM pending WHERE instance_id IS NULL AND line IS NULL AND due <= now() \(others)
                        ORDER BY due LIMIT $1::bigint) AS waiting
                    """,
                [.integer(limit)] + (apps.isEmpty ? [] : [.integers(apps)]),
            )
        )
        guard let row = result.rows.first else { return (0, 0) }
        return (try row.integer(0), try row.integer(1))
    }

    /// How many rows of each app are due later or stand in a line, and are owned by nobody, counted up to `limit` of all,
    /// and how old the oldest is. Those that only keep a message's content for such rows are not counted.
    ///
    /// - Parameter apps: whose rows are left to others, so that those that are due count too.
    func scheduled(upTo limit: Int64, with apps: [Int64] = []) async throws(PostgresError) -> QueueDepth.Scheduled {
        let others =
            apps.isEmpty
            ? ""
            : """
            UNION ALL
            (SELECT sdk_app_id, accepted_at FROM pending
            WHERE instance_id IS NULL AND line IS NULL AND due <= now() AND sdk_app_id = ANY($2::bigint[])
                LIMIT $1::bigint)
            """
        let result = try await pool.run(
            PostgresStatement(
                unsafeText: """
                    SELECT sdk_app_id, count(*), (extract(epoch FROM now() - min(accepted_at)) * 1000000)::bigint FROM (
                        (SELECT sdk_app_id, accepted_at FROM pending
                        WHERE instance_id IS NULL AND line IS NULL AND due > now() AND due < 'infinity' LIMIT $1::bigint)
                        UNION ALL
                        (SELECT sdk_app_id, accepted_at FROM pending WHERE instance_id IS NULL AND line IS NOT NULL
                            LIMIT $1::bigint)
                        \(others)
                        LIMIT $1::bigint) AS scheduled
                    GROUP BY sdk_app_id
                    """,
                [.integer(limit)] + (apps.isEmpty ? [] : [.integers(apps)]),
            )
        )
        var scheduled = QueueDepth.Scheduled()
        for row in result.rows {
            scheduled.rows[try row.integer(0)] = try row.integer(1)
            scheduled.oldestMicroseconds = max(scheduled.oldestMicroseconds, try row.integer(2))
        }
        return scheduled
    }
}
