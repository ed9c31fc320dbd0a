import Gateway
import PostgresClient

private let switches =
    [
        CommandOption(
            name: "require-imported-accounts",
            kind: .value("on|off"),
            help: "refuse recipients that were never imported (70107), as Tencent does; off at first",
        ),
        CommandOption(
            name: "live-activity-alert",
            kind: .value("on|off"),
            help: "copy Title and Desc into the alert of Live Activity pushes; off at first",
        ),
        CommandOption(
            name: "live-activity-priority",
            kind: .value("5|10|default"),
            help: "apns-priority of Live Activity updates; end and alert always go with 10",
        ),
        CommandOption(
            name: "fallback-collapse",
            kind: .value("message|activity"),
            help: "activity: a newer fallback of one activity replaces the older on the phone; message at first",
        ),
        CommandOption(
            name: "placeholder-language",
            kind: .value("international|chinese"),
            help: "language of texts such as [image]; international at first",
        ),
        CommandOption(
            name: "content-state-policy",
            kind: .value("reject|fallback|warn"),
            help:
                "what becomes of a content-state that the iOS app cannot decode, where there is a schema of it: refused, "
                + "replaced by a normal notification, or sent with a warning; reject at first",
        ),
        CommandOption(
            name: "content-state-convert",
            kind: .value("on|off"),
            help:
                "rewrite dates in Unix seconds or milliseconds to the seconds since 2001 that Swift decodes; off at first",
        ),
        CommandOption(
            name: "extensions",
            kind: .value("on|off"),
            help: "let callers start activities, and use the other fields of LiveActivity that Tencent does not have; "
                + "off at first",
        ),
        CommandOption(name: "name", kind: .value("TEXT"), help: "a name for people"),
    ] + RateLimitOption.all.map(\.option)

private let rateLimits = """
    The limits hold in each gateway process by itself: two let through twice as much. Those of pushes to all hold for all
    processes together. Each is off at first. What is over one is refused with Retry-After and stores nothing.
    """

/// `livepush app add`.
enum AppAddCommand: Command {
    static let name = "app add"
    static let summary = "add an app, or replace its key and administrators"
    static let discussion = rateLimits
    static let options =
        [
            CommandOption.databaseURL, CommandOption.sdkAppID,
            CommandOption(
                name: "secret-key-file",
                kind: .value("FILE"),
                help: "the key that signs UserSigs, as text; - reads standard input",
            ),
            CommandOption(name: "admin", kind: .values("ACCOUNT"), help: "may call the server API; repeatable"),
        ] + switches

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let administrators = arguments.texts("admin")
        guard !administrators.isEmpty else { throw UsageError("--admin is needed") }
        for administrator in administrators where !(1...128 ~= administrator.utf8.count) {
            throw UsageError("--admin: expected 1 to 128 bytes")
        }
        let changes = try AppChanges(arguments)
        let file = try arguments.required("secret-key-file")
        let url = try arguments.required("database-url")
        let seal = try arguments.secretSeal()
        let key = try InputFile.readTrimmed(file, option: "secret-key-file")
        guard !key.isEmpty else { throw CommandFailure("--secret-key-file: \(file) is empty") }
        let sealed = try seal.seal(key, for: SecretOwner.application(id))
        try await DatabaseSession.run(url) { _, connection in
            _ = try await connection.run([
                PostgresStatement(
                    """
                    INSERT INTO app (sdk_app_id, secret_key_sealed, administrators)
                    VALUES ($1::bigint, $2::bytea, $3::text[])
                    ON CONFLICT (sdk_app_id) DO UPDATE SET secret_key_sealed = excluded.secret_key_sealed,
                        administrators = excluded.administrators, updated_at = clock_timestamp()
                    """,
                    [.integer(id), .bytes(sealed), .texts(administrators)],
                ),
                changes.statement(id),
            ])
        }
        StandardOutput.write("App \(id) is set up. Running gateways follow within 5 seconds.\n")
    }
}

/// `livepush app set`.
enum AppSetCommand: Command {
    static let name = "app set"
    static let summary = "change an app's settings"
    static let discussion = rateLimits
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID] + switches

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        guard switches.contains(where: { arguments.text($0.name) != nil }) else {
            let names = switches.map { "--\($0.name)" }.joined(separator: ", ")
            throw UsageError("nothing to change; give at least one of \(names)")
        }
        let changes = try AppChanges(arguments)
        let url = try arguments.required("database-url")
        let count = try await DatabaseSession.run(url) { _, connection in
            try await connection.run(changes.statement(id)).affectedRows
        }
        guard count == 1 else { throw CommandFailure("there is no app \(id)") }
        StandardOutput.write("App \(id) is changed. Running gateways follow within 5 seconds.\n")
    }
}

/// `livepush app list`.
enum AppListCommand: Command {
    static let name = "app list"
    static let summary = "list the apps"
    static let options = [CommandOption.databaseURL]

    static func run(_ arguments: CommandArguments) async throws {
        let url = try arguments.required("database-url")
        let lines = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT format('%s  %s  administrators: %s', sdk_app_id, coalesce(nullif(name, ''), '-'),
                        array_to_string(administrators, ', '))
                        || coalesce('  limits: ' || nullif(concat_ws(', ',
                            'requests-per-second ' || requests_per_second,
                            'caller-requests-per-second ' || caller_requests_per_second,
                            'batch-recipients-per-minute ' || batch_recipients_per_minute,
                            'client-requests-per-minute ' || client_requests_per_minute,
                            'usersig-failures-per-minute ' || usersig_failures_per_minute,
                            'seconds-between-pushes-to-all ' || seconds_between_pushes_to_all,
                            'pushes-to-all-per-day ' || pushes_to_all_per_day), ''), '')
                    FROM app ORDER BY sdk_app_id
                    """
                )
            )
            return try result.rows.map { try $0.text(0) }
        }
        for line in lines {
            StandardOutput.write(line + "\n")
        }
    }
}

/// `livepush app remove`.
enum AppRemoveCommand: Command {
    static let name = "app remove"
    static let summary = "remove an app with its certificates and registrations"
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let url = try arguments.required("database-url")
        let count = try await DatabaseSession.run(url, statementTimeout: .seconds(900)) { _, connection in
            try await connection.run(
                PostgresStatement("DELETE FROM app WHERE sdk_app_id = $1::bigint", [.integer(id)])
            ).affectedRows
        }
        guard count == 1 else { throw CommandFailure("there is no app \(id)") }
        StandardOutput.write("App \(id) is removed.\n")
    }
}

/// Settings as given on the command line; what is not given stays.
private struct AppChanges: Sendable {
    private let name: String?
    private let requiresImportedAccounts: Bool?
    private let copiesAlert: Bool?
    private let priority: String?
    private let fallbackCollapse: String?
    private let placeholderLanguage: String?
    private let contentStatePolicy: String?
    private let convertsContentState: Bool?
    private let allowsExtensions: Bool?
    private let rateLimits: [String?]

    init(_ arguments: CommandArguments) throws(UsageError) {
        name = arguments.text("name")
        requiresImportedAccounts = try arguments.oneOf("require-imported-accounts", ["on", "off"]).map { $0 == "on" }
        copiesAlert = try arguments.oneOf("live-activity-alert", ["on", "off"]).map { $0 == "on" }
        priority = try arguments.oneOf("live-activity-priority", ["5", "10", "default"])
        fallbackCollapse = try arguments.oneOf("fallback-collapse", ["message", "activity"])
        placeholderLanguage = try arguments.oneOf("placeholder-language", ["international", "chinese"])
        contentStatePolicy = try arguments.oneOf("content-state-policy", ["reject", "fallback", "warn"])
        convertsContentState = try arguments.oneOf("content-state-convert", ["on", "off"]).map { $0 == "on" }
        allowsExtensions = try arguments.oneOf("extensions", ["on", "off"]).map { $0 == "on" }
        var rateLimits: [String?] = []
        for limit in RateLimitOption.all {
            rateLimits.append(try limit.value(in: arguments))
        }
        self.rateLimits = rateLimits
    }

    func statement(_ id: Int64) -> PostgresStatement {
        let parameters: [PostgresParameter] =
            [
                .integer(id), .text(name), .boolean(requiresImportedAccounts), .boolean(copiesAlert), .text(priority),
                .text(fallbackCollapse), .text(placeholderLanguage),
            ] + rateLimits.map { PostgresParameter.text($0) }
        return PostgresStatement(
            """
            UPDATE app SET
                name = coalesce($2::text, name),
                require_imported_accounts = coalesce($3::boolean, require_imported_accounts),
                live_activity_alert = coalesce($4::boolean, live_activity_alert),
                live_activity_priority = CASE WHEN $5::text IS NULL THEN live_activity_priority
                    ELSE nullif($5::text, 'default')::smallint END,
                fallback_collapse = coalesce($6::text, fallback_collapse),
                placeholder_language = coalesce($7::text, placeholder_language),
                schema_policy = coalesce($15::text, schema_policy),
                schema_converts_dates = coalesce($16::boolean, schema_converts_dates),
                requests_per_second = CASE WHEN $8::text IS NULL THEN requests_per_second
                    ELSE nullif($8::text, 'off')::bigint END,
                caller_requests_per_second = CASE WHEN $9::text IS NULL THEN caller_requests_per_second
                    ELSE nullif($9::text, 'off')::bigint END,
                batch_recipients_per_minute = CASE WHEN $10::text IS NULL THEN batch_recipients_per_minute
                    ELSE nullif($10::text, 'off')::bigint END,
                client_requests_per_minute = CASE WHEN $11::text IS NULL THEN client_requests_per_minute
                    ELSE nullif($11::text, 'off')::bigint END,
                usersig_failures_per_minute = CASE WHEN $12::text IS NULL THEN usersig_failures_per_minute
                    ELSE nullif($12::text, 'off')::bigint END,
                seconds_between_pushes_to_all = CASE WHEN $13::text IS NULL THEN seconds_between_pushes_to_all
                    ELSE nullif($13::text, 'off')::bigint END,
                pushes_to_all_per_day = CASE WHEN $14::text IS NULL THEN pushes_to_all_per_day
                    ELSE nullif($14::text, 'off')::bigint END,
                extensions = coalesce($17::boolean, extensions),
                updated_at = clock_timestamp()
            WHERE sdk_app_id = $1::bigint
            """,
            parameters + [.text(contentStatePolicy), .boolean(convertsContentState), .boolean(allowsExtensions)],
        )
    }
}
