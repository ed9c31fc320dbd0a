import PostgresClient

/// The numbered files of Schema/, which the executable carries, and what a database has of them.
struct SchemaMigration: Sendable {
    /// Number of the file, from 1.
    let version: Int64
    /// Name of the file.
    let name: String
    /// Its SQL.
    let sql: String

    /// All of this release, in order.
    static let all = [
        SchemaMigration(version: 1, name: "0001_tables.sql", file: PackageResources._001_tables_sql),
        SchemaMigration(version: 2, name: "0002_views.sql", file: PackageResources._002_views_sql),
        SchemaMigration(
            version: 3,
            name: "0003_registration_functions.sql",
            file: PackageResources._003_registration_functions_sql,
        ),
        SchemaMigration(version: 4, name: "0004_recent_request.sql", file: PackageResources._004_recent_request_sql),
        SchemaMigration(
            version: 5,
            name: "0005_badges_and_presence.sql",
            file: PackageResources._005_badges_and_presence_sql,
        ),
        SchemaMigration(version: 6, name: "0006_rate_limits.sql", file: PackageResources._006_rate_limits_sql),
        SchemaMigration(version: 7, name: "0007_operators.sql", file: PackageResources._007_operators_sql),
        SchemaMigration(
            version: 8,
            name: "0008_registration_import.sql",
            file: PackageResources._008_registration_import_sql,
        ),
        SchemaMigration(version: 9, name: "0009_token_hygiene.sql", file: PackageResources._009_token_hygiene_sql),
        SchemaMigration(version: 10, name: "0010_provider_tokens.sql", file: PackageResources._010_provider_tokens_sql),
        SchemaMigration(version: 11, name: "0011_pacing.sql", file: PackageResources._011_pacing_sql),
        SchemaMigration(version: 12, name: "0012_suspects.sql", file: PackageResources._012_suspects_sql),
        SchemaMigration(version: 13, name: "0013_claim_answer.sql", file: PackageResources._013_claim_answer_sql),
        SchemaMigration(version: 14, name: "0014_waiting_alerts.sql", file: PackageResources._014_waiting_alerts_sql),
        SchemaMigration(version: 15, name: "0015_content_schema.sql", file: PackageResources._015_content_schema_sql),
        SchemaMigration(version: 16, name: "0016_start_tokens.sql", file: PackageResources._016_start_tokens_sql),
        SchemaMigration(version: 17, name: "0017_channels.sql", file: PackageResources._017_channels_sql),
        SchemaMigration(version: 18, name: "0018_fan_out.sql", file: PackageResources._018_fan_out_sql),
        SchemaMigration(version: 19, name: "0019_schedule.sql", file: PackageResources._019_schedule_sql),
        SchemaMigration(version: 20, name: "0020_pushwoosh.sql", file: PackageResources._020_pushwoosh_sql),
        SchemaMigration(version: 21, name: "0021_revocations.sql", file: PackageResources._021_revocations_sql),
        SchemaMigration(version: 22, name: "0022_push_lines.sql", file: PackageResources._022_push_lines_sql),
        SchemaMigration(
            version: 23,
            name: "0023_limits_and_imports.sql",
            file: PackageResources._023_limits_and_imports_sql,
        ),
        SchemaMigration(version: 24, name: "0024_start_order.sql", file: PackageResources._024_start_order_sql),
        SchemaMigration(
            version: 25,
            name: "0025_waiting_recipients.sql",
            file: PackageResources._025_waiting_recipients_sql,
        ),
        SchemaMigration(version: 26, name: "0026_answers_lost.sql", file: PackageResources._026_answers_lost_sql),
        SchemaMigration(version: 27, name: "0027_last_sent.sql", file: PackageResources._027_last_sent_sql),
    ]

    /// Applied every time, after the numbered files: functions that only ever are replaced as a whole.
    static let plainReasons = (
        name: "plain_reason.sql", sql: String(decoding: PackageResources.plain_reason_sql, as: UTF8.self)
    )

    private init(version: Int64, name: String, file: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = String(decoding: file, as: UTF8.self)
    }

    /// The file with what makes it happen once: the whole in one transaction, recorded in it.
    var script: String {
        """
        BEGIN;
        \(sql)
        INSERT INTO schema_migration (version, name) VALUES (\(version), '\(name)');
        COMMIT;
        """
    }

    /// Where a database keeps which files were applied.
    static let ledger = """
        CREATE TABLE IF NOT EXISTS schema_migration (
            version bigint PRIMARY KEY,
            name text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        );
        COMMENT ON TABLE schema_migration IS 'Which files of Schema/ were applied. Written by `livepush migrate`.';
        COMMENT ON COLUMN schema_migration.version IS 'Number of the file.';
        COMMENT ON COLUMN schema_migration.name IS 'Name of the file.';
        COMMENT ON COLUMN schema_migration.applied_at IS 'When it was applied.';
        """

    /// The version of this release.
    static let newest = all.map(\.version).max() ?? 0

    /// What a database has of the files of Schema/.
    struct Applied: Sendable {
        /// Numbers of the files; empty if `livepush migrate` never ran.
        var versions: Set<Int64> = []
        /// Names of those that a newer release brought, in order.
        var newer: [String] = []

        /// The files of this release that the database lacks.
        var missing: [SchemaMigration] { SchemaMigration.all.filter { !versions.contains($0.version) } }
    }

    /// What a database has.
    static func applied(in connection: PostgresConnection) async throws(PostgresError) -> Applied {
        let exists = try await connection.run(
            PostgresStatement("SELECT to_regclass('public.schema_migration') IS NOT NULL")
        )
        guard try exists.rows.first?.boolean(0) == true else { return Applied() }
        let result = try await connection.run(
            PostgresStatement("SELECT version, name FROM public.schema_migration ORDER BY version")
        )
        var applied = Applied()
        for row in result.rows {
            let version = try row.integer(0)
            applied.versions.insert(version)
            if version > newest { applied.newer.append(try row.text(1)) }
        }
        return applied
    }
}
