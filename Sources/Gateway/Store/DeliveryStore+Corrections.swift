import PostgresClient

extension DeliveryStore {
    /// What the answers taught about registrations. Each statement names the token that was pushed to or the message
    /// whose `end` was claimed, so that a registration that arrived meanwhile is not touched.
    func corrections(of entries: [Entry]) -> [PostgresStatement] {
        var forgotten: [DeliveryTarget.Kind: Corrected] = [:]
        var environments: [DeliveryTarget.Kind: Corrected] = [:]
        var unaccepted = Corrected()
        var badDays: [DeliveryTarget.Kind: Corrected] = [:]
        var goodDays: [DeliveryTarget.Kind: Corrected] = [:]
        var ended = Corrected()
        var givenUp = Corrected()
        for entry in entries {
            for correction in entry.settlement.corrections {
                switch correction.change {
                case .forget(let until):
                    forgotten[correction.kind, default: Corrected()].append(entry, correction, time: until)
                case .rememberEnvironment(let environment):
                    environments[correction.kind, default: Corrected()]
                        .append(entry, correction, text: environment.rawValue)
                case .stateNotAccepted: unaccepted.append(entry, correction)
                case .badDay(let until):
                    badDays[correction.kind, default: Corrected()].append(entry, correction, time: until)
                case .forgetBadDays:
                    goodDays[correction.kind, default: Corrected()].append(entry, correction)
                case .endAccepted: ended.append(entry, correction)
                case .endGivenUp: givenUp.append(entry, correction)
                case .alertSettled, .alertNotSent, .startFailed: break
                }
            }
        }
        var statements = locks([forgotten, environments, badDays, goodDays])
        if let forgotten = forgotten[.device] {
            statements.append(
                PostgresStatement(
                    """
                    DELETE FROM device
                    USING unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS dead (sdk_app_id, token, until)
                    WHERE device.sdk_app_id = dead.sdk_app_id AND device.token = dead.token
                        AND device.registered_at <= dead.until
                    """,
                    forgotten.tokensAndTimes,
                )
            )
        }
        if let forgotten = forgotten[.activity] {
            statements.append(
                PostgresStatement(
                    """
                    DELETE FROM live_activity AS activity
                    USING unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS dead (sdk_app_id, token, until)
                    WHERE activity.sdk_app_id = dead.sdk_app_id AND activity.token = dead.token
                        AND activity.registered_at <= dead.until
                    """,
                    forgotten.tokensAndTimes,
                )
            )
        }
        if let environments = environments[.device] {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE device SET environment = known.environment
                    FROM unnest($1::bigint[], $2::bytea[], $3::text[]) AS known (sdk_app_id, token, environment)
                    WHERE device.sdk_app_id = known.sdk_app_id AND device.token = known.token
                        AND device.environment IS DISTINCT FROM known.environment
                    """,
                    environments.tokensAndTexts,
                )
            )
        }
        if let environments = environments[.activity] {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE live_activity AS activity SET environment = known.environment
                    FROM unnest($1::bigint[], $2::bytea[], $3::text[]) AS known (sdk_app_id, token, environment)
                    WHERE activity.sdk_app_id = known.sdk_app_id AND activity.token = known.token
                        AND activity.environment IS DISTINCT FROM known.environment
                    """,
                    environments.tokensAndTexts,
                )
            )
        }
        if !unaccepted.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    WITH unaccepted AS MATERIALIZED (
                        SELECT activity.sdk_app_id, activity.account, activity.la_id, activity.installation
                        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                            AS unaccepted (sdk_app_id, account, la_id, installation, message_id)
                        JOIN live_activity AS activity USING (sdk_app_id, account, la_id, installation)
                        WHERE activity.last_message = unaccepted.message_id
                        ORDER BY activity.sdk_app_id, activity.account, activity.la_id, activity.installation
                        FOR UPDATE OF activity
                    )
                    UPDATE live_activity AS activity SET last_state = NULL FROM unaccepted
                    WHERE activity.sdk_app_id = unaccepted.sdk_app_id AND activity.account = unaccepted.account
                        AND activity.la_id = unaccepted.la_id AND activity.installation = unaccepted.installation
                        AND activity.last_state IS NOT NULL
                    """,
                    unaccepted.keysAndMessages,
                )
            )
        }
        if let badDays = badDays[.device] {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE device SET
                        bad_days = counted.days, last_bad_day = counted.today,
                        quarantined_at = CASE WHEN counted.days >= 3 THEN clock_timestamp() END
                    FROM (
                        SELECT device.sdk_app_id, device.token, today.day AS today,
                            least(device.bad_days + (device.last_bad_day IS DISTINCT FROM today.day)::integer, 3) AS days
                        FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS bad (sdk_app_id, token, until)
                        JOIN device USING (sdk_app_id, token)
                        CROSS JOIN (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day) AS today
                        WHERE device.registered_at <= bad.until AND device.quarantined_at IS NULL
                    ) AS counted
                    WHERE device.sdk_app_id = counted.sdk_app_id AND device.token = counted.token
                    """,
                    badDays.tokensAndTimes,
                )
            )
        }
        if let badDays = badDays[.activity] {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE live_activity AS activity SET
                        bad_days = counted.days, last_bad_day = counted.today,
                        quarantined_at = CASE WHEN counted.days >= 3 THEN clock_timestamp() END
                    FROM (
                        SELECT activity.sdk_app_id, activity.token, today.day AS today,
                            least(activity.bad_days + (activity.last_bad_day IS DISTINCT FROM today.day)::integer, 3) AS days
                        FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS bad (sdk_app_id, token, until)
                        JOIN live_activity AS activity USING (sdk_app_id, token)
                        CROSS JOIN (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day) AS today
                        WHERE activity.registered_at <= bad.until AND activity.quarantined_at IS NULL
                    ) AS counted
                    WHERE activity.sdk_app_id = counted.sdk_app_id AND activity.token = counted.token
                    """,
                    badDays.tokensAndTimes,
                )
            )
        }
        // After the bad days: a token that one push of the batch reached works.
        if let goodDays = goodDays[.device] {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE device SET bad_days = 0, last_bad_day = NULL, quarantined_at = NULL
                    FROM unnest($1::bigint[], $2::bytea[]) AS good (sdk_app_id, token)
                    WHERE device.sdk_app_id = good.sdk_app_id AND device.token = good.token AND device.bad_days > 0
                    """,
                    goodDays.tokensOnly,
                )
            )
        }
        if let goodDays = goodDays[.activity] {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE live_activity AS activity SET bad_days = 0, last_bad_day = NULL, quarantined_at = NULL
                    FROM unnest($1::bigint[], $2::bytea[]) AS good (sdk_app_id, token)
                    WHERE activity.sdk_app_id = good.sdk_app_id AND activity.token = good.token
                        AND activity.bad_days > 0
                    """,
                    goodDays.tokensOnly,
                )
            )
        }
        if !ended.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE live_activity AS activity SET ended_at = clock_timestamp()
                    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                        AS ended (sdk_app_id, account, la_id, installation, message_id)
                    WHERE activity.sdk_app_id = ended.sdk_app_id AND activity.account = ended.account
                        AND activity.la_id = ended.la_id AND activity.installation = ended.installation
                        AND activity.end_message = ended.message_id AND activity.ended_at IS NULL
                    """,
                    ended.keysAndMessages,
                )
            )
        }
        if !givenUp.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE live_activity AS activity SET end_message = NULL
                    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                        AS given_up (sdk_app_id, account, la_id, installation, message_id)
                    WHERE activity.sdk_app_id = given_up.sdk_app_id AND activity.account = given_up.account
                        AND activity.la_id = given_up.la_id
                        AND activity.installation = coalesce(given_up.installation, activity.installation)
                        AND activity.end_message = given_up.message_id AND activity.ended_at IS NULL
                    """,
                    givenUp.keysAndMessages,
                )
            )
        }
        return statements + startCorrections(of: entries) + alertCorrections(of: entries)
    }

    /// Locks the rows that corrections find by their token in the order of keys, devices first, as the claim and the
    /// registration functions do. Found by token they would be locked in any order, and two lanes that settle pushes
    /// to the same phones would wait for each other in a circle.
    private func locks(_ corrected: [[DeliveryTarget.Kind: Corrected]]) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        let devices = Corrected(corrected.map { $0[.device] })
        if !devices.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    SELECT FROM unnest($1::bigint[], $2::bytea[]) AS found (sdk_app_id, token)
                    JOIN device USING (sdk_app_id, token)
                    ORDER BY device.sdk_app_id, device.account, device.installation FOR UPDATE OF device
                    """,
                    devices.tokensOnly,
                )
            )
        }
        let activities = Corrected(corrected.map { $0[.activity] })
        if !activities.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    SELECT FROM unnest($1::bigint[], $2::bytea[]) AS found (sdk_app_id, token)
                    JOIN live_activity AS activity USING (sdk_app_id, token)
                    ORDER BY activity.sdk_app_id, activity.account, activity.la_id, activity.installation
                    FOR UPDATE OF activity
                    """,
                    activities.tokensOnly,
                )
            )
        }
        return statements
    }

    /// Corrections of one kind, as the columns of a statement.
    private struct Corrected {
        private var rows: [(entry: Entry, correction: RegistrationCorrection, time: UnixTime?, text: String?)] = []

        init(_ parts: [Corrected?] = []) {
            rows = parts.flatMap { $0?.rows ?? [] }
        }

        var isEmpty: Bool { rows.isEmpty }

        mutating func append(
            _ entry: Entry,
            _ correction: RegistrationCorrection,
            time: UnixTime? = nil,
            text: String? = nil,
        ) {
            rows.append((entry, correction, time, text))
        }

        private var apps: PostgresParameter { .integers(rows.map(\.entry.sdkAppID)) }
        private var tokens: PostgresParameter { .byteArrays(rows.map { $0.correction.token?.bytes }) }

        var tokensOnly: [PostgresParameter] { [apps, tokens] }
        var tokensAndTimes: [PostgresParameter] { [apps, tokens, .timestamps(rows.map { $0.time?.microseconds })] }
        var tokensAndTexts: [PostgresParameter] { [apps, tokens, .texts(rows.map(\.text))] }
        var keysAndMessages: [PostgresParameter] {
            [
                apps,
                .texts(rows.map(\.entry.account)),
                .texts(rows.map(\.entry.laID)),
                .texts(rows.map(\.correction.installation)),
                .integers(rows.map(\.entry.receipt.id)),
            ]
        }
    }
}
