import PostgresClient

/// `livepush scheduled list`.
enum ScheduledListCommand: Command {
    static let name = "scheduled list"
    static let summary = "list the messages that wait for their time"
    static let options = [
        CommandOption.databaseURL,
        CommandOption(name: "sdk-app-id", kind: .value("N"), help: "only this app's"),
        CommandOption(name: "all", kind: .flag, help: "also those that were cancelled"),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.integer("sdk-app-id", in: 1...Int64.max)
        let all = arguments.isSet("all")
        let url = try arguments.required("database-url")
        let lines = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT concat_ws('  ', to_char(send_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                        sdk_app_id, msg_key, endpoint, event || ' of ' || la_id, recipients || ' accounts',
                        CASE WHEN cancelled_at IS NULL THEN state ELSE 'cancelled by ' || cancelled_by END)
                    FROM scheduled
                    WHERE sdk_app_id = coalesce($1::bigint, sdk_app_id) AND ($2::boolean OR cancelled_at IS NULL)
                    """,
                    [.integer(id), .boolean(all)],
                )
            )
            return try result.rows.map { try $0.text(0) }
        }
        StandardOutput.write(lines.map { $0 + "\n" }.joined())
    }
}

/// `livepush scheduled show`.
enum ScheduledShowCommand: Command {
    static let name = "scheduled show"
    static let summary = "show a message that waits for its time, without what it says"
    static let operands = ["KEY"]
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID]

    static func run(_ arguments: CommandArguments) async throws {
        let key = try arguments.requiredOperand("KEY")
        let id = try arguments.requiredInteger("sdk-app-id")
        let url = try arguments.required("database-url")
        let messages = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT jsonb_pretty(jsonb_strip_nulls(to_jsonb(shown))) FROM (
                        SELECT msg_key, dialect, endpoint, sender, la_id, event,
                            CASE WHEN cancelled_at IS NULL THEN 'waiting' ELSE 'cancelled' END AS state,
                            accepted_at, send_at, send_at + lifetime * interval '1 second' AS deadline,
                            cancelled_at, cancelled_by, recipients, erased_accounts
                        FROM scheduled_message WHERE sdk_app_id = $1::bigint AND msg_key = $2::text ORDER BY id DESC
                    ) AS shown
                    """,
                    [.integer(id), .text(key)],
                )
            )
            return try result.rows.map { try $0.text(0) }
        }
        guard !messages.isEmpty else { throw CommandFailure(ScheduledCancelCommand.missing(key)) }
        StandardOutput.write(messages.map { $0 + "\n" }.joined())
    }
}

/// `livepush scheduled cancel`.
enum ScheduledCancelCommand: Command {
    static let name = "scheduled cancel"
    static let summary = "cancel a message that waits for its time, and erase what it says"
    static let discussion = """
        That it was cancelled, when and by whom stays written down. What is sent already cannot be cancelled.
        """
    static let operands = ["KEY"]
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID]

    static func run(_ arguments: CommandArguments) async throws {
        let key = try arguments.requiredOperand("KEY")
        let id = try arguments.requiredInteger("sdk-app-id")
        let url = try arguments.required("database-url")
        let count = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    "SELECT cancel_scheduled($1::bigint, $2::text, 'livepush scheduled cancel, ' || session_user)",
                    [.integer(id), .text(key)],
                )
            )
            return try result.rows.first?.integer(0) ?? 0
        }
        guard count > 0 else { throw CommandFailure(missing(key)) }
        StandardOutput.write("Cancelled: \(count).\n")
    }

    static func missing(_ key: String) -> String {
        "no message waits under \(key): it was sent, was cancelled before, or never was"
    }
}
