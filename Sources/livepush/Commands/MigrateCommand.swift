import PostgresClient

/// `livepush migrate`.
enum MigrateCommand: Command {
    static let name = "migrate"
    static let summary = "bring the database to this release's schema"
    static let discussion = """
        Safe to run twice, and from two machines at once: the second waits for the first. Each file of Schema/ is applied
        in one transaction. What reasons mean, Schema/plain_reason.sql, is replaced every time. A database that a newer
        release has migrated is left as it is, and the exit status is 1: this release's gateways go on working with it.

        Then it gives the roles livepush_gateway and livepush_operator exactly the rights of Schema/roles.sql, and makes
        them where they are missing. A user who may not make roles is told the SQL for an administrator. Neither can log
        in; a login gets their rights by GRANT livepush_operator TO ...
        """
    static let options = [
        CommandOption.databaseURL,
        CommandOption(name: "status", kind: .flag, help: "say what is applied and what is missing; change nothing"),
        CommandOption(name: "print", kind: .flag, help: "print the SQL of all files; needs no database"),
    ]

    /// Held for the length of a migration, so that two do not run at once.
    private static let lock: Int64 = 5_065_287_241_953_020

    static func run(_ arguments: CommandArguments) async throws {
        if arguments.isSet("print") {
            for migration in SchemaMigration.all {
                StandardOutput.write("-- \(migration.name)\n\(migration.sql)\n")
            }
            StandardOutput.write("-- \(SchemaMigration.plainReasons.name)\n\(SchemaMigration.plainReasons.sql)\n")
            StandardOutput.write("-- \(DatabaseRoles.fileName)\n\(DatabaseRoles.sql)\n")
            return
        }
        let url = try arguments.required("database-url")
        if arguments.isSet("status") {
            try await printStatus(url)
        } else {
            try await migrate(url)
        }
    }

    private static func printStatus(_ url: String) async throws {
        let applied = try await DatabaseSession.run(url, needsSchema: false) { _, connection in
            try await SchemaMigration.applied(in: connection)
        }
        for migration in SchemaMigration.all {
            let state = applied.versions.contains(migration.version) ? "applied" : "missing"
            StandardOutput.write("\(state)  \(migration.name)\n")
        }
        for file in applied.newer {
            StandardOutput.write("newer    \(file)\n")
        }
    }

    private static func migrate(_ url: String) async throws {
        // The lock belongs to the session, so that it goes with a process that dies.
        try await DatabaseSession.run(url, statementTimeout: .seconds(900), needsSchema: false) { _, connection in
            _ = try await connection.run(PostgresStatement("SELECT pg_advisory_lock($1::bigint)", [.integer(lock)]))
            let applied = try await SchemaMigration.applied(in: connection)
            // Even the files that every migration replaces, rights among them, would take from the newer release.
            guard applied.newer.isEmpty else {
                throw CommandFailure(
                    "the database has \(applied.newer.joined(separator: ", ")) of a newer release, this one knows up to "
                        + "\(SchemaMigration.newest): nothing was changed; migrate with the newest release that you run"
                )
            }
            try await PostgresConnection.run(script: SchemaMigration.ledger, url: url)
            for migration in SchemaMigration.all where !applied.versions.contains(migration.version) {
                try await PostgresConnection.run(script: migration.script, url: url)
                StandardOutput.write("applied  \(migration.name)\n")
            }
            try await PostgresConnection.run(script: SchemaMigration.plainReasons.sql, url: url)
            StandardOutput.write("The schema is at version \(SchemaMigration.newest).\n")
            StandardOutput.write(try await DatabaseRoles.bringUpToDate(connection, url: url))
        }
    }
}
