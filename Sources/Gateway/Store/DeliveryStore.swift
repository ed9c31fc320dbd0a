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
    final class NewMessage: Sendable {
        let order: PushOrder
        let content: [UInt8]
        /// What tells the same request when it comes again; nil: it is always a new one.
        let digest: RequestDigest?

        init(order: PushOrder, content: [UInt8], digest: RequestDigest?) {
            self.order = order
            self.content = content
            self.digest = digest
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
                INSERT INTO pending (message_id, accepted_at, sdk_app_id, instance_id, due, deadline, content)
                SELECT id, accepted_at, sdk_app_id, $13::bigint, accepted_at,
                    accepted_at + lifetime * interval '1 second', content
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
        let result = try await run(
            PostgresStatement(
                """
                UPDATE live_activity AS activity SET
                    (verdict, budget_is_spent, last_message, last_timestamp, last_sent_at, end_message, last_state,
                        next_message, budget_hour, budget_pushes) = (
                    SELECT decided.verdict, budget.is_spent,
                        CASE WHEN decided.verdict = 'claimed' THEN greatest(activity.last_message, asked.message_id)
                            ELSE activity.last_message END,
                        CASE WHEN decided.verdict = 'claimed' AND NOT decided.is_same_push
                            THEN greatest(floor(date_part('epoch', clock_timestamp()))::bigint,
                                activity.last_timestamp + 1)
                            ELSE activity.last_timestamp END,
                        CASE WHEN decided.verdict = 'claimed' AND NOT decided.is_same_push THEN clock_timestamp()
                            ELSE activity.last_sent_at END,
                        CASE WHEN decided.verdict <> 'claimed' THEN activity.end_message
                            WHEN asked.is_end THEN asked.message_id END,
                        -- Accepted unless the settlement says otherwise, which is rarer.
                        CASE WHEN decided.verdict = 'claimed' THEN asked.state_digest ELSE activity.last_state END,
                        -- Whoever comes next sees that a newer one waits, or has nothing to add, in whatever lane or
                        -- process.
                        CASE WHEN decided.verdict IN ('paced', 'unchanged')
                            THEN greatest(activity.next_message, asked.message_id)
                            ELSE activity.next_message END,
                        CASE WHEN spending.is_spent_on THEN $13::bigint ELSE activity.budget_hour END,
                        CASE WHEN NOT spending.is_spent_on THEN activity.budget_pushes
                            WHEN activity.budget_hour = $13::bigint THEN activity.budget_pushes + 1
                            ELSE 1 END
                    FROM (
                        SELECT
                            CASE
                                WHEN activity.quarantined_at IS NOT NULL THEN 'quarantined'
                                WHEN activity.end_message = asked.message_id AND activity.ended_at IS NULL THEN 'claimed'
                                WHEN activity.end_message IS NOT NULL THEN
                                    CASE WHEN activity.ended_at IS NULL
                                            OR asked.accepted_at <= activity.ended_at + interval '60 seconds'
                                        THEN 'activity_ended' ELSE 'not_live' END
                                WHEN clock_timestamp() >= activity.started_at
                                    + CASE WHEN asked.is_end THEN interval '12 hours' ELSE interval '8 hours' END
                                    THEN 'not_live'
                                -- An end always passes, and the newest claimed message may always be sent again.
                                WHEN asked.is_end OR activity.last_message = asked.message_id THEN 'claimed'
                                WHEN greatest(activity.last_message, activity.next_message) > asked.message_id
                                    THEN 'superseded'
                                WHEN NOT asked.has_alert
                                    AND activity.last_state = asked.state_digest
                                    AND activity.last_sent_at > clock_timestamp() - interval '60 seconds'
                                    THEN 'unchanged'
                                WHEN NOT asked.has_alert AND activity.last_sent_at
                                        > clock_timestamp() - $12::bigint * interval '1 microsecond'
                                    THEN 'paced'
                                ELSE 'claimed'
                            END AS verdict,
                            -- The same message within 10 s is a resend whose first outcome is unknown: same timestamp.
                            -- An end may be older than the newest update; once claimed, the timestamp is its own.
                            coalesce(asked.may_have_been_sent
                                AND asked.message_id IN (activity.last_message, activity.end_message)
                                AND activity.last_sent_at > clock_timestamp() - interval '10 seconds', false)
                                AS is_same_push
                        -- Decided here, once, rather than wherever it is named.
                        OFFSET 0
                    ) AS decided
                    CROSS JOIN LATERAL (
                        SELECT coalesce(sum(other.budget_pushes), 0) AS pushes FROM live_activity AS other
                        WHERE decided.verdict = 'claimed' AND asked.follows_budget
                            AND other.sdk_app_id = activity.sdk_app_id AND other.account = activity.account
                            AND other.installation = activity.installation AND other.budget_hour = $13::bigint
                    ) AS phone
                    CROSS JOIN LATERAL (
                        SELECT asked.follows_budget AND phone.pushes >= $14::bigint
                            AND (phone.pushes >= $15::bigint OR NOT coalesce(
                                (SELECT device.frequent_pushes_enabled FROM device
                                WHERE device.sdk_app_id = activity.sdk_app_id AND device.account = activity.account
                                    AND device.installation = activity.installation), false)) AS is_spent
                        OFFSET 0
                    ) AS budget
                    CROSS JOIN LATERAL (
                        -- Once a message, however often it is sent.
                        SELECT decided.verdict = 'claimed' AND asked.spends_budget AND NOT budget.is_spent
                            AND activity.last_message <> asked.message_id AS is_spent_on
                    ) AS spending
                )
                FROM (
                    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[],
                        $6::boolean[], $7::boolean[], $8::boolean[], $9::bigint[], $10::boolean[], $11::boolean[])
                        WITH ORDINALITY AS asked (sdk_app_id, account, la_id, message_id, accepted_at, is_end, has_alert,
                            may_have_been_sent, state_digest, spends_budget, follows_budget, position)
                    -- The order of keys: two instances that change the same rows never wait for each other in a
                    -- circle. A few rows that are looked up one by one come in this order; should the planner ever
                    -- choose otherwise, PostgreSQL ends one of the two and its claim is made again.
                    ORDER BY sdk_app_id, account, la_id
                ) AS asked
                WHERE activity.sdk_app_id = asked.sdk_app_id AND activity.account = asked.account
                    AND activity.la_id = asked.la_id
                RETURNING asked.position, activity.verdict, activity.installation, activity.token,
                    activity.business_id, activity.environment,
                    CASE WHEN activity.verdict = 'claimed' THEN activity.last_timestamp ELSE 0 END, activity.started_at,
                    -- A clock that was set back must not hold it for long.
                    CASE WHEN activity.verdict = 'paced' THEN least(activity.last_sent_at, clock_timestamp())
                        + $12::bigint * interval '1 microsecond' END,
                    activity.budget_is_spent, activity.verdict = 'claimed' AND activity.bad_days > 0,
                    CASE WHEN $16::boolean THEN activity.attributes_type END,
                    CASE WHEN $16::boolean THEN coalesce(activity.app_version,
                        (SELECT device.app_version FROM device
                        WHERE device.sdk_app_id = activity.sdk_app_id AND device.account = activity.account
                            AND device.installation = activity.installation)) END
                """,
                [
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
                ],
            )
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
