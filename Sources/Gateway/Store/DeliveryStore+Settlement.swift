import APNs
import LiveActivity
import PostgresClient

extension DeliveryStore {
    /// A settlement with what its rows need of the message. A class, since a batch of them is sorted and divided.
    final class Entry: Sendable {
        let receipt: AcceptedMessage
        let sdkAppID: Int64
        let account: String
        let laID: String?
        let event: ActivityEvent?
        let deadline: UnixTime
        /// Whether the recipient has a pending row of its own.
        let hasRow: Bool
        let settlement: Settlement
        /// The newest push of it, whose id need not be derived again.
        let sent: SentPush?

        init(
            receipt: AcceptedMessage,
            sdkAppID: Int64,
            account: String,
            laID: String?,
            event: ActivityEvent?,
            deadline: UnixTime,
            hasRow: Bool,
            settlement: Settlement,
            sent: SentPush? = nil,
        ) {
            self.receipt = receipt
            self.sdkAppID = sdkAppID
            self.account = account
            self.laID = laID
            self.event = event
            self.deadline = deadline
            self.hasRow = hasRow
            self.settlement = settlement
            self.sent = sent
        }
    }

    /// Writes settlements of many recipients in one transaction.
    ///
    /// Only rows that `owner` still owns are written: an instance that was taken over meanwhile changes nothing.
    ///
    /// - Parameters:
    ///   - completed: messages all of whose recipients are settled after this; their rows go, or wait for recipients
    ///     that have rows of their own.
    ///   - shared: messages of which recipients have, had or get rows of their own. Whoever finishes the last of those
    ///     takes the message's row away, so the row is locked first: of two that finish at the same time, the second
    ///     must see what the first did.
    ///   - mayBeRepeated: the same entries may have been written before, by a unit whose outcome is unknown.
    func settle(
        _ entries: [Entry],
        completed: [Int64],
        shared: [Int64],
        owner: Int64,
        mayBeRepeated: Bool,
    ) async throws(PostgresError) {
        // The order of keys, as everywhere: see the claim.
        var entries = entries
        entries.sort { ($0.receipt.id, $0.account) < ($1.receipt.id, $1.account) }
        let shared = shared.sorted()
        let isShared = Set(shared).contains
        // Most recipients have no row of their own, and neither has any other of their message.
        var (simple, others, unfinished): ([Entry], [Entry], [Entry]) = ([], [], [])
        for entry in entries {
            guard case .finished = entry.settlement.next else {
                unfinished.append(entry)
                continue
            }
            if mayBeRepeated || entry.hasRow || isShared(entry.receipt.id) {
                others.append(entry)
            } else {
                simple.append(entry)
            }
        }
        let awaiting = unfinished.filter { entry in
            guard case .waiting(_, RecipientDelivery.updateTokenAwaited, _) = entry.settlement.next else {
                return false
            }
            return true
        }
        var unit = corrections(of: entries) + locksOfStarts(awaitedBy: awaiting)
        if !shared.isEmpty {
            unit.append(
                PostgresStatement(
                    """
                    SELECT FROM pending WHERE account IS NULL AND message_id = ANY($1::bigint[])
                    ORDER BY message_id FOR UPDATE
                    """,
                    [.integers(shared)],
                )
            )
        }
        // They leave with their last delivery rows.
        let leaving = mayBeRepeated ? [] : completed.filter { !isShared($0) }.sorted()
        if !simple.isEmpty || !leaving.isEmpty {
            unit.append(deliveries(of: simple, leaving: leaving, owner: owner))
        }
        if !others.isEmpty {
            unit.append(deliveries(of: others, owner: owner, mayBeRepeated: mayBeRepeated))
        }
        if others.contains(where: \.hasRow) {
            unit.append(removal(of: others.filter(\.hasRow), owner: owner))
        }
        if !unfinished.isEmpty {
            unit.append(waiting(unfinished, owner: owner, mayBeRepeated: mayBeRepeated))
        }
        if !awaiting.isEmpty {
            unit.append(wake(awaiting))
        }
        let remaining = mayBeRepeated ? completed : completed.filter(isShared)
        unit.append(contentsOf: completion(of: shared, completed: remaining, owner: owner))
        _ = try await pool.run(unit)
    }

    // MARK: - Rows

    private func removal(of entries: [Entry], owner: Int64) -> PostgresStatement {
        return PostgresStatement(
            """
            DELETE FROM pending USING unnest($1::bigint[], $2::text[]) AS done (message_id, account)
            WHERE pending.message_id = done.message_id AND pending.account = done.account
                AND pending.instance_id = $3::bigint
            """,
            [
                .integers(entries.map(\.receipt.id)),
                .texts(entries.map(\.account)),
                .integer(owner),
            ],
        )
    }

    private func waiting(_ entries: [Entry], owner: Int64, mayBeRepeated: Bool) -> PostgresStatement {
        var due: [Int64] = []
        var reasons: [String] = []
        var progress: [RecipientProgress] = []
        var isKept: [Bool] = []
        var lines: [String?] = []
        for entry in entries {
            switch entry.settlement.next {
            case .finished: continue
            case .waiting(let until, let reason, let soFar):
                due.append(until.microseconds)
                reasons.append(reason)
                progress.append(soFar)
                isKept.append(false)
                lines.append(nil)
            case .inLine(let line, let reason, let soFar):
                // Where it has a row, that knows better.
                due.append(entry.receipt.acceptedAt.microseconds)
                reasons.append(reason)
                progress.append(soFar)
                isKept.append(false)
                lines.append(line)
            case .fallingBack(let soFar):
                due.append(entry.receipt.acceptedAt.microseconds)
                reasons.append(soFar.notificationReason)
                progress.append(soFar)
                isKept.append(true)
                lines.append(nil)
            }
        }
        return PostgresStatement(
            """
            INSERT INTO pending AS stored (message_id, account, accepted_at, sdk_app_id, instance_id, due, deadline,
                takeovers, attempts, reason, progress, line)
            SELECT row.message_id, row.account, row.accepted_at, row.sdk_app_id,
                CASE WHEN row.is_kept THEN $1::bigint END,
                -- Its sender took it back meanwhile: there is nothing to wait for.
                CASE WHEN is_revoked THEN clock_timestamp() ELSE row.due END, row.deadline, 0, row.attempts::integer,
                CASE WHEN is_revoked THEN 'revoked' ELSE row.reason END, row.progress,
                CASE WHEN NOT is_revoked THEN row.line END
            FROM unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::bigint[], $6::timestamptz[],
                $7::timestamptz[], $8::bigint[], $9::text[], $10::bytea[], $11::boolean[], $13::text[])
                AS row (message_id, account, accepted_at, sdk_app_id, due, deadline, attempts, reason, progress, is_kept,
                    line)
            CROSS JOIN LATERAL (
                SELECT EXISTS (SELECT FROM revocation WHERE revocation.message_id = row.message_id) AS is_revoked OFFSET 0
            ) AS taken_back
            WHERE (EXISTS (
                    SELECT FROM pending WHERE pending.message_id = row.message_id AND pending.account IS NULL
                        AND pending.instance_id = $1::bigint)
                OR EXISTS (
                    SELECT FROM pending WHERE pending.message_id = row.message_id AND pending.account = row.account
                        AND pending.instance_id = $1::bigint))
                -- Another instance has finished what is written here for the second time.
                AND NOT ($12::boolean AND EXISTS (
                    SELECT FROM delivery WHERE delivery.message_id = row.message_id
                        AND delivery.accepted_at = row.accepted_at AND delivery.account = row.account))
            ON CONFLICT (message_id, account) WHERE account IS NOT NULL DO UPDATE SET
                instance_id = excluded.instance_id, line = excluded.line,
                -- In a line it has its place by the time at which it was due.
                due = CASE WHEN excluded.line IS NULL THEN excluded.due ELSE stored.due END, attempts = excluded.attempts,
                reason = excluded.reason, progress = excluded.progress,
                -- It did not kill this instance.
                takeovers = 0
                -- A repeat of what was written already must not take the row from whoever took it up since.
                WHERE stored.instance_id = $1::bigint
            """,
            [
                .integer(owner),
                .integers(entries.map(\.receipt.id)),
                .texts(entries.map(\.account)),
                .timestamps(entries.map(\.receipt.acceptedAt.microseconds)),
                .integers(entries.map(\.sdkAppID)),
                .timestamps(due),
                .timestamps(entries.map(\.deadline.microseconds)),
                .integers(progress.map { Int64($0.targets.map(\.attempts).max() ?? 0) }),
                .texts(reasons),
                .byteArrays(progress.map { $0.encoded() }),
                .booleans(isKept),
                .boolean(mayBeRepeated),
                .texts(lines),
            ],
        )
    }

    /// Removes the rows of whole messages of which nothing is left; a completed message with waiting recipients keeps
    /// its row, which holds the content, until the last of them is done.
    private func completion(of shared: [Int64], completed: [Int64], owner: Int64) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !completed.isEmpty || !shared.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    DELETE FROM pending WHERE account IS NULL AND message_id = ANY($1::bigint[] || $2::bigint[])
                        AND (due = 'infinity' OR (instance_id = $3::bigint AND message_id = ANY($1::bigint[])))
                        AND NOT EXISTS (
                            SELECT FROM pending AS recipient
                            WHERE recipient.message_id = pending.message_id AND recipient.account IS NOT NULL)
                    """,
                    [.integers(completed), .integers(shared), .integer(owner)],
                )
            )
        }
        let kept = Set(shared).intersection(completed).sorted()
        if !kept.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE pending SET instance_id = NULL, due = 'infinity', reason = 'recipients_wait'
                    WHERE account IS NULL AND instance_id = $2::bigint AND message_id = ANY($1::bigint[])
                    """,
                    [.integers(kept), .integer(owner)],
                )
            )
        }
        return statements
    }
}
