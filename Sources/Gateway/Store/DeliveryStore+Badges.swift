import LiveActivity
import PostgresClient

extension DeliveryStore {
    /// One recipient of one message that changes the number on the app's icon.
    struct BadgeCount: Sendable {
        var sdkAppID: Int64
        var account: String
        var messageID: Int64
        var change: BadgeChange
        /// Installations in which it is not to be counted: those where it was before, as its progress says, and those
        /// that get no push of it.
        var excepted: [String] = []
    }

    /// The devices of accounts, each with the number for its icon: the message is counted in the same statement,
    /// whatever lane or process asks.
    ///
    /// Not counted are devices that get no notification now, because the app is in front, the person denied
    /// notifications or the token is quarantined, those that are `excepted`, and those for which the message was counted
    /// before by the device's own memory of the last messages, which holds after a process died. They answer with the
    /// number as it is.
    ///
    /// No two of one call may concern the same account, since an UPDATE changes a row once.
    ///
    /// - Parameter now: the time by which the caller decides whether an app is in front.
    /// - Returns: for each, in order, the account's devices.
    func countedDevices(_ counts: [BadgeCount], at now: UnixTime) async throws(PostgresError) -> [[FoundDevice]] {
        let result = try await run(
            PostgresStatement(
                """
                WITH asked AS (
                    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
                        WITH ORDINALITY AS asked (sdk_app_id, account, message_id, badge_set, badge_add, excepted,
                            position)
                ), found AS (
                    SELECT asked.position, asked.message_id, asked.badge_set, asked.badge_add, device.sdk_app_id,
                        device.account, device.installation, device.token, device.business_id, device.environment,
                        device.foreground_until, coalesce(device.notification_permission = 'denied', false) AS denied,
                        device.language, device.badge, device.bad_days > 0 AS has_bad_days,
                        device.quarantined_at IS NOT NULL AS is_quarantined,
                        device.notification_permission IS DISTINCT FROM 'denied'
                            AND coalesce(device.foreground_until <= $7::timestamptz, true)
                            AND device.installation <> ALL (string_to_array(asked.excepted, '/'))
                            AND asked.message_id <> ALL (device.badge_messages)
                            AND device.quarantined_at IS NULL AS counts
                    FROM asked
                    JOIN device USING (sdk_app_id, account)
                    -- The order of keys, as everywhere: see the claim.
                    ORDER BY device.sdk_app_id, device.account, device.installation
                    FOR UPDATE OF device
                ), counted AS (
                    UPDATE device SET
                        badge = coalesce(found.badge_set, least(device.badge + found.badge_add, $8::bigint)),
                        badge_messages = (found.message_id || device.badge_messages)[:8]
                    FROM found
                    WHERE found.counts AND device.sdk_app_id = found.sdk_app_id AND device.account = found.account
                        AND device.installation = found.installation
                    RETURNING found.position, device.installation, device.token, device.business_id,
                        device.environment, device.foreground_until, found.denied, device.language,
                        device.badge::bigint, found.has_bad_days, found.is_quarantined
                )
                SELECT * FROM counted
                UNION ALL
                SELECT position, installation, token, business_id, environment, foreground_until, denied, language,
                    coalesce(badge_set, badge), has_bad_days, is_quarantined
                FROM found WHERE NOT counts
                """,
                [
                    .integers(counts.map(\.sdkAppID)),
                    .texts(counts.map(\.account)),
                    .integers(counts.map(\.messageID)),
                    .integers(counts.map { if case .set(let number) = $0.change { number } else { nil } }),
                    .integers(counts.map { if case .add(let number) = $0.change { number } else { nil } }),
                    // An installation holds no slash.
                    .texts(counts.map { $0.excepted.joined(separator: "/") }),
                    .timestamp(microsecondsSinceUnixEpoch: now.microseconds),
                    .integer(BadgeChange.highest),
                ],
            )
        )
        return try FoundDevice.read(result, count: counts.count)
    }
}
