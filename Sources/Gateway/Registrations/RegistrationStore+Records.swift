import PostgresClient

extension RegistrationStore {
    /// What the gateway holds for an account, devices first.
    ///
    /// The last push is the one of the newest message, whether its outcome is written or the recipient's row in
    /// `pending` says that it waits.
    public func registrations(
        of account: String,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [RegistrationRecord] {
        let parameters: [PostgresParameter] = [.integer(sdkAppID), .text(account)]
        let results = try await run([
            PostgresStatement(RegistrationStore.recordsWithLastDelivery, parameters),
            PostgresStatement(RegistrationStore.waitingMessages, parameters),
        ])
        return try reading { () throws(PostgresError) in
            guard results.count == 2 else { return nil }
            var waiting: [WaitingMessage] = []
            for row in results[1].rows {
                waiting.append(try WaitingMessage(row))
            }
            var found: [(record: RegistrationRecord, lastMessage: Int64)] = []
            for row in results[0].rows {
                found.append((try RegistrationRecord(row), try row.integerOrNil(16) ?? 0))
            }
            let activities = Set(found.compactMap(\.record.laID))
            return found.map { record, lastMessage in
                var record = record
                for message in waiting where message.messageID > lastMessage {
                    guard let push = message.lastPush(to: record, registeredActivities: activities) else { continue }
                    record.lastPush = push
                    break
                }
                return record
            }
        }
    }

    private static let recordsWithLastDelivery: StaticString = """
        SELECT
            held.kind, held.installation, held.la_id, held.attributes_type, held.business_id, held.bundle_id,
            held.environment, held.token_fingerprint, held.state, held.registered_at, held.sequence,
            held.expires_at, held.app_version, held.os_version, held.language, held.foreground_until,
            latest.message_id, coalesce(latest.sent_at, latest.finished_at), latest.event, latest.outcome,
            latest.apns_status, latest.apns_reason, latest.route_reason
        FROM registrations AS held
        LEFT JOIN LATERAL (
            SELECT * FROM delivery
            WHERE delivery.sdk_app_id = held.sdk_app_id AND delivery.account = held.account
                AND delivery.installation = held.installation
                AND CASE held.kind
                    WHEN 'device' THEN delivery.route = 'notification'
                    WHEN 'activity' THEN delivery.route <> 'notification' AND delivery.la_id = held.la_id
                    ELSE delivery.event = 'start' AND delivery.token_fingerprint = held.token_fingerprint
                END
            ORDER BY delivery.accepted_at DESC, delivery.finished_at DESC
            LIMIT 1
        ) AS latest ON true
        WHERE held.sdk_app_id = $1 AND held.account = $2
        ORDER BY array_position(ARRAY['device', 'activity', 'start'], held.kind), held.installation, held.la_id,
            held.attributes_type
        """

    private static let waitingMessages: StaticString = """
        SELECT pending.message_id, pending.accepted_at, message.la_id, message.event, pending.reason, pending.progress
        FROM pending
        JOIN message ON message.id = pending.message_id AND message.accepted_at = pending.accepted_at
        WHERE pending.sdk_app_id = $1 AND pending.account = $2
        ORDER BY pending.message_id DESC
        LIMIT 100
        """
}

extension RegistrationRecord {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            kind: try row.text(0),
            installation: try row.text(1),
            laID: try row.textOrNil(2),
            attributesType: try row.textOrNil(3),
            businessID: try row.integer(4),
            bundleID: try row.textOrNil(5),
            environment: try row.textOrNil(6),
            tokenFingerprint: try row.text(7),
            state: try row.text(8),
            registeredAt: UnixTime(microseconds: try row.timestampMicroseconds(9)),
            sequence: try row.integerOrNil(10),
            expiresAt: try row.timestampMicrosecondsOrNil(11).map(UnixTime.init(microseconds:)),
            appVersion: try row.textOrNil(12),
            osVersion: try row.textOrNil(13),
            language: try row.textOrNil(14),
            foregroundUntil: try row.timestampMicrosecondsOrNil(15).map(UnixTime.init(microseconds:)),
            lastPush: try LastPush(row),
        )
    }
}

extension RegistrationRecord.LastPush {
    fileprivate init?(_ row: PostgresRow) throws(PostgresError) {
        guard let at = try row.timestampMicrosecondsOrNil(17) else { return nil }
        self.init(
            at: UnixTime(microseconds: at),
            event: try row.textOrNil(18),
            outcome: try row.text(19),
            apnsStatus: try row.integerOrNil(20),
            apnsReason: try row.textOrNil(21),
            routeReason: try row.textOrNil(22),
        )
    }
}

extension WaitingMessage {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            messageID: try row.integer(0),
            acceptedAt: UnixTime(microseconds: try row.timestampMicroseconds(1)),
            laID: try row.textOrNil(2),
            event: try row.textOrNil(3),
            reason: try row.text(4),
            progress: try row.bytesOrNil(5).flatMap(RecipientProgress.init(decoding:)),
        )
    }
}
