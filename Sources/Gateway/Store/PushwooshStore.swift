import LiveActivity
import PostgresClient

/// The SQL that only Pushwoosh's API needs.
final class PushwooshStore {
    private let pool: PostgresPool
    /// The names of all time zones, once somebody has asked: PostgreSQL reads hundreds of files for them.
    private var zones: Set<String>?

    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// When the clocks of a time zone show a local time; nil if there is no such zone.
    ///
    /// PostgreSQL knows the time zones, and takes a time that clocks skip or show twice as of standard time. It would also
    /// take abbreviations and rules such as `EST5EDT4`, which mean something else than they seem to; hence the names.
    func time(of localTime: String, in zone: String) async throws(PostgresError) -> UnixTime? {
        let known: Set<String>
        if let zones {
            known = zones
        } else {
            let names = try await pool.run(PostgresStatement("SELECT name FROM pg_timezone_names"))
            var read: Set<String> = ["UTC"]
            for row in names.rows {
                read.insert(try row.text(0))
            }
            zones = read
            known = read
        }
        guard known.contains(zone) else { return nil }
        let result = try await pool.run(
            PostgresStatement("SELECT $1::text::timestamp AT TIME ZONE $2::text", [.text(localTime), .text(zone)])
        )
        return try result.rows.first.map { row throws(PostgresError) in
            UnixTime(microseconds: try row.timestampMicroseconds(0))
        }
    }

    /// The device tokens of installations; those that are not registered are left out.
    func deviceTokens(
        of installations: [String],
        in sdkAppID: Int64,
    ) async throws(PostgresError) -> [String: PushToken] {
        let result = try await pool.run(
            PostgresStatement(
                "SELECT installation, token FROM device WHERE sdk_app_id = $1::bigint AND installation = ANY($2::text[])",
                [.integer(sdkAppID), .texts(installations)],
            )
        )
        var tokens: [String: PushToken] = [:]
        for row in result.rows {
            tokens[try row.text(0)] = try? PushToken(bytes: try row.bytes(1))
        }
        return tokens
    }

    /// The activities with these tokens; those that are not registered are left out.
    func activities(
        withTokens tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(PostgresError) -> [PushToken: RegisteredActivity] {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT token, account, la_id FROM live_activity WHERE sdk_app_id = $1::bigint AND token = ANY($2::bytea[])
                """,
                [.integer(sdkAppID), .byteArrays(tokens.map(\.bytes))],
            )
        )
        var activities: [PushToken: RegisteredActivity] = [:]
        for row in result.rows {
            guard let token = try? PushToken(bytes: try row.bytes(0)) else { continue }
            activities[token] = RegisteredActivity(account: try row.text(1), laID: try row.text(2))
        }
        return activities
    }

    /// Which of these device tokens are registered.
    func registeredTokens(among tokens: [PushToken], in sdkAppID: Int64) async throws(PostgresError) -> Set<PushToken> {
        guard !tokens.isEmpty else { return [] }
        let result = try await pool.run(
            PostgresStatement(
                "SELECT token FROM device WHERE sdk_app_id = $1::bigint AND token = ANY($2::bytea[])",
                [.integer(sdkAppID), .byteArrays(tokens.map(\.bytes))],
            )
        )
        var registered: Set<PushToken> = []
        for row in result.rows {
            if let token = try? PushToken(bytes: try row.bytes(0)) { registered.insert(token) }
        }
        return registered
    }

    /// Whether an update or an end finds somebody who has the activity: the rules of the audience of an activity.
    ///
    /// Of one that very many had, only the first are looked at; there it counts as known.
    func hasActivity(
        _ laID: String,
        for event: ActivityEvent,
        in sdkAppID: Int64,
    ) async throws(PostgresError) -> Bool {
        let result = try await pool.run(
            PostgresStatement(
                """
                SELECT EXISTS (
                    SELECT FROM (
                        SELECT ended_at, started_at FROM live_activity
                        WHERE sdk_app_id = $1::bigint AND la_id = $2::text LIMIT 1000
                    ) AS first
                    WHERE (ended_at IS NULL OR clock_timestamp() <= ended_at + interval '60 seconds')
                        AND started_at > clock_timestamp() - $3::bigint * interval '1 microsecond'
                ) OR EXISTS (
                    SELECT FROM activity_start
                    WHERE sdk_app_id = $1::bigint AND la_id = $2::text
                        AND registered_at IS NULL AND waits_until > clock_timestamp()
                ) OR EXISTS (
                    SELECT FROM live_activity WHERE sdk_app_id = $1::bigint AND la_id = $2::text OFFSET 1000
                )
                """,
                [.integer(sdkAppID), .text(laID), .integer(ActivityLife.duration(for: event).microseconds)],
            )
        )
        return try result.rows.first?.boolean(0) ?? true
    }
}
