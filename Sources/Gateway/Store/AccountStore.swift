import PostgresClient

/// The SQL of accounts that the chat backend imports, and of the segments that they are in.
final class AccountStore {
    private let pool: PostgresPool

    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The nickname of an imported account; nil if it has none.
    func nickname(of account: String, in sdkAppID: Int64) async throws(PostgresError) -> String? {
        let result = try await pool.run(
            PostgresStatement(
                "SELECT nickname FROM account WHERE sdk_app_id = $1::bigint AND account = $2::text AND nickname <> ''",
                [.integer(sdkAppID), .text(account)],
            )
        )
        return try result.rows.first?.text(0)
    }

    /// Whether anybody is in a segment.
    func hasSegment(_ name: String, in sdkAppID: Int64) async throws(PostgresError) -> Bool {
        let result = try await pool.run(
            PostgresStatement(
                "SELECT EXISTS (SELECT FROM segment WHERE sdk_app_id = $1::bigint AND name = $2::text)",
                [.integer(sdkAppID), .text(name)],
            )
        )
        return try result.rows.first?.boolean(0) ?? false
    }

    /// Imports accounts, or changes what is given of imported ones.
    func importAccounts(_ profiles: [AccountProfile], in sdkAppID: Int64) async throws(PostgresError) {
        _ = try await pool.run(
            PostgresStatement(
                """
                INSERT INTO account AS known (sdk_app_id, account, nickname, face_url)
                SELECT $1::bigint, profile.account, coalesce(profile.nickname, ''), coalesce(profile.face_url, '')
                FROM unnest($2::text[], $3::text[], $4::text[]) AS profile (account, nickname, face_url)
                ORDER BY profile.account
                ON CONFLICT (sdk_app_id, account) DO UPDATE SET imported_at = now(),
                    -- An absent name leaves the former one; the row itself cannot tell absent from empty.
                    nickname = CASE WHEN excluded.nickname = '' THEN known.nickname ELSE excluded.nickname END,
                    face_url = CASE WHEN excluded.face_url = '' THEN known.face_url ELSE excluded.face_url END
                """,
                [
                    .integer(sdkAppID),
                    .texts(profiles.map(\.account)),
                    .texts(profiles.map(\.nickname)),
                    .texts(profiles.map(\.faceURL)),
                ],
            )
        )
    }

    /// Which of `names` are imported.
    func imported(among names: [String], in sdkAppID: Int64) async throws(PostgresError) -> AccountSet {
        let result = try await pool.run(
            PostgresStatement(
                "SELECT account FROM account WHERE sdk_app_id = $1::bigint AND account = ANY($2::text[])",
                [.integer(sdkAppID), .texts(names)],
            )
        )
        var accounts: AccountSet = []
        for row in result.rows {
            accounts.insert(try row.text(0))
        }
        return accounts
    }

    /// Erases accounts with their registrations, and takes them out of what waits for its time.
    ///
    /// - Returns: those that were imported.
    func delete(_ names: [String], in sdkAppID: Int64) async throws(PostgresError) -> AccountSet {
        let parameters: [PostgresParameter] = [.integer(sdkAppID), .texts(names)]
        let results = try await pool.run([
            // Devices first, as the registration functions lock them.
            PostgresStatement(
                "DELETE FROM device WHERE sdk_app_id = $1::bigint AND account = ANY($2::text[])",
                parameters,
            ),
            PostgresStatement(
                "DELETE FROM live_activity WHERE sdk_app_id = $1::bigint AND account = ANY($2::text[])",
                parameters,
            ),
            PostgresStatement(
                "DELETE FROM start_token WHERE sdk_app_id = $1::bigint AND account = ANY($2::text[])",
                parameters,
            ),
            PostgresStatement(
                "DELETE FROM activity_start WHERE sdk_app_id = $1::bigint AND account = ANY($2::text[])",
                parameters,
            ),
            PostgresStatement("SELECT erase_from_schedule($1::bigint, $2::text[])", parameters),
            PostgresStatement(
                "DELETE FROM segment WHERE sdk_app_id = $1::bigint AND account = ANY($2::text[])",
                parameters,
            ),
            PostgresStatement(
                "DELETE FROM account WHERE sdk_app_id = $1::bigint AND account = ANY($2::text[]) RETURNING account",
                parameters,
            ),
        ])
        var accounts: AccountSet = []
        guard let deleted = results.last else { return accounts }
        for row in deleted.rows {
            accounts.insert(try row.text(0))
        }
        return accounts
    }
}
