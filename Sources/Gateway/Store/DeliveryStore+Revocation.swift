import PostgresClient

/// Taking messages back.
extension DeliveryStore {
    /// A message that is to be taken back, as far as that needs it.
    struct RevocableMessage: Sendable {
        var receipt: AcceptedMessage
        var laID: String?
        var isRevoked: Bool
        /// How long ago the app took back another message; nil: it did not.
        var sinceLast: Duration?
        /// Who was shown something, or may still be: accounts with an accepted notification, and all that wait.
        var recipients: [String]
        /// Of a message to an audience that is not done: how far it was when they were looked up.
        var cursor: Cursor?

        /// What `pending.progress` held.
        struct Cursor: Sendable {
            var progress: [UInt8]?
        }
    }

    /// The newest message with this key; nil: there is none.
    func revocable(_ key: String, in sdkAppID: Int64) async throws(PostgresError) -> RevocableMessage? {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT id, accepted_at, la_id, EXISTS (SELECT FROM revocation WHERE message_id = message.id),
                    (SELECT (extract(epoch FROM clock_timestamp() - max(revoked_at)) * 1000000)::bigint
                    FROM revocation WHERE revocation.sdk_app_id = $1::bigint)
                FROM message WHERE sdk_app_id = $1::bigint AND msg_key = $2::text ORDER BY id DESC LIMIT 1
                """,
                [.integer(sdkAppID), .text(key)],
            )
        )
        guard let row = result.rows.first else { return nil }
        let receipt = AcceptedMessage(
            id: try row.integer(0),
            acceptedAt: UnixTime(microseconds: try row.timestampMicroseconds(1)),
        )
        let (recipients, cursor) = try await concerned(by: receipt)
        return RevocableMessage(
            receipt: receipt,
            laID: try row.textOrNil(2),
            isRevoked: try row.boolean(3),
            sinceLast: try row.integerOrNil(4).map { .microseconds($0) },
            recipients: recipients,
            cursor: cursor,
        )
    }

    /// First what waits, then what is done: whoever is done between the two is found in both, not in neither.
    private func concerned(
        by receipt: AcceptedMessage
    ) async throws(PostgresError) -> (accounts: [String], cursor: RevocableMessage.Cursor?) {
        let parameters: [PostgresParameter] = [
            .integer(receipt.id), .timestamp(microsecondsSinceUnixEpoch: receipt.acceptedAt.microseconds),
        ]
        let results = try await pool.run([
            PostgresStatement(
                """
                SELECT account, CASE WHEN due < 'infinity' THEN content END, progress FROM pending
                WHERE message_id = $1::bigint AND accepted_at = $2::timestamptz
                """,
                parameters,
            ),
            PostgresStatement(
                """
                SELECT account, bool_or(route = 'notification' AND outcome = 'accepted_by_apns') FROM delivery
                WHERE message_id = $1::bigint AND accepted_at = $2::timestamptz GROUP BY account
                """,
                parameters,
            ),
        ])
        var (shown, done): ([String], AccountSet) = ([], [])
        for row in results[1].rows {
            let account = try row.text(0)
            done.insert(account)
            if try row.boolean(1) { shown.append(account) }
        }
        var waiting: [String] = []
        var cursor: RevocableMessage.Cursor?
        for row in results[0].rows {
            if let account = try row.textOrNil(0) {
                waiting.append(account)
            } else if let order = try row.bytesOrNil(1).flatMap({ try? PushOrder(decoding: $0) }) {
                waiting += order.recipients
                if order.audience != nil {
                    let progress = try row.bytesOrNil(2)
                    cursor = RevocableMessage.Cursor(progress: progress)
                    waiting += try await underWay(of: order, receipt, after: progress)
                }
            }
        }
        var known: AccountSet = []
        var concerned = shown
        for account in waiting where !done.contains(account) {
            guard !known.contains(account) else { continue }
            known.insert(account)
            concerned.append(account)
        }
        return (concerned, cursor)
    }

    /// Whoever of an audience may be under way: the chunk after the cursor, and some that joined since it was listed.
    private func underWay(
        of order: PushOrder,
        _ receipt: AcceptedMessage,
        after progress: [UInt8]?,
    ) async throws(PostgresError) -> [String] {
        let cursor = progress.flatMap(FanOutCursor.init(decoding:)) ?? FanOutCursor()
        return try await FanOutStore(pool: pool).chunk(
            of: order,
            receipt,
            after: cursor.account,
            limit: Int64(2 * FanOuts.chunkSize),
        ).recipients.map(\.account)
    }

    /// Takes a message back and stores what replaces it, in one transaction: who waits for its turn learns at once that
    /// there is nothing to send any more; who is under way does when the push did not come through.
    ///
    /// - Throws: 23505 if somebody else took it back meanwhile; 22012 if a message to an audience has gone on since its
    ///   recipients were looked up.
    func revoke(
        _ message: RevocableMessage,
        of sdkAppID: Int64,
        by sender: String,
        replacements: [NewMessage],
    ) async throws(PostgresError) {
        let id = PostgresParameter.integer(message.receipt.id)
        var unit = [
            PostgresStatement(
                """
                INSERT INTO revocation (message_id, accepted_at, sdk_app_id, revoked_by)
                VALUES ($1::bigint, $2::timestamptz, $3::bigint, $4::text)
                """,
                [
                    id, .timestamp(microsecondsSinceUnixEpoch: message.receipt.acceptedAt.microseconds),
                    .integer(sdkAppID), .text(sender),
                ],
            ),
            PostgresStatement(
                "DELETE FROM waiting_alert WHERE sdk_app_id = $1::bigint AND message_id = $2::bigint",
                [.integer(sdkAppID), id],
            ),
            PostgresStatement(
                "DELETE FROM sent_state WHERE sdk_app_id = $1::bigint AND message_id = $2::bigint",
                [.integer(sdkAppID), id],
            ),
            PostgresStatement(
                """
                UPDATE activity_start SET alert = NULL, alert_message = NULL, alert_until = NULL
                WHERE sdk_app_id = $1::bigint AND alert_message = $2::bigint
                """,
                [.integer(sdkAppID), id],
            ),
            // Whoever writes down that a recipient waits holds this row, and looks into revocation after it has it. After
            // the rows of starts and alerts, as everybody locks them.
            PostgresStatement(
                "SELECT FROM pending WHERE account IS NULL AND message_id = $1::bigint FOR UPDATE",
                [id],
            ),
        ]
        if let cursor = message.cursor {
            unit.append(
                PostgresStatement(
                    """
                    SELECT 1 / (SELECT count(*) FROM pending
                        WHERE account IS NULL AND message_id = $1::bigint AND due < 'infinity'
                            AND progress IS NOT DISTINCT FROM $2::bytea)
                    """,
                    [id, .bytes(cursor.progress)],
                )
            )
        }
        unit.append(
            PostgresStatement(
                """
                UPDATE pending SET due = clock_timestamp(), reason = 'revoked', line = NULL
                WHERE message_id = $1::bigint AND instance_id IS NULL AND due < 'infinity'
                """,
                [id],
            )
        )
        if !replacements.isEmpty {
            let batch = AcceptBatch(replacements.map(\.digest))
            unit.append(DeliveryStore.storing(replacements, batch, owner: nil))
        }
        _ = try await pool.run(unit)
    }

    /// Cancels what waits for its time under this key, so that nothing of it is shown.
    ///
    /// - Returns: whether there was anything.
    func cancelScheduled(_ key: String, in sdkAppID: Int64, by sender: String) async throws(PostgresError) -> Bool {
        let result = try await pool.run(
            PostgresStatement(
                "SELECT cancel_scheduled($1::bigint, $2::text, $3::text)",
                [.integer(sdkAppID), .text(key), .text(sender)],
            )
        )
        return try result.rows.first?.integer(0) ?? 0 > 0
    }

    /// What is known of the pushes that each recipient's message replaces; nil where it replaces none, as nearly always.
    func shownPushes(replacedBy tasks: [RecipientTask]) async throws(PostgresError) -> [ReplacedPushes?] {
        var known = [ReplacedPushes?](repeating: nil, count: tasks.count)
        let places = tasks.indices.filter { tasks[$0].message.underWay.order.replaced != nil }
        guard !places.isEmpty else { return known }
        let asked = places.compactMap { place in
            tasks[place].message.underWay.order.replaced.map { replaced in
                (
                    message: AcceptedMessage(id: replaced.messageID, acceptedAt: replaced.acceptedAt),
                    account: tasks[place].account
                )
            }
        }
        for (place, pushes) in zip(places, try await shown(asked)) {
            known[place] = pushes
        }
        return known
    }

    /// Where a notification of a message was shown, for each (message, account) in order.
    func shown(
        _ asked: [(message: AcceptedMessage, account: String)]
    ) async throws(PostgresError) -> [ReplacedPushes] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT asked.position, found.installation
                FROM unnest($1::bigint[], $2::timestamptz[], $3::text[])
                    WITH ORDINALITY AS asked (message_id, accepted_at, account, position)
                CROSS JOIN LATERAL (
                    SELECT delivery.installation FROM delivery
                    WHERE delivery.message_id = asked.message_id AND delivery.accepted_at = asked.accepted_at
                        AND delivery.account = asked.account AND delivery.route = 'notification'
                        AND delivery.outcome = 'accepted_by_apns' OFFSET 0
                ) AS found
                UNION ALL
                -- Not done yet: it has a row, or its message's begins it.
                SELECT asked.position, NULL
                FROM unnest($1::bigint[], $2::timestamptz[], $3::text[])
                    WITH ORDINALITY AS asked (message_id, accepted_at, account, position)
                WHERE EXISTS (
                        SELECT FROM pending
                        WHERE pending.message_id = asked.message_id AND pending.account = asked.account)
                    OR EXISTS (
                        SELECT FROM pending
                        WHERE pending.message_id = asked.message_id AND pending.account IS NULL
                            AND pending.due < 'infinity')
                    AND NOT EXISTS (
                        SELECT FROM delivery
                        WHERE delivery.message_id = asked.message_id AND delivery.accepted_at = asked.accepted_at
                            AND delivery.account = asked.account)
                """,
                [
                    .integers(asked.map(\.message.id)), .timestamps(asked.map(\.message.acceptedAt.microseconds)),
                    .texts(asked.map(\.account)),
                ],
            )
        )
        var shown = [ReplacedPushes](repeating: ReplacedPushes(), count: asked.count)
        for row in result.rows {
            guard let position = Int(exactly: try row.integer(0) - 1), shown.indices.contains(position) else {
                continue
            }
            if let installation = try row.textOrNil(1) {
                shown[position].installations.append(installation)
            } else {
                shown[position].areUnderWay = true
            }
        }
        return shown
    }
}

/// What became of the notifications of a message that another one replaces, at one recipient.
struct ReplacedPushes: Sendable {
    /// Where APNs accepted one.
    var installations: [String] = []
    /// Whether that is not known of all yet.
    var areUnderWay = false
}
