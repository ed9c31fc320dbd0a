import PostgresClient

extension RegistrationStore {
    /// What the gateway holds for an account, devices first.
    ///
    /// The last push is the one of the newest message, whether its outcome is written or a recipient's row in
    /// `pending` says that it waits. A message for an activity that the account has not registered concerns its devices.
    public func registrations(
        of account: String,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [RegistrationRecord] {
        let result = try await run(PostgresStatement(
            """
            SELECT
                held.kind, held.installation, held.la_id, held.attributes_type, held.business_id, held.bundle_id,
                held.environment, held.token_fingerprint, held.state, held.registered_at, held.sequence,
                held.expires_at, held.app_version, held.os_version, held.language, held.foreground_until,
                latest.at, latest.event, latest.outcome, latest.apns_status, latest.apns_reason, latest.route_reason
            FROM registrations AS held
            LEFT JOIN LATERAL (
                (SELECT
                    delivery.message_id, coalesce(delivery.sent_at, delivery.finished_at) AS at, delivery.event,
                    delivery.outcome, delivery.apns_status, delivery.apns_reason, delivery.route_reason
                FROM delivery
                WHERE delivery.sdk_app_id = held.sdk_app_id AND delivery.account = held.account
                    AND delivery.installation = held.installation
                    AND (CASE WHEN held.kind = 'activity'
                        THEN delivery.route <> 'notification' AND delivery.la_id = held.la_id
                        ELSE delivery.route = 'notification' END)
                ORDER BY delivery.accepted_at DESC, delivery.finished_at DESC
                LIMIT 1)
                UNION ALL
                (SELECT
                    pending.message_id, pending.accepted_at, message.event, 'retrying', NULL,
                    nullif(pending.reason, ''), NULL
                FROM pending
                JOIN message ON message.id = pending.message_id AND message.accepted_at = pending.accepted_at
                WHERE pending.sdk_app_id = held.sdk_app_id AND pending.account = held.account
                    AND (CASE WHEN held.kind = 'activity'
                        THEN message.la_id = held.la_id
                        ELSE message.la_id IS NULL OR NOT EXISTS (
                            SELECT FROM live_activity
                            WHERE live_activity.sdk_app_id = held.sdk_app_id AND live_activity.account = held.account
                                AND live_activity.la_id = message.la_id) END)
                ORDER BY pending.message_id DESC
                LIMIT 1)
                ORDER BY message_id DESC
                LIMIT 1
            ) AS latest ON true
            WHERE held.sdk_app_id = $1 AND held.account = $2
            ORDER BY held.kind DESC, held.installation, held.la_id
            """,
            [.integer(sdkAppID), .text(account)],
        ))
        do throws(PostgresError) {
            var records: [RegistrationRecord] = []
            records.reserveCapacity(result.rows.count)
            for row in result.rows {
                records.append(try RegistrationRecord(row))
            }
            return records
        } catch {
            throw unavailable(error)
        }
    }
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
        guard let at = try row.timestampMicrosecondsOrNil(16) else { return nil }
        self.init(
            at: UnixTime(microseconds: at),
            event: try row.textOrNil(17),
            outcome: try row.text(18),
            apnsStatus: try row.integerOrNil(19),
            apnsReason: try row.textOrNil(20),
            routeReason: try row.textOrNil(21),
        )
    }
}
