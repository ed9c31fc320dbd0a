import LiveActivity
import PostgresClient

/// The SQL of messages to audiences. Each call is one transaction.
///
/// Only a row that `owner` still owns is changed: an instance that was taken over meanwhile changes nothing.
final class FanOutStore {
    let pool: PostgresPool

    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Some of an audience, in the order of their accounts.
    struct Chunk: Sendable, Equatable {
        /// One account of it.
        struct Recipient: Sendable, Equatable {
            var account: String
            /// The only installations that get it; nil: all.
            var installations: [String]?
        }

        var recipients: [Recipient]
        /// Where the next chunk begins; nil: there is none.
        var next: String?
    }

    /// Writes down that a message is begun, unless that was done before.
    func begin(_ receipt: AcceptedMessage, _ order: PushOrder, owner: Int64) async throws(PostgresError) {
        guard let audience = order.audience else { return }
        var tokens: [[UInt8]]?
        var segments: (all: [String], any: [String])?
        var activity: String?
        switch audience {
        case .activity(let laID): activity = laID
        case .devices(let named): tokens = named.map(\.bytes)
        case .everyone: break
        case .segments(let all, let any): segments = (all, any)
        }
        _ = try await pool.run(
            PostgresStatement(
                """
                INSERT INTO fan_out (message_id, accepted_at, sdk_app_id, audience, activity, segments_all, segments_any,
                    devices, unknown_devices, replaces_older)
                SELECT $1::bigint, $2::timestamptz, $3::bigint, $4::text, $5::text,
                    CASE WHEN $4::text = 'segments' THEN $6::text[] END,
                    CASE WHEN $4::text = 'segments' THEN $7::text[] END,
                    CASE WHEN $4::text = 'devices' THEN cardinality($8::bytea[]) END,
                    CASE WHEN $4::text = 'devices' THEN ARRAY(
                        SELECT token_fingerprint(named.token) FROM unnest($8::bytea[]) AS named (token)
                        WHERE NOT EXISTS (
                            SELECT FROM device
                            WHERE device.sdk_app_id = $3::bigint AND device.token = named.token)) END,
                    $9::boolean
                FROM pending
                WHERE message_id = $1::bigint AND account IS NULL AND instance_id = $10::bigint
                ON CONFLICT (message_id) DO NOTHING
                """,
                [
                    .integer(receipt.id), .timestamp(microsecondsSinceUnixEpoch: receipt.acceptedAt.microseconds),
                    .integer(order.sdkAppID), .text(audience.word), .text(activity),
                    .texts(segments?.all ?? []), .texts(segments?.any ?? []), .byteArrays(tokens ?? []),
                    .boolean(order.replacesOlder), .integer(owner),
                ],
            )
        )
    }

    /// What may keep a message from going on.
    struct Standing: Sendable, Equatable {
        /// Whether its sender took it back.
        var isRevoked: Bool
        /// The newest message that takes its place, of those that are begun.
        var newer: Int64?
        /// A start of its activity that was accepted before and is not decided yet.
        var undecidedStart: Int64?
        /// Whether that got no further for so long that it is not waited for.
        var isGivenUp = false
    }

    /// How a message stands.
    ///
    /// - Parameters:
    ///   - activity: to whose audience a newer message may take its place; nil: none does.
    ///   - started: the activity whose older starts come before it; nil: none does.
    ///   - patience: how long one of those that gets no further is waited for.
    func standing(
        of message: Int64,
        to activity: String?,
        after started: String?,
        patience: Duration,
        in sdkAppID: Int64,
    ) async throws(PostgresError) -> Standing {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT EXISTS (SELECT FROM revocation WHERE message_id = $3::bigint), (
                    SELECT max(message_id) FROM fan_out
                    WHERE sdk_app_id = $1::bigint AND activity = $2::text AND message_id > $3::bigint AND replaces_older),
                    older.message_id, coalesce(older.is_given_up, false)
                FROM (SELECT) AS message
                LEFT JOIN LATERAL undecided_start(
                    $1::bigint, $4::text, $3::bigint, NULL, $5::bigint * interval '1 microsecond') AS older ON true
                """,
                [
                    .integer(sdkAppID), .text(activity), .integer(message), .text(started),
                    .integer(patience.microseconds),
                ],
            )
        )
        return Standing(
            isRevoked: try result.rows.first?.boolean(0) ?? false,
            newer: try result.rows.first?.integerOrNil(1),
            undecidedStart: try result.rows.first?.integerOrNil(2),
            isGivenUp: try result.rows.first?.boolean(3) ?? false,
        )
    }

    /// Writes down that a message goes on without an older start that gets no further.
    func goOn(_ receipt: AcceptedMessage, without start: Int64, owner: Int64) async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                UPDATE fan_out SET undecided_start = $2::bigint
                FROM pending
                WHERE fan_out.message_id = $1::bigint AND pending.message_id = $1::bigint
                    AND pending.account IS NULL AND pending.instance_id = $3::bigint
                """,
                [.integer(receipt.id), .integer(start), .integer(owner)],
            )
        )
    }

    /// Of these recipients, those of whom everything is written down: they have delivery rows, or a pending row of their
    /// own.
    func settled(_ accounts: [String], of receipt: AcceptedMessage, in sdkAppID: Int64) async throws(PostgresError)
        -> AccountSet
    {
        guard !accounts.isEmpty else { return [] }
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT asked.account FROM unnest($1::text[]) AS asked (account)
                -- By the account: of the message there may be a million rows.
                WHERE EXISTS (
                    SELECT FROM delivery
                    WHERE delivery.sdk_app_id = $2::bigint AND delivery.account = asked.account
                        AND delivery.accepted_at = $3::timestamptz AND delivery.message_id = $4::bigint)
                OR EXISTS (
                    SELECT FROM pending
                    WHERE pending.message_id = $4::bigint AND pending.account = asked.account)
                """,
                [
                    .texts(accounts), .integer(sdkAppID),
                    .timestamp(microsecondsSinceUnixEpoch: receipt.acceptedAt.microseconds), .integer(receipt.id),
                ],
            )
        )
        var settled: AccountSet = []
        for row in result.rows {
            settled.insert(try row.text(0))
        }
        return settled
    }

    /// Moves the cursor past a chunk of which everything is written down.
    ///
    /// It also forgets takeovers: the chunk did not kill this instance.
    ///
    /// - Returns: false if another instance owns the message by now.
    func advance(_ receipt: AcceptedMessage, to cursor: FanOutCursor, owner: Int64) async throws(PostgresError) -> Bool
    {
        let result = try await pool.run(
            PostgresStatement(
                """
                WITH moved AS (
                    UPDATE pending SET progress = $4::bytea, takeovers = 0, lone_takeovers = 0, reason = ''
                    WHERE message_id = $1::bigint AND account IS NULL AND instance_id = $5::bigint
                    RETURNING message_id
                ), counted AS (
                    UPDATE fan_out SET listed = $3::bigint, advanced_at = clock_timestamp()
                    FROM moved WHERE fan_out.message_id = moved.message_id
                ), told AS (
                    UPDATE message SET recipients = least($3::bigint, 2147483647)::integer
                    FROM moved WHERE message.id = moved.message_id AND message.accepted_at = $2::timestamptz
                )
                SELECT count(*) FROM moved
                """,
                [
                    .integer(receipt.id), .timestamp(microsecondsSinceUnixEpoch: receipt.acceptedAt.microseconds),
                    .integer(cursor.listed), .bytes(cursor.encoded()), .integer(owner),
                ],
            )
        )
        return try result.rows.first?.integer(0) == 1
    }

    /// Writes down how a message ended. Its row goes, or waits for recipients that have rows of their own.
    func finish(
        _ receipt: AcceptedMessage,
        as end: FanOutEnd,
        listed: Int64,
        owner: Int64,
    ) async throws(PostgresError) {
        let own: [PostgresParameter] = [.integer(receipt.id), .integer(owner)]
        _ = try await pool.run([
            // First, as whoever finishes one of its recipients does: the second of two must see what the first did.
            PostgresStatement(
                """
                SELECT FROM pending WHERE account IS NULL AND message_id = $1::bigint AND instance_id = $2::bigint
                FOR UPDATE
                """,
                own,
            ),
            PostgresStatement(
                """
                WITH told AS (
                    UPDATE message SET recipients = least($5::bigint, 2147483647)::integer
                    FROM pending
                    WHERE message.id = $1::bigint AND message.accepted_at = $6::timestamptz
                        AND message.recipients <> least($5::bigint, 2147483647)
                        AND pending.message_id = $1::bigint AND pending.account IS NULL
                        AND pending.instance_id = $2::bigint
                )
                UPDATE fan_out SET outcome = $3::text, ended_by = $4::bigint, listed = $5::bigint,
                    advanced_at = clock_timestamp(), finished_at = clock_timestamp()
                FROM pending
                WHERE fan_out.message_id = $1::bigint AND fan_out.finished_at IS NULL
                    AND pending.message_id = $1::bigint AND pending.account IS NULL
                    AND pending.instance_id = $2::bigint
                """,
                own + [
                    .text(end.word), .integer(end.newer), .integer(listed),
                    .timestamp(microsecondsSinceUnixEpoch: receipt.acceptedAt.microseconds),
                ],
            ),
            PostgresStatement(
                """
                DELETE FROM pending WHERE account IS NULL AND message_id = $1::bigint AND instance_id = $2::bigint
                    AND NOT EXISTS (
                        SELECT FROM pending AS recipient
                        WHERE recipient.message_id = pending.message_id AND recipient.account IS NOT NULL)
                """,
                own,
            ),
            PostgresStatement(
                """
                UPDATE pending SET instance_id = NULL, due = 'infinity', reason = 'recipients_wait'
                WHERE account IS NULL AND message_id = $1::bigint AND instance_id = $2::bigint
                """,
                own,
            ),
        ])
    }

    /// Gives a message back, to be taken up after a while by whoever has room.
    func giveBack(
        _ receipt: AcceptedMessage,
        for delay: Duration,
        because reason: String,
        owner: Int64,
    ) async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                UPDATE pending SET instance_id = NULL, due = clock_timestamp() + $3::bigint * interval '1 microsecond',
                    reason = $4::text
                WHERE account IS NULL AND message_id = $1::bigint AND instance_id = $2::bigint
                """,
                [.integer(receipt.id), .integer(owner), .integer(delay.microseconds), .text(reason)],
            )
        )
    }
}
