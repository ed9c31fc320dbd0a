import APNs
import LiveActivity
import PostgresClient

/// Starts of activities, and messages that wait for activities to come up.
extension DeliveryStore {
    /// One recipient of one message that asks about starts.
    struct StartQuestion: Sendable {
        var sdkAppID: Int64
        var account: String
        var laID: String
        var messageID: Int64
        var isEnd: Bool
        /// The attributes type that it starts; nil: it starts nothing, and only asks what may still come up.
        var attributesType: String?
        /// The message's own alert.
        var alert: ActivityAlert?
        var deadline: UnixTime
        /// Whether a start may have reached a phone before, which nobody knows.
        var mayHaveBeenSent: Bool
        /// Installations that are not asked about, each with a colon and the fingerprint of its token where it is about
        /// that token only.
        var excepted: [String]
        /// The only installations that are asked about; nil: all.
        var installations: [String]?

        /// For SQL: an installation holds no slash.
        var joinedInstallations: String? { installations?.joined(separator: "/") }
    }

    /// Claims starts, and finds activities that may still come up. The database decides, whatever lane or process asks.
    ///
    /// No two of one call may concern the same account: the start guard counts what is claimed for its phones.
    ///
    /// - Returns: for each question, in order, the phones concerned.
    func starts(
        _ questions: [StartQuestion],
        rules: StartRules,
    ) async throws(PostgresError) -> [[FoundStart]] {
        var found = [[FoundStart]](repeating: [], count: questions.count)
        let claims = questions.indices.filter { questions[$0].attributesType != nil }
        let waits = questions.indices.filter { questions[$0].attributesType == nil }
        var unit: [PostgresStatement] = []
        if !claims.isEmpty { unit.append(claim(claims.map { questions[$0] }, rules)) }
        if !waits.isEmpty { unit.append(wait(waits.map { questions[$0] }, rules)) }
        var results = try await run(unit)[...]
        if !claims.isEmpty, let result = results.popFirst() {
            for row in result.rows {
                guard let position = Int(exactly: try row.integer(0) - 1), claims.indices.contains(position),
                    let start = try FoundStart(claimed: row)
                else { continue }
                found[claims[position]].append(start)
            }
        }
        if !waits.isEmpty, let result = results.popFirst() {
            for row in result.rows {
                guard let position = Int(exactly: try row.integer(0) - 1), waits.indices.contains(position),
                    let verdict = FoundStart.Verdict(rawValue: try row.text(1))
                else { continue }
                found[waits[position]].append(
                    FoundStart(
                        verdict: verdict,
                        installation: try row.text(2),
                        tokenFingerprint: try row.text(3),
                        until: UnixTime(microseconds: try row.timestampMicroseconds(4)),
                    )
                )
            }
        }
        return found
    }

    private func claim(_ questions: [StartQuestion], _ rules: StartRules) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT asked.position, start.verdict, start.installation, start.token, start.token_fingerprint,
                start.business_id, start.environment, start.os_version, start.last_timestamp, start.expires_at,
                start.until, start.has_bad_days, coalesce(
                    (SELECT own.app_version FROM start_token AS own
                    WHERE own.sdk_app_id = asked.sdk_app_id AND own.account = asked.account
                        AND own.attributes_type = asked.attributes_type AND own.installation = start.installation),
                    (SELECT device.app_version FROM device
                    WHERE device.sdk_app_id = asked.sdk_app_id AND device.account = asked.account
                        AND device.installation = start.installation))
            FROM (
                SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[],
                    $7::boolean[], $8::text[], $14::text[], $15::bytea[])
                    WITH ORDINALITY AS asked (sdk_app_id, account, la_id, attributes_type, message_id, deadline,
                        may_have_been_sent, excepted, installations, alert, position)
                -- The order of keys, as everywhere: see the claim.
                ORDER BY sdk_app_id, account
            ) AS asked
            CROSS JOIN LATERAL claim_starts(
                asked.sdk_app_id, asked.account, asked.la_id, asked.attributes_type, asked.message_id, asked.deadline,
                asked.may_have_been_sent,
                string_to_array(asked.excepted, '/') || ARRAY(
                    SELECT other.installation || ':' || token_fingerprint(other.token) FROM start_token AS other
                    WHERE other.sdk_app_id = asked.sdk_app_id AND other.account = asked.account
                        AND other.attributes_type = asked.attributes_type
                        AND other.installation <> ALL (string_to_array(asked.installations, '/'))),
                $9::bigint * interval '1 microsecond', $10::bigint * interval '1 microsecond', $11::bigint,
                $12::bigint * interval '1 microsecond', $13::boolean, asked.alert) AS start
            """,
            [
                .integers(questions.map(\.sdkAppID)),
                .texts(questions.map(\.account)),
                .texts(questions.map(\.laID)),
                .texts(questions.map(\.attributesType)),
                .integers(questions.map(\.messageID)),
                .timestamps(questions.map(\.deadline.microseconds)),
                .booleans(questions.map(\.mayHaveBeenSent)),
                // An installation holds no slash.
                .texts(questions.map { $0.excepted.joined(separator: "/") }),
                .integer(rules.lifetime.microseconds),
                .integer(rules.tokenWait.microseconds),
                .integer(rules.guardLimit),
                .integer(rules.guardWindow.microseconds),
                .boolean(rules.delaysGuarded),
                .texts(questions.map(\.joinedInstallations)),
                .byteArrays(questions.map { $0.alert?.encoded() }),
            ],
        )
    }

    private func wait(_ questions: [StartQuestion], _ rules: StartRules) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT asked.position, start.verdict, start.installation, start.token_fingerprint, start.until
            FROM (
                SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::boolean[], $6::text[],
                    $7::bytea[], $8::timestamptz[], $9::text[])
                    WITH ORDINALITY AS asked (sdk_app_id, account, la_id, message_id, is_end, excepted, alert, deadline,
                        installations, position)
                -- The order of keys, as everywhere: see the claim.
                ORDER BY sdk_app_id, account, la_id
            ) AS asked
            -- First, by the snapshot of the whole statement: what is decided after it, the function below sees.
            LEFT JOIN LATERAL undecided_start(
                asked.sdk_app_id, asked.la_id, asked.message_id, asked.account,
                $10::bigint * interval '1 microsecond') AS older ON true
            CROSS JOIN LATERAL (
                SELECT CASE WHEN older.is_given_up THEN 'given_up' ELSE 'undecided' END AS verdict, '' AS installation,
                    '' AS token_fingerprint, clock_timestamp() AS until
                WHERE older.message_id IS NOT NULL
                UNION ALL
                SELECT * FROM await_update_tokens(
                    asked.sdk_app_id, asked.account, asked.la_id, asked.message_id, asked.is_end,
                    string_to_array(asked.excepted, '/') || ARRAY(
                        SELECT other.installation FROM activity_start AS other
                        WHERE other.sdk_app_id = asked.sdk_app_id AND other.account = asked.account
                            AND other.la_id = asked.la_id
                            AND other.installation <> ALL (string_to_array(asked.installations, '/'))),
                    asked.alert, asked.deadline)
                WHERE coalesce(older.is_given_up, true)
            ) AS start
            """,
            [
                .integers(questions.map(\.sdkAppID)),
                .texts(questions.map(\.account)),
                .texts(questions.map(\.laID)),
                .integers(questions.map(\.messageID)),
                .booleans(questions.map(\.isEnd)),
                .texts(questions.map { $0.excepted.joined(separator: "/") }),
                .byteArrays(questions.map { $0.alert?.encoded() }),
                .timestamps(questions.map(\.deadline.microseconds)),
                .texts(questions.map(\.joinedInstallations)),
                .integer(rules.patience.microseconds),
            ],
        )
    }

    // MARK: - Settlement

    /// Locks the starts whose activities these recipients wait for: whether such an activity came up meanwhile is asked
    /// after the wait is written down, and its registration asks after it has written that whether somebody waits.
    func locksOfStarts(awaitedBy entries: [Entry]) -> [PostgresStatement] {
        guard !entries.isEmpty else { return [] }
        return [
            PostgresStatement(
                """
                SELECT FROM unnest($1::bigint[], $2::text[], $3::text[]) AS awaited (sdk_app_id, account, la_id)
                JOIN activity_start AS start USING (sdk_app_id, account, la_id)
                ORDER BY start.sdk_app_id, start.account, start.la_id, start.installation FOR UPDATE OF start
                """,
                [
                    .integers(entries.map(\.sdkAppID)), .texts(entries.map(\.account)), .texts(entries.map(\.laID)),
                ],
            )
        ]
    }

    /// Makes those due at once whose wait was over before it was written down.
    func wake(_ entries: [Entry]) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE pending SET due = clock_timestamp()
            FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
                AS awaited (sdk_app_id, account, la_id, message_id)
            WHERE pending.message_id = awaited.message_id AND pending.account = awaited.account
                AND pending.instance_id IS NULL AND pending.reason = 'update_token_awaited'
                AND (NOT EXISTS (
                        SELECT FROM activity_start AS start
                        WHERE start.sdk_app_id = awaited.sdk_app_id AND start.account = awaited.account
                            AND start.la_id = awaited.la_id AND start.registered_at IS NULL
                            AND awaited.message_id IN (start.waiting_message, start.waiting_end))
                    OR EXISTS (
                        SELECT FROM activity_start AS start
                        WHERE start.sdk_app_id = awaited.sdk_app_id AND start.account = awaited.account
                            AND start.la_id = awaited.la_id AND start.registered_at IS NOT NULL
                            AND awaited.message_id IN (start.waiting_message, start.waiting_end)))
            """,
            [
                .integers(entries.map(\.sdkAppID)), .texts(entries.map(\.account)), .texts(entries.map(\.laID)),
                .integers(entries.map(\.receipt.id)),
            ],
        )
    }

    /// What became of push-to-start tokens and starts. A token may be that of several attributes types.
    func startCorrections(of entries: [Entry]) -> [PostgresStatement] {
        var forgotten: [(app: Int64, token: [UInt8]?, until: UnixTime)] = []
        var environments: [(app: Int64, token: [UInt8]?, environment: APNsEnvironment)] = []
        var badDays: [(app: Int64, token: [UInt8]?, until: UnixTime)] = []
        var goodDays: [(app: Int64, token: [UInt8]?)] = []
        var failed: [(entry: Entry, installation: String?)] = []
        for entry in entries {
            for correction in entry.settlement.corrections where correction.kind == .start {
                let token = correction.token?.bytes
                switch correction.change {
                case .forget(let until): forgotten.append((entry.sdkAppID, token, until))
                case .rememberEnvironment(let environment): environments.append((entry.sdkAppID, token, environment))
                case .badDay(let until): badDays.append((entry.sdkAppID, token, until))
                case .forgetBadDays: goodDays.append((entry.sdkAppID, token))
                case .startFailed: failed.append((entry, correction.installation))
                default: break
                }
            }
        }
        var statements: [PostgresStatement] = []
        let touched =
            forgotten.map { ($0.app, $0.token) } + environments.map { ($0.app, $0.token) }
            + badDays.map { ($0.app, $0.token) } + goodDays.map { ($0.app, $0.token) }
        if !touched.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    SELECT FROM unnest($1::bigint[], $2::bytea[]) AS found (sdk_app_id, token)
                    JOIN start_token AS start USING (sdk_app_id, token)
                    ORDER BY start.sdk_app_id, start.account, start.attributes_type, start.installation
                    FOR UPDATE OF start
                    """,
                    [.integers(touched.map(\.0)), .byteArrays(touched.map(\.1))],
                )
            )
        }
        if !forgotten.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    DELETE FROM start_token AS start
                    USING unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS dead (sdk_app_id, token, until)
                    WHERE start.sdk_app_id = dead.sdk_app_id AND start.token = dead.token
                        AND start.registered_at <= dead.until
                    """,
                    [
                        .integers(forgotten.map(\.app)), .byteArrays(forgotten.map(\.token)),
                        .timestamps(forgotten.map(\.until.microseconds)),
                    ],
                )
            )
        }
        if !environments.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE start_token AS start SET environment = known.environment
                    FROM unnest($1::bigint[], $2::bytea[], $3::text[]) AS known (sdk_app_id, token, environment)
                    WHERE start.sdk_app_id = known.sdk_app_id AND start.token = known.token
                        AND start.environment IS DISTINCT FROM known.environment
                    """,
                    [
                        .integers(environments.map(\.app)), .byteArrays(environments.map(\.token)),
                        .texts(environments.map(\.environment.rawValue)),
                    ],
                )
            )
        }
        if !badDays.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE start_token AS start SET
                        bad_days = counted.days, last_bad_day = counted.today,
                        quarantined_at = CASE WHEN counted.days >= 3 THEN clock_timestamp() END
                    FROM (
                        SELECT start.sdk_app_id, start.account, start.attributes_type, start.installation,
                            today.day AS today,
                            least(start.bad_days + (start.last_bad_day IS DISTINCT FROM today.day)::integer, 3) AS days
                        FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS bad (sdk_app_id, token, until)
                        JOIN start_token AS start USING (sdk_app_id, token)
                        CROSS JOIN (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day) AS today
                        WHERE start.registered_at <= bad.until AND start.quarantined_at IS NULL
                    ) AS counted
                    WHERE (start.sdk_app_id, start.account, start.attributes_type, start.installation)
                        = (counted.sdk_app_id, counted.account, counted.attributes_type, counted.installation)
                    """,
                    [
                        .integers(badDays.map(\.app)), .byteArrays(badDays.map(\.token)),
                        .timestamps(badDays.map(\.until.microseconds)),
                    ],
                )
            )
        }
        if !goodDays.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE start_token AS start SET bad_days = 0, last_bad_day = NULL, quarantined_at = NULL
                    FROM unnest($1::bigint[], $2::bytea[]) AS good (sdk_app_id, token)
                    WHERE start.sdk_app_id = good.sdk_app_id AND start.token = good.token AND start.bad_days > 0
                    """,
                    [.integers(goodDays.map(\.app)), .byteArrays(goodDays.map(\.token))],
                )
            )
        }
        if !failed.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    DELETE FROM activity_start AS start
                    USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                        AS failed (sdk_app_id, account, la_id, installation, message_id)
                    WHERE start.sdk_app_id = failed.sdk_app_id
                        -- Empty: the account was logged out there meanwhile.
                        AND start.account IN (failed.account, '')
                        AND start.la_id = failed.la_id AND start.installation = failed.installation
                        AND start.message_id = failed.message_id AND start.registered_at IS NULL
                    """,
                    [
                        .integers(failed.map(\.entry.sdkAppID)), .texts(failed.map(\.entry.account)),
                        .texts(failed.map(\.entry.laID)), .texts(failed.map(\.installation)),
                        .integers(failed.map(\.entry.receipt.id)),
                    ],
                )
            )
        }
        return statements
    }
}

extension FoundStart {
    /// Reads the answer of `claim_starts`; nil if it is one of a newer release.
    fileprivate init?(claimed row: PostgresRow) throws(PostgresError) {
        guard let verdict = Verdict(rawValue: try row.text(1)), let token = try? PushToken(bytes: try row.bytes(3))
        else { return nil }
        self.init(
            verdict: verdict,
            installation: try row.text(2),
            tokenFingerprint: try row.text(4),
            until: try row.timestampMicrosecondsOrNil(10).map(UnixTime.init(microseconds:)),
        )
        guard verdict == .claimed, let expiresAt = try row.timestampMicrosecondsOrNil(9) else { return }
        push = Push(
            token: token,
            businessID: try row.integer(5),
            environment: try row.textOrNil(6).flatMap(APNsEnvironment.init(rawValue:)),
            timestamp: try row.integer(8),
            expiresAt: UnixTime(microseconds: expiresAt),
            system: try row.textOrNil(7).flatMap(IOSVersion.init(parsing:)),
            hasBadDays: try row.boolean(11),
            appVersion: try row.textOrNil(12),
        )
    }
}
