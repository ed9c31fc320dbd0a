import APNs
import LiveActivity
import PostgresClient

/// The SQL of accept, claim, settlement and the queue. Each call is one unit: one transaction, answered only after its
/// Sync.
final class DeliveryStore {
    let pool: PostgresPool
    /// Whether claims, counts and the like are rolled back, so that they tell what they would and change nothing.
    private let isTrial: Bool

    /// - Parameter isTrial: what changes rows on the way to a push is rolled back at once.
    init(pool: PostgresPool, isTrial: Bool = false) {
        self.pool = pool
        self.isTrial = isTrial
    }

    /// Runs what changes rows on the way to a push.
    func run(_ unit: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
        isTrial ? try await pool.runAndRollBack(unit) : try await pool.run(unit)
    }

    /// The same with one statement.
    func run(_ statement: PostgresStatement) async throws(PostgresError) -> PostgresResult {
        guard let result = try await run([statement]).first else {
            throw PostgresError(.unexpectedResult(column: "(number of results)"))
        }
        return result
    }

    // MARK: - Accept

    /// What accept stores of a message.
    struct NewMessage: Sendable {
        let planned: PlannedOrder
        /// The order as it is stored.
        let content: [UInt8]

        var order: PushOrder { planned.order }
        /// What tells the same request when it comes again; nil: it is always a new one.
        var digest: RequestDigest? { planned.digest }

        init(_ planned: PlannedOrder) {
            self.planned = planned
            self.content = planned.order.encoded()
        }
    }

    /// Stores messages with their pending rows: all or none. Where a request was accepted within the last 120 seconds,
    /// or stands earlier in `messages`, its first message stands for it.
    ///
    /// - Parameter owner: the instance that works on them at once; nil leaves them to whoever has room.
    /// - Returns: what each became, in order.
    func accept(_ messages: [NewMessage], owner: Int64?) async throws(PostgresError) -> [Acceptance] {
        let batch = AcceptBatch(messages.map(\.digest))
        let result = try await pool.run(DeliveryStore.storing(messages, batch, owner: owner))
        return batch.answers(try DeliveryStore.acceptances(in: result))
    }

    /// The statement that stores messages as ``accept(_:owner:)`` says.
    static func storing(_ messages: [NewMessage], _ batch: AcceptBatch, owner: Int64?) -> PostgresStatement {
        let unique = batch.firsts.map { messages[$0] }
        return PostgresStatement(
            """
            WITH new AS MATERIALIZED (
                SELECT nextval('message_id') AS id, date_trunc('microseconds', now()) AS accepted_at, input.*
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                    $8::bigint[], $9::bigint[], $10::bytea[], $11::bytea[], $12::bigint[])
                    WITH ORDINALITY AS input (sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event,
                        recipients, lifetime, content, digest, repeats, position)
                ORDER BY position
            ), remembered AS (
                INSERT INTO recent_request AS known (digest, sdk_app_id, message_id, msg_key, accepted_at, repeats)
                SELECT digest, sdk_app_id, id, msg_key, accepted_at, repeats::integer
                FROM new WHERE digest IS NOT NULL
                -- The order of keys: two instances that accept the same requests never wait for each other in a
                -- circle. Whoever comes second waits for the first one's commit and sees its row.
                ORDER BY digest
                ON CONFLICT (digest) DO UPDATE SET
                    message_id = CASE WHEN known.accepted_at > excluded.accepted_at - interval '120 seconds'
                        THEN known.message_id ELSE excluded.message_id END,
                    msg_key = CASE WHEN known.accepted_at > excluded.accepted_at - interval '120 seconds'
                        THEN known.msg_key ELSE excluded.msg_key END,
                    accepted_at = CASE WHEN known.accepted_at > excluded.accepted_at - interval '120 seconds'
                        THEN known.accepted_at ELSE excluded.accepted_at END,
                    repeats = CASE WHEN known.accepted_at > excluded.accepted_at - interval '120 seconds'
                        THEN known.repeats + 1 + excluded.repeats ELSE excluded.repeats END
                RETURNING digest, message_id, msg_key, accepted_at
            ), decided AS MATERIALIZED (
                SELECT new.*, coalesce(remembered.message_id, new.id) AS first_id,
                    coalesce(remembered.accepted_at, new.accepted_at) AS first_accepted_at,
                    coalesce(remembered.msg_key, new.msg_key) AS first_key
                FROM new LEFT JOIN remembered USING (digest)
            ), stored AS (
                INSERT INTO message
                    (id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients)
                SELECT id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients
                FROM decided WHERE id = first_id
            ), queued AS (
                INSERT INTO pending (message_id, accepted_at, sdk_app_id, instance_id, due, deadline, content, starts)
                SELECT id, accepted_at, sdk_app_id, $13::bigint, accepted_at,
                    accepted_at + lifetime * interval '1 second', content, CASE WHEN event = 'start' THEN la_id END
                FROM decided WHERE id = first_id
            )
            SELECT first_id, first_accepted_at, first_key, id <> first_id FROM decided ORDER BY position
            """,
            [
                .integers(unique.map(\.order.sdkAppID)),
                .texts(unique.map(\.order.dialect.rawValue)),
                .texts(unique.map(\.order.endpoint)),
                .texts(unique.map(\.order.messageKey)),
                .texts(unique.map(\.order.sender)),
                .texts(unique.map { $0.order.activity?.laID }),
                .texts(unique.map { $0.order.activity?.content.event.rawValue }),
                .integers(unique.map { Int64($0.order.recipients.count) }),
                .integers(unique.map(\.order.lifetime)),
                .byteArrays(unique.map(\.content)),
                .byteArrays(unique.map { $0.digest?.bytes }),
                .integers(batch.repeats),
                .integer(owner),
            ],
        )
    }

    /// What its answer says of the first of each request.
    static func acceptances(in result: PostgresResult) throws(PostgresError) -> [Acceptance] {
        var accepted: [Acceptance] = []
        for row in result.rows {
            accepted.append(
                Acceptance(
                    message: AcceptedMessage(
                        id: try row.integer(0),
                        acceptedAt: UnixTime(microseconds: try row.timestampMicroseconds(1)),
                    ),
                    messageKey: try row.text(2),
                    isRepeat: try row.boolean(3),
                )
            )
        }
        return accepted
    }

    // MARK: - Registrations

    /// One recipient of one message that wants to push to an activity.
    struct Claim: Sendable {
        var sdkAppID: Int64
        var account: String
        var laID: String
        var messageID: Int64
        var acceptedAt: UnixTime
        var isEnd: Bool
        /// Whether it says something aloud, which does not wait its turn.
        var hasAlert = false
        /// Whether the message may have reached the phone before, which nobody knows.
        var mayHaveBeenSent = true
        /// Tells the state of an update apart from others; nil for an end.
        var stateDigest: Int64?
        /// Whether the push counts in the phone's bucket of priority 10.
        var spendsBudget = false
        /// Whether it goes with a lower priority once the bucket is spent, and does not count then.
        var followsBudget = false
        /// The only installations that it claims; nil: all.
        var installations: [String]?
    }

    /// Claims activities: one statement decides by the rows themselves, whatever lane or process asks, which message
    /// may be sent with which timestamp.
    ///
    /// No two claims of one call may concern the same activity, since an UPDATE changes a row once.
    ///
    /// - Parameters:
    ///   - pacing: how soon one message may follow another, and how many go to a phone in an hour.
    ///   - now: tells the hour.
    ///   - readsVersions: whether the types and app versions are wanted.
    /// - Returns: for each claim, in order, every registration of the activity that the account has.
    func claim(
        _ claims: [Claim],
        pacing: ActivityPacing,
        at now: UnixTime,
        readsVersions: Bool = false,
    ) async throws(PostgresError) -> [[ClaimedActivity]] {
        let parameters: [PostgresParameter] = [
            .integers(claims.map(\.sdkAppID)),
            .texts(claims.map(\.account)),
            .texts(claims.map(\.laID)),
            .integers(claims.map(\.messageID)),
            .timestamps(claims.map(\.acceptedAt.microseconds)),
            .booleans(claims.map(\.isEnd)),
            .booleans(claims.map(\.hasAlert)),
            .booleans(claims.map(\.mayHaveBeenSent)),
            .integers(claims.map(\.stateDigest)),
            .booleans(claims.map(\.spendsBudget)),
            .booleans(claims.map(\.followsBudget)),
            .integer(pacing.interval.microseconds),
            .integer(now.seconds / 3600),
            .integer(pacing.hourlyBudget),
            .integer(pacing.frequentHourlyBudget),
            .boolean(readsVersions),
        ]
        let isLimited = claims.contains { $0.installations != nil }
        let result = try await run(
            isLimited
                ? PostgresStatement(
                    unsafeText: DeliveryStore.limitedClaimText,
                    // An installation holds no slash.
                    parameters + [.texts(claims.map { $0.installations?.joined(separator: "/") })],
                ) : PostgresStatement(DeliveryStore.claimText, parameters)
        )
        var found = [[ClaimedActivity]](repeating: [], count: claims.count)
        for row in result.rows {
            guard let position = Int(exactly: try row.integer(0) - 1), found.indices.contains(position),
                let verdict = ClaimedActivity.Verdict(rawValue: try row.text(1)),
                let token = try? PushToken(bytes: try row.bytes(3))
            else { continue }
            found[position].append(
                ClaimedActivity(
                    verdict: verdict,
                    installation: try row.text(2),
                    token: token,
                    businessID: try row.integer(4),
                    environment: try row.textOrNil(5).flatMap(APNsEnvironment.init(rawValue:)),
                    timestamp: try row.integer(6),
                    startedAt: UnixTime(microseconds: try row.timestampMicroseconds(7)),
                    sendableFrom: try row.timestampMicrosecondsOrNil(8).map(UnixTime.init(microseconds:)),
                    isBudgetSpent: try row.boolean(9),
                    hasBadDays: try row.boolean(10),
                    attributesType: try row.textOrNil(11),
                    appVersion: try row.textOrNil(12),
                )
            )
        }
        return found
    }

    /// The devices of accounts.
    ///
    /// - Returns: for each (app, account), in order, its devices.
    func devices(of accounts: [(sdkAppID: Int64, account: String)]) async throws(PostgresError) -> [[FoundDevice]] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT asked.position, device.installation, device.token, device.business_id, device.environment,
                    device.foreground_until, coalesce(device.notification_permission = 'denied', false),
                    device.language, NULL::bigint, device.bad_days > 0, device.quarantined_at IS NOT NULL
                FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (sdk_app_id, account, position)
                JOIN device USING (sdk_app_id, account)
                """,
                [.integers(accounts.map(\.sdkAppID)), .texts(accounts.map(\.account))],
            )
        )
        return try FoundDevice.read(result, count: accounts.count)
    }
}

extension FoundDevice {
    /// Reads the answer of a look-up: position, installation, token, certificate, environment, foreground, denial,
    /// language, badge, whether days count against it, quarantine.
    static func read(_ result: PostgresResult, count: Int) throws(PostgresError) -> [[FoundDevice]] {
        var found = [[FoundDevice]](repeating: [], count: count)
        for row in result.rows {
            guard let position = Int(exactly: try row.integer(0) - 1), found.indices.contains(position),
                let token = try? PushToken(bytes: try row.bytes(2))
            else { continue }
            found[position].append(
                FoundDevice(
                    installation: try row.text(1),
                    token: token,
                    businessID: try row.integer(3),
                    environment: try row.textOrNil(4).flatMap(APNsEnvironment.init(rawValue:)),
                    foregroundUntil: try row.timestampMicrosecondsOrNil(5).map(UnixTime.init(microseconds:)),
                    deniesNotifications: try row.boolean(6),
                    language: try row.textOrNil(7),
                    badge: try row.integerOrNil(8),
                    hasBadDays: try row.boolean(9),
                    isQuarantined: try row.boolean(10),
                )
            )
        }
        return found
    }
}
