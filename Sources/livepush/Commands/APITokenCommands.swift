import Gateway
import PostgresClient

extension CommandOption {
    fileprivate static let tokenName = CommandOption(name: "name", kind: .value("NAME"), help: "a name for people")
}

/// `livepush app token add`.
enum APITokenAddCommand: Command {
    static let name = "app token add"
    static let summary = "make an API token for Pushwoosh's API, shown this once"
    static let discussion = """
        server: for backends, may send. device: for the iOS app, may register phones and nothing else, since everybody who
        has the app can read it there. Nothing proves to the gateway that a phone is the user's whose userId it tells, as with
        Pushwoosh: whoever has a device token can register as anybody.

        Only a digest of the token is stored.
        """
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.tokenName,
        CommandOption(name: "scope", kind: .value("server|device"), help: "what it is good for"),
        CommandOption(
            name: "token-file",
            kind: .value("FILE"),
            help: "a token that you have already, of 20 characters at least; - reads standard input. Absent: a new one",
        ),
    ]

    /// So long that nobody finds one by trying.
    private static let fewestCharacters = 20

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let tokenName = try arguments.required("name")
        guard 1...64 ~= tokenName.utf8.count else { throw UsageError("--name: expected 1 to 64 bytes") }
        let words = APIToken.Scope.allCases.map(\.rawValue)
        guard let scope = try arguments.oneOf("scope", words) else {
            throw UsageError("--scope is needed: \(words.joined(separator: " or "))")
        }
        let url = try arguments.required("database-url")
        let given = try arguments.text("token-file").map { try InputFile.readTrimmed($0, option: "token-file") }
        let token = given.map { String(decoding: $0, as: UTF8.self) } ?? newToken()
        guard token.utf8.count >= fewestCharacters, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CommandFailure("--token-file: expected \(fewestCharacters) printable characters or more")
        }
        let digest = APIToken.digest(of: token)
        let count = try await DatabaseSession.run(url) { _, connection in
            try await connection.run(
                PostgresStatement(
                    """
                    INSERT INTO api_token (sdk_app_id, name, scope, digest)
                    SELECT sdk_app_id, $2::text, $3::text, $4::bytea FROM app WHERE sdk_app_id = $1::bigint
                    ON CONFLICT DO NOTHING
                    """,
                    [.integer(id), .text(tokenName), .text(scope), .bytes(digest)],
                )
            ).affectedRows
        }
        guard count == 1 else {
            throw CommandFailure("there is no app \(id), or it has a token \(tokenName), or an app has this very token")
        }
        StandardOutput.write(given == nil ? token + "\n" : "Token \(tokenName) is set up.\n")
    }

    private static func newToken() -> String {
        var numbers = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let digits = String(numbers.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// `livepush app token list`.
enum APITokenListCommand: Command {
    static let name = "app token list"
    static let summary = "list the API tokens by their names"
    static let options = [CommandOption.databaseURL]

    static func run(_ arguments: CommandArguments) async throws {
        let url = try arguments.required("database-url")
        let lines = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT format('app %s  %s  %s  added %s', sdk_app_id, name, scope,
                        to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
                    FROM api_token ORDER BY sdk_app_id, name
                    """
                )
            )
            return try result.rows.map { try $0.text(0) }
        }
        StandardOutput.write(lines.map { $0 + "\n" }.joined())
    }
}

/// `livepush app token remove`.
enum APITokenRemoveCommand: Command {
    static let name = "app token remove"
    static let summary = "remove an API token: nobody gets in with it any more"
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.tokenName]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let tokenName = try arguments.required("name")
        let url = try arguments.required("database-url")
        let count = try await DatabaseSession.run(url) { _, connection in
            try await connection.run(
                PostgresStatement(
                    "DELETE FROM api_token WHERE sdk_app_id = $1::bigint AND name = $2::text",
                    [.integer(id), .text(tokenName)],
                )
            ).affectedRows
        }
        guard count == 1 else { throw CommandFailure("app \(id) has no token \(tokenName)") }
        StandardOutput.write("Token \(tokenName) is removed. Running gateways follow within 5 seconds.\n")
    }
}
