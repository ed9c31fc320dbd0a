import LiveActivity
import PostgresClient

/// Whom an audience consists of.
extension FanOutStore {
    /// The next of an audience, by the index.
    ///
    /// - Parameters:
    ///   - account: those after this one.
    ///   - limit: at most so many.
    func chunk(
        of order: PushOrder,
        _ receipt: AcceptedMessage,
        after account: String,
        limit: Int64,
    ) async throws(PostgresError) -> Chunk {
        let place: [PostgresParameter] = [.integer(order.sdkAppID), .text(account), .integer(limit)]
        switch order.audience {
        case nil: return Chunk(recipients: [], next: nil)
        case .activity(let laID):
            let isEnd = order.activity?.content.event == .end
            return try await read(
                PostgresStatement(
                    FanOutStore.running,
                    place + [
                        .text(laID), .timestamp(microsecondsSinceUnixEpoch: receipt.acceptedAt.microseconds),
                        .boolean(isEnd),
                    ],
                ),
                limit,
            )
        case .devices(let tokens):
            return try await read(
                PostgresStatement(FanOutStore.withTokens, place + [.byteArrays(tokens.map(\.bytes))]),
                limit,
            )
        case .everyone:
            return try await read(PostgresStatement(FanOutStore.known, place), limit)
        case .segments(let all, let any):
            let (all, any) = (FanOutStore.distinct(all), FanOutStore.distinct(any))
            return try await read(
                PostgresStatement(
                    FanOutStore.members,
                    place + [
                        // Whoever is in all of them is in the first.
                        .texts(all.first.map { [$0] } ?? any), .texts(all), .texts(any),
                        .integer(Int64(all.count)), .boolean(any.isEmpty),
                        .texts(FanOutStore.distinct(all + any)),
                    ],
                ),
                limit,
            )
        }
    }

    /// Names are bytes, as PostgreSQL sees them.
    private static func distinct(_ names: [String]) -> [String] {
        var seen: Set<[UInt8]> = []
        return names.filter { seen.insert(Array($0.utf8)).inserted }
    }

    /// Reads account, installations and whether it is one of the audience, in the order of accounts.
    private func read(_ statement: PostgresStatement, _ limit: Int64) async throws(PostgresError) -> Chunk {
        let result = try await pool.run(statement)
        var chunk = Chunk(recipients: [], next: nil)
        for row in result.rows where try row.boolean(2) {
            chunk.recipients.append(
                Chunk.Recipient(
                    account: try row.text(0),
                    // An installation holds no slash.
                    installations: try row.textOrNil(1).map { $0.split(separator: "/").map(String.init) },
                )
            )
        }
        if result.rows.count >= limit {
            chunk.next = try result.rows.last?.text(0)
        }
        return chunk
    }

    /// The claim's own rules of what runs. Whoever ended a moment ago is told so, as any other recipient is.
    private static let running: StaticString = """
        SELECT account, NULL::text, true FROM (
            (SELECT DISTINCT account FROM live_activity
            WHERE sdk_app_id = $1::bigint AND la_id = $4::text AND account > $2::text
                AND (ended_at IS NULL OR $5::timestamptz <= ended_at + interval '60 seconds')
                AND started_at > clock_timestamp()
                    - CASE WHEN $6::boolean THEN interval '12 hours' ELSE interval '8 hours' END
            ORDER BY account LIMIT $3::bigint)
            UNION
            (SELECT DISTINCT account FROM activity_start
            WHERE sdk_app_id = $1::bigint AND la_id = $4::text AND account > $2::text
                AND registered_at IS NULL AND waits_until > clock_timestamp() AND account <> ''
            ORDER BY account LIMIT $3::bigint)
        ) AS running ORDER BY account LIMIT $3::bigint
        """

    private static let withTokens: StaticString = """
        SELECT account, string_agg(installation, '/' ORDER BY installation), true FROM device
        WHERE sdk_app_id = $1::bigint AND token = ANY($4::bytea[]) AND account > $2::text
        GROUP BY account ORDER BY account LIMIT $3::bigint
        """

    private static let known: StaticString = """
        SELECT account, NULL::text, true FROM (
            (SELECT DISTINCT account FROM device WHERE sdk_app_id = $1::bigint AND account > $2::text
            ORDER BY account LIMIT $3::bigint)
            UNION
            (SELECT account FROM account WHERE sdk_app_id = $1::bigint AND account > $2::text
            ORDER BY account LIMIT $3::bigint)
            UNION
            (SELECT DISTINCT account FROM live_activity WHERE sdk_app_id = $1::bigint AND account > $2::text
            ORDER BY account LIMIT $3::bigint)
            UNION
            (SELECT DISTINCT account FROM start_token WHERE sdk_app_id = $1::bigint AND account > $2::text
            ORDER BY account LIMIT $3::bigint)
        ) AS known ORDER BY account LIMIT $3::bigint
        """

    /// Candidates come from one segment, or from those of which one is enough. A place is an account as a whole, or one
    /// of its phones that a segment names: a phone is also in what its account is in.
    private static let members: StaticString = """
        WITH candidate AS MATERIALIZED (
            SELECT DISTINCT found.account FROM unnest($4::text[]) AS driver (name)
            CROSS JOIN LATERAL (
                SELECT DISTINCT account FROM segment
                WHERE sdk_app_id = $1::bigint AND segment.name = driver.name AND account > $2::text
                ORDER BY account LIMIT $3::bigint
            ) AS found
            ORDER BY found.account LIMIT $3::bigint
        ), member AS MATERIALIZED (
            SELECT segment.account, segment.name, segment.installation
            FROM candidate CROSS JOIN unnest($9::text[]) AS asked (name)
            JOIN segment ON segment.sdk_app_id = $1::bigint AND segment.name = asked.name
                AND segment.account = candidate.account
        ), place AS (
            SELECT account, NULL::text AS installation FROM candidate
            UNION
            SELECT account, installation FROM member
        ), matched AS (
            SELECT place.account, place.installation FROM place
            JOIN member ON member.account = place.account
                AND (member.installation IS NULL OR member.installation = place.installation)
            GROUP BY place.account, place.installation
            HAVING count(DISTINCT member.name) FILTER (WHERE member.name = ANY($5::text[])) = $7::bigint
                AND ($8::boolean OR bool_or(member.name = ANY($6::text[])))
        )
        SELECT candidate.account,
            CASE WHEN NOT bool_or(matched.installation IS NULL)
                THEN string_agg(matched.installation, '/' ORDER BY matched.installation) END,
            count(matched.account) > 0
        FROM candidate LEFT JOIN matched USING (account)
        GROUP BY candidate.account ORDER BY candidate.account
        """
}
