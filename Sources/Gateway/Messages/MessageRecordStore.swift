public import Logging
public import PostgresClient

/// What became of messages, for whoever sent them and has no SQL.
///
/// One object per lane, used on that lane's thread.
public final class MessageRecordStore: MessageRecords {
    /// A key is given once, unless the caller names the same MsgSeq and MsgRandom within a second.
    private static let mostMessages: Int64 = 10

    let pool: PostgresPool
    let logger: Logger

    /// - Parameter pool: the lane's connections.
    public init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// The messages of an app that have this MsgKey or TaskId, newest first, at most ten; empty if there is none.
    public func messages(
        withKey key: String,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [MessageRecord] {
        do throws(PostgresError) {
            let found = try await found(key, sdkAppID)
            return found.isEmpty ? [] : try await records(of: found)
        } catch {
            throw GatewayUnavailable(error, logger: logger)
        }
    }

    /// Cancels the messages of an app that wait for their time under this key, and erases their content.
    ///
    /// - Parameter canceller: who does, as it is written down.
    /// - Returns: how many there were; 0 where they are sent, or were cancelled before.
    public func cancel(
        messagesWithKey key: String,
        in sdkAppID: Int64,
        by canceller: String,
    ) async throws(GatewayUnavailable) -> Int64 {
        do throws(PostgresError) {
            let result = try await pool.run(
                PostgresStatement(
                    "SELECT cancel_scheduled($1::bigint, $2::text, $3::text)",
                    [.integer(sdkAppID), .text(key), .text(canceller)],
                )
            )
            return try result.rows.first?.integer(0) ?? 0
        } catch {
            throw GatewayUnavailable(error, logger: logger)
        }
    }

    private struct Found {
        var id: Int64
        var record: MessageRecord
    }

    private func found(_ key: String, _ sdkAppID: Int64) async throws(PostgresError) -> [Found] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT id, accepted_at, sender, endpoint, la_id, event, NULL::timestamptz, NULL::timestamptz, NULL::text,
                    NULL::text[], NULL::text[]
                FROM message WHERE sdk_app_id = $1::bigint AND msg_key = $2::text
                UNION ALL
                SELECT id, accepted_at, sender, endpoint, la_id, event, send_at, cancelled_at, cancelled_by, recipients,
                    erased_accounts
                FROM scheduled_message WHERE sdk_app_id = $1::bigint AND msg_key = $2::text
                ORDER BY id DESC LIMIT $3::bigint
                """,
                [.integer(sdkAppID), .text(key), .integer(MessageRecordStore.mostMessages)],
            )
        )
        var found: [Found] = []
        for row in result.rows {
            var record = MessageRecord(
                acceptedAt: UnixTime(microseconds: try row.timestampMicroseconds(1)),
                sender: try row.text(2),
                endpoint: try row.text(3),
                laID: try row.textOrNil(4),
                event: try row.textOrNil(5),
                recipients: [],
            )
            if let sendAt = try row.timestampMicrosecondsOrNil(6) {
                let schedule = ScheduleRecord(
                    sendAt: UnixTime(microseconds: sendAt),
                    cancelledAt: try row.timestampMicrosecondsOrNil(7).map(UnixTime.init(microseconds:)),
                    cancelledBy: try row.textOrNil(8),
                )
                record.schedule = schedule
                let erased = AccountSet(try row.texts(10).compactMap { $0 })
                record.recipients = try row.texts(9).compactMap { $0 }.map { account in
                    RecipientRecord.scheduled(account, schedule, isErased: erased.contains(account))
                }
            }
            found.append(Found(id: try row.integer(0), record: record))
        }
        return found
    }

    /// First what waits, then what is done: a recipient that is done between the two statements is found in both, not
    /// in neither, and what is done decides.
    private func records(of all: [Found]) async throws(PostgresError) -> [MessageRecord] {
        let found = all.filter { $0.record.schedule == nil }
        guard !found.isEmpty else { return all.map(\.record) }
        let ids = PostgresParameter.integers(found.map(\.id))
        let acceptTimes = found.map(\.record.acceptedAt.microseconds)
        let days: [PostgresParameter] = [
            .timestamp(microsecondsSinceUnixEpoch: acceptTimes.min()),
            .timestamp(microsecondsSinceUnixEpoch: acceptTimes.max()),
        ]
        let most = PostgresParameter.integer(Int64(MessageRecord.mostOfAudience))
        let results = try await pool.run([
            PostgresStatement(MessageRecordStore.waiting, [ids, most]),
            PostgresStatement(MessageRecordStore.finished, [ids] + days + [most]),
            PostgresStatement(MessageRecordStore.fanOuts, [ids]),
            PostgresStatement(MessageRecordStore.outcomes, [ids] + days),
        ])
        var fanOuts = try FanOutRecord.read(results[2], outcomes: results[3])
        var recipients: [Int64: [RecipientRecord]] = [:]
        for row in results[1].rows {
            recipients[try row.integer(0), default: []].append(try RecipientRecord(row))
        }
        // Accounts are bytes: canonically equivalent ones are two.
        var known = recipients.mapValues { Set($0.map { Array($0.account.utf8) }) }
        let activities = Set(found.filter { $0.record.laID != nil }.map(\.id))
        for row in results[0].rows {
            let id = try row.integer(0)
            let waiting: [RecipientRecord]
            if let account = try row.textOrNil(1) {
                waiting = RecipientRecord.waiting(
                    try RecipientRecord.WaitingRow(row, account),
                    isActivity: activities.contains(id),
                )
            } else {
                let reason = try row.text(4)
                let order = try row.bytesOrNil(6).flatMap { try? PushOrder(decoding: $0) }
                waiting = order?.recipients.map { RecipientRecord.waiting($0, reason: reason) } ?? []
                if let audience = order?.audience, fanOuts[id] == nil {
                    fanOuts[id] = FanOutRecord(audience: audience.word, state: "waiting")
                }
            }
            let missing = waiting.filter { !(known[id]?.contains(Array($0.account.utf8)) ?? false) }
            recipients[id, default: []] += missing
            known[id, default: []].formUnion(missing.map { Array($0.account.utf8) })
        }
        return all.map { message in
            var record = message.record
            guard record.schedule == nil else { return record }
            record.recipients = recipients[message.id] ?? []
            record.fanOut = fanOuts[message.id]
            return record
        }
    }

    /// Each half has the partial index that it needs. The row of a whole message comes last: who has a row of its own
    /// is not among those that nothing was tried for. `infinity` is what such a row holds as its time while all its
    /// recipients have rows of their own.
    private static let waiting: StaticString = """
        SELECT message_id, account, CASE WHEN isfinite(due) THEN due ELSE accepted_at END, attempts::bigint, reason,
            progress, NULL::bytea AS content
        FROM pending WHERE message_id = ANY($1::bigint[]) AND account IS NOT NULL
        UNION ALL
        SELECT message_id, NULL, accepted_at, 0, reason, NULL, content
        FROM pending WHERE message_id = ANY($1::bigint[]) AND account IS NULL
        ORDER BY account NULLS LAST
        -- Of an audience there may be a million.
        LIMIT CASE WHEN EXISTS (SELECT FROM fan_out WHERE message_id = ANY($1::bigint[])) THEN $2::bigint END
        """

    /// The accept times choose the partitions. An array of times would not: PostgreSQL then reads all of them.
    private static let finished: StaticString = """
        SELECT message_id, account, installation, route, route_reason, fallback, outcome, apns_status::bigint,
            apns_reason, apns_id::text, attempts::bigint, priority::bigint, priority_reason, timestamp_sent, sent_at,
            finished_at, token_fingerprint, environment, business_id,
            (SELECT device.os_version FROM device
            WHERE device.sdk_app_id = delivery.sdk_app_id AND device.installation = delivery.installation
                AND device.account = delivery.account)
        FROM delivery WHERE message_id = ANY($1::bigint[]) AND accepted_at BETWEEN $2::timestamptz AND $3::timestamptz
        ORDER BY account, fallback, installation
        LIMIT CASE WHEN EXISTS (SELECT FROM fan_out WHERE message_id = ANY($1::bigint[])) THEN $4::bigint END
        """

    private static let fanOuts: StaticString = """
        SELECT message_id, audience, coalesce(outcome, 'under_way'), listed,
            (SELECT newer.msg_key FROM fan_out AS other
            JOIN message AS newer ON newer.id = other.message_id AND newer.accepted_at = other.accepted_at
            WHERE other.message_id = fan_out.ended_by),
            array_to_string(unknown_devices, ' '), started_at, finished_at
        FROM fan_out WHERE message_id = ANY($1::bigint[])
        """

    private static let outcomes: StaticString = """
        SELECT message_id, outcome, count(*) FROM delivery
        WHERE message_id = ANY (ARRAY(SELECT message_id FROM fan_out WHERE message_id = ANY($1::bigint[])))
            AND accepted_at BETWEEN $2::timestamptz AND $3::timestamptz
        GROUP BY message_id, outcome
        UNION ALL
        SELECT message_id, 'retrying', count(*) FROM pending
        WHERE message_id = ANY (ARRAY(SELECT message_id FROM fan_out WHERE message_id = ANY($1::bigint[])))
            AND account IS NOT NULL
        GROUP BY message_id
        ORDER BY 1, 2
        """
}

extension FanOutRecord {
    fileprivate static func read(
        _ result: PostgresResult,
        outcomes: PostgresResult,
    ) throws(PostgresError) -> [Int64: FanOutRecord] {
        var records: [Int64: FanOutRecord] = [:]
        for row in result.rows {
            var record = FanOutRecord(audience: try row.text(1), state: try row.text(2))
            record.listed = try row.integer(3)
            record.endedBy = try row.textOrNil(4)
            record.unknownDevices = try row.textOrNil(5)?.split(separator: " ").map(String.init) ?? []
            record.startedAt = UnixTime(microseconds: try row.timestampMicroseconds(6))
            record.finishedAt = try row.timestampMicrosecondsOrNil(7).map(UnixTime.init(microseconds:))
            records[try row.integer(0)] = record
        }
        for row in outcomes.rows {
            records[try row.integer(0)]?.outcomes.append((try row.text(1), try row.integer(2)))
        }
        return records
    }
}

extension RecipientRecord.WaitingRow {
    fileprivate init(_ row: PostgresRow, _ account: String) throws(PostgresError) {
        self.init(
            messageID: try row.integer(0),
            account: account,
            due: UnixTime(microseconds: try row.timestampMicroseconds(2)),
            attempts: try row.integer(3),
            reason: try row.text(4),
            progress: try row.bytesOrNil(5).flatMap(RecipientProgress.init(decoding:)),
        )
    }
}

extension RecipientRecord {
    /// What was written of a recipient that is done.
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(account: try row.text(1), outcome: try row.text(6))
        installation = try row.textOrNil(2)
        route = try row.text(3)
        routeReason = try row.text(4)
        isFallback = try row.boolean(5)
        apnsStatus = try row.integerOrNil(7)
        apnsReason = try row.textOrNil(8)
        apnsID = try row.textOrNil(9)
        attempts = try row.integer(10)
        priority = try row.integerOrNil(11)
        priorityReason = try row.textOrNil(12)
        timestampSent = try row.integerOrNil(13)
        sentAt = try row.timestampMicrosecondsOrNil(14).map(UnixTime.init(microseconds:))
        finishedAt = UnixTime(microseconds: try row.timestampMicroseconds(15))
        tokenFingerprint = try row.textOrNil(16)
        environment = try row.textOrNil(17)
        businessID = try row.integerOrNil(18)
        osVersion = try row.textOrNil(19)
    }
}
