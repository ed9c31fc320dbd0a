import LiveActivity
import PostgresClient

/// What only explanations ask. Reads.
extension DeliveryStore {
    /// The registrations of accounts, what a message about the activity or type concerns before the others, at most 100
    /// of each account.
    func registrations(
        of accounts: [String],
        in sdkAppID: Int64,
        laID: String?,
        attributesType: String?,
    ) async throws(PostgresError) -> [[RecipientExplanation.Registration]] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT asked.position, held.kind, held.installation, held.la_id, held.attributes_type, held.business_id,
                    held.bundle_id, held.environment, held.token_fingerprint, held.state, held.registered_at,
                    held.expires_at, held.app_version, held.os_version, held.language, held.foreground_until,
                    held.last_push_at, held.last_outcome
                FROM unnest($2::text[]) WITH ORDINALITY AS asked (account, position)
                CROSS JOIN LATERAL (
                    SELECT * FROM registrations
                    WHERE registrations.sdk_app_id = $1::bigint AND registrations.account = asked.account
                    ORDER BY kind = 'device' DESC, coalesce(la_id = $3::text, false) DESC,
                        coalesce(kind = 'start' AND attributes_type = $4::text, false) DESC, registered_at DESC
                    LIMIT 100
                ) AS held
                ORDER BY asked.position, array_position(ARRAY['device', 'activity', 'start'], held.kind),
                    held.installation, held.la_id, held.attributes_type
                """,
                [.integer(sdkAppID), .texts(accounts), .text(laID), .text(attributesType)],
            )
        )
        var found = [[RecipientExplanation.Registration]](repeating: [], count: accounts.count)
        for row in result.rows {
            guard let position = Int(exactly: try row.integer(0) - 1), found.indices.contains(position) else {
                continue
            }
            found[position].append(
                RecipientExplanation.Registration(
                    kind: try row.text(1),
                    installation: try row.text(2),
                    laID: try row.textOrNil(3),
                    attributesType: try row.textOrNil(4),
                    businessID: try row.integer(5),
                    bundleID: try row.textOrNil(6),
                    environment: try row.textOrNil(7),
                    tokenFingerprint: try row.text(8),
                    state: try row.text(9),
                    registeredAt: UnixTime(microseconds: try row.timestampMicroseconds(10)),
                    expiresAt: try row.timestampMicrosecondsOrNil(11).map(UnixTime.init(microseconds:)),
                    appVersion: try row.textOrNil(12),
                    osVersion: try row.textOrNil(13),
                    language: try row.textOrNil(14),
                    foregroundUntil: try row.timestampMicrosecondsOrNil(15).map(UnixTime.init(microseconds:)),
                    lastPushAt: try row.timestampMicrosecondsOrNil(16).map(UnixTime.init(microseconds:)),
                    lastOutcome: try row.textOrNil(17),
                )
            )
        }
        return found
    }

    /// The message that stands for a request which came before; nil: it would be a new one.
    func repeated(_ digest: RequestDigest) async throws(PostgresError) -> (messageKey: String, acceptedAt: UnixTime)? {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT msg_key, accepted_at FROM recent_request
                WHERE digest = $1::bytea AND accepted_at > now() - interval '120 seconds'
                UNION ALL
                SELECT msg_key, accepted_at FROM scheduled_message
                WHERE digest = $1::bytea AND cancelled_at IS NULL
                LIMIT 1
                """,
                [.bytes(digest.bytes)],
            )
        )
        guard let row = result.rows.first else { return nil }
        return (try row.text(0), UnixTime(microseconds: try row.timestampMicroseconds(1)))
    }

    /// What waits, or is under way, of a message that is to be taken back: by recipient, first what has a row of its own.
    func waits(
        of message: RevocableMessage
    ) async throws(PostgresError) -> [(account: String, revoked: RecipientExplanation.Revoked)] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT row.account, row.instance_id IS NOT NULL, row.reason, row.due FROM pending AS row
                WHERE row.message_id = $1::bigint AND row.accepted_at = $2::timestamptz AND row.account IS NOT NULL
                UNION ALL
                -- Those whom the message's own row stands for: whoever has neither a row nor an end yet.
                SELECT concerned.account, row.instance_id IS NOT NULL, row.reason, row.due
                FROM pending AS row
                CROSS JOIN LATERAL unnest($3::text[]) WITH ORDINALITY AS concerned (account, position)
                WHERE row.message_id = $1::bigint AND row.accepted_at = $2::timestamptz AND row.account IS NULL
                    AND row.due < 'infinity'
                    AND NOT EXISTS (
                        SELECT FROM pending AS own
                        WHERE own.message_id = $1::bigint AND own.account = concerned.account)
                    AND NOT EXISTS (
                        SELECT FROM delivery
                        WHERE delivery.message_id = $1::bigint AND delivery.accepted_at = $2::timestamptz
                            AND delivery.account = concerned.account)
                """,
                [
                    .integer(message.receipt.id),
                    .timestamp(microsecondsSinceUnixEpoch: message.receipt.acceptedAt.microseconds),
                    .texts(message.recipients),
                ],
            )
        )
        var waits: [(account: String, revoked: RecipientExplanation.Revoked)] = []
        for row in result.rows {
            let isUnderWay = try row.boolean(1)
            waits.append(
                (
                    try row.text(0),
                    RecipientExplanation.Revoked(
                        isUnderWay: isUnderWay,
                        reason: try row.text(2),
                        until: isUnderWay ? nil : UnixTime(microseconds: try row.timestampMicroseconds(3)),
                    )
                )
            )
        }
        return waits
    }

    /// How many Live Activity pushes of a message APNs accepted.
    func acceptedActivityPushes(of message: AcceptedMessage) async throws(PostgresError) -> Int64 {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT count(*) FROM delivery
                WHERE message_id = $1::bigint AND accepted_at = $2::timestamptz AND route = 'live_activity'
                    AND outcome = 'accepted_by_apns'
                """,
                [.integer(message.id), .timestamp(microsecondsSinceUnixEpoch: message.acceptedAt.microseconds)],
            )
        )
        return try result.rows.first?.integer(0) ?? 0
    }

    /// What waits for its time under a key, with whom it names; nobody where it goes to an audience.
    func scheduled(
        _ key: String,
        in sdkAppID: Int64,
    ) async throws(PostgresError) -> [(recipients: [String], sendAt: UnixTime)] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT waiting.id, waiting.send_at, name
                FROM scheduled_message AS waiting
                LEFT JOIN LATERAL unnest(waiting.recipients) WITH ORDINALITY AS named (name, position)
                    ON name <> ALL (waiting.erased_accounts)
                WHERE waiting.sdk_app_id = $1::bigint AND waiting.msg_key = $2::text AND waiting.cancelled_at IS NULL
                ORDER BY waiting.id, named.position
                """,
                [.integer(sdkAppID), .text(key)],
            )
        )
        var found: [(id: Int64, recipients: [String], sendAt: UnixTime)] = []
        for row in result.rows {
            let id = try row.integer(0)
            if found.last?.id != id {
                found.append((id, [], UnixTime(microseconds: try row.timestampMicroseconds(1))))
            }
            if let name = try row.textOrNil(2) {
                found[found.endIndex - 1].recipients.append(name)
            }
        }
        return found.map { ($0.recipients, $0.sendAt) }
    }

    /// What keeps pushes of an app from going out, by what gateways found out lately.
    func obstacles(of sdkAppID: Int64) async throws(PostgresError) -> [PushObstacle] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT alarm.kind, alarm.business_id, alarm.environment, alarm.detail
                FROM alarm LEFT JOIN certificate USING (sdk_app_id, business_id)
                WHERE alarm.ended_at IS NULL AND coalesce(alarm.fades_at > now(), true)
                    AND (alarm.sdk_app_id = 0 AND alarm.kind = 'apns_unreachable'
                        OR alarm.sdk_app_id = $1::bigint AND alarm.last_seen >= certificate.updated_at
                        AND alarm.kind IN ('signing_key_refused', 'provider_token_refused', 'topic_refused',
                            'mass_token_failure'))
                ORDER BY alarm.kind
                """,
                [.integer(sdkAppID)],
            )
        )
        var found: [PushObstacle] = []
        for row in result.rows {
            found.append(
                PushObstacle(
                    alarm: try row.text(0),
                    businessID: try row.integerOrNil(1),
                    environment: try row.textOrNil(2),
                    detail: try row.text(3),
                )
            )
        }
        return found
    }
}

/// An alarm about where pushes go, on account of which they wait.
struct PushObstacle: Sendable {
    let alarm: String
    /// nil: every certificate.
    let businessID: Int64?
    /// nil: every environment.
    let environment: String?
    let detail: String
}
