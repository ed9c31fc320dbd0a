import PostgresClient

/// The roles of Schema/roles.sql, which the executable carries, and what the user who migrates can do about them.
enum DatabaseRoles {
    static let fileName = "roles.sql"
    static let sql = String(decoding: PackageResources.roles_sql, as: UTF8.self)

    private static let names = ["livepush_gateway", "livepush_operator"]

    /// Makes the roles where that is allowed, and sets their rights. The caller holds the lock of a migration.
    ///
    /// - Returns: what was done and what an administrator has to do, for the one who runs the command.
    static func bringUpToDate(_ connection: PostgresConnection, url: String) async throws -> String {
        var missing = try await missingRoles(connection)
        if missing.isEmpty {
            try await PostgresConnection.run(script: script, url: url)
        } else if try await mayCreateRoles(connection) {
            try await PostgresConnection.run(script: script, url: url)
            missing = []
        }
        let statements =
            missing.map { "CREATE ROLE \($0) NOLOGIN;" }
            + (missing.isEmpty ? try await missingRights(connection) : [])
        guard !statements.isEmpty else {
            return "The roles \(names.joined(separator: " and ")) have their rights.\n"
        }
        let afterwards =
            missing.isEmpty
            ? "" : "\nThen run livepush migrate again: it gives them their rights. Until then serve as the owner.\n"
        return """
            This user may not do the following; an administrator can, once:

            \(statements.map { "    \($0)\n" }.joined())\(afterwards)
            """
    }

    private static var script: String { "BEGIN;\n\(sql)\nCOMMIT;" }

    private static func missingRoles(_ connection: PostgresConnection) async throws -> [String] {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT name FROM unnest($1::text[]) AS name
                WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) ORDER BY name
                """,
                [.texts(names)],
            )
        )
        return try result.rows.map { try $0.text(0) }
    }

    private static func mayCreateRoles(_ connection: PostgresConnection) async throws -> Bool {
        let result = try await connection.run(
            PostgresStatement("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user")
        )
        return try result.rows.first?.boolean(0) ?? false
    }

    /// Only the owner of the schema public can change who uses it, and the owner of a database need not be that one.
    private static func missingRights(_ connection: PostgresConnection) async throws -> [String] {
        let result = try await connection.run(
            PostgresStatement(
                """
                SELECT format('GRANT USAGE ON SCHEMA public TO %s;', name)
                FROM unnest($1::text[]) AS name WHERE NOT has_schema_privilege(name, 'public', 'USAGE')
                UNION ALL
                SELECT 'REVOKE CREATE ON SCHEMA public FROM PUBLIC;'
                FROM pg_namespace CROSS JOIN LATERAL aclexplode(nspacl) AS granted
                WHERE nspname = 'public' AND granted.grantee = 0 AND granted.privilege_type = 'CREATE'
                """,
                [.texts(names)],
            )
        )
        return try result.rows.map { try $0.text(0) }
    }
}
