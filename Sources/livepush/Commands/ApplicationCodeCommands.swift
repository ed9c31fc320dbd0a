import Gateway
import PostgresClient

extension CommandOption {
    fileprivate static let code = CommandOption(
        name: "code",
        kind: .value("CODE"),
        help: "the application code, such as A1B2C-3D4E5: letters, digits and -",
    )
}

/// `livepush app code add`.
enum ApplicationCodeAddCommand: Command {
    static let name = "app code add"
    static let summary = "let Pushwoosh's API be called for an app, under an application code"
    static let discussion = """
        Callers and phones name the app by its code: the one that the app has at Pushwoosh, or one that you make up. Phones
        that register under it get the certificate --business-id. An app may have several codes. A code that is there already
        is changed.
        """
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.code,
        CommandOption(name: "business-id", kind: .value("N"), help: "the certificate of the phones' tokens"),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let businessID = try arguments.requiredInteger("business-id")
        let code = try arguments.required("code")
        guard ApplicationCode.isCode(code) else {
            throw UsageError("--code: expected 1 to 64 letters, digits and -, not '\(code)'")
        }
        let url = try arguments.required("database-url")
        let isDone = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    INSERT INTO application_code (code, sdk_app_id, business_id)
                    SELECT $1::text, sdk_app_id, business_id FROM certificate
                    WHERE sdk_app_id = $2::bigint AND business_id = $3::bigint
                    ON CONFLICT (code) DO UPDATE SET business_id = excluded.business_id
                        WHERE application_code.sdk_app_id = excluded.sdk_app_id
                    """,
                    [.text(code), .integer(id), .integer(businessID)],
                )
            )
            return result.affectedRows == 1
        }
        guard isDone else {
            throw CommandFailure("app \(id) has no certificate \(businessID), or the code belongs to another app")
        }
        StandardOutput.write("Code \(code) means app \(id). Running gateways follow within 5 seconds.\n")
    }
}

/// `livepush app code list`.
enum ApplicationCodeListCommand: Command {
    static let name = "app code list"
    static let summary = "list the application codes"
    static let options = [CommandOption.databaseURL]

    static func run(_ arguments: CommandArguments) async throws {
        let url = try arguments.required("database-url")
        let lines = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT format('%s  app %s  certificate %s', code, sdk_app_id, business_id) FROM application_code
                    ORDER BY sdk_app_id, code
                    """
                )
            )
            return try result.rows.map { try $0.text(0) }
        }
        StandardOutput.write(lines.map { $0 + "\n" }.joined())
    }
}

/// `livepush app code remove`.
enum ApplicationCodeRemoveCommand: Command {
    static let name = "app code remove"
    static let summary = "remove an application code; what phones registered under it stays"
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.code]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let code = try arguments.required("code")
        let url = try arguments.required("database-url")
        let count = try await DatabaseSession.run(url) { _, connection in
            try await connection.run(
                PostgresStatement(
                    "DELETE FROM application_code WHERE sdk_app_id = $1::bigint AND code = $2::text",
                    [.integer(id), .text(code)],
                )
            ).affectedRows
        }
        guard count == 1 else { throw CommandFailure("app \(id) has no code \(code)") }
        StandardOutput.write("Code \(code) is removed. Running gateways follow within 5 seconds.\n")
    }
}
