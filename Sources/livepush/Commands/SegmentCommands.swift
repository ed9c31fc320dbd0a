import Gateway
import PostgresClient

extension CommandOption {
    fileprivate static let segment = CommandOption(
        name: "segment",
        kind: .value("NAME"),
        help: "the segment, 1 to 128 bytes",
    )
    fileprivate static let accounts = CommandOption(
        name: "account",
        kind: .values("ACCOUNT"),
        help: "who; repeatable",
    )
    fileprivate static let installation = CommandOption(
        name: "installation",
        kind: .value("ID"),
        help: "only this phone of the account; absent: all of them",
    )
}

/// `livepush segment list`.
enum SegmentListCommand: Command {
    static let name = "segment list"
    static let summary = "list an app's segments and how many are in each"
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let url = try arguments.required("database-url")
        let lines = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT format('%s  %s accounts, %s single phones', name, count(*) FILTER (WHERE installation IS NULL),
                        count(installation))
                    FROM segment WHERE sdk_app_id = $1::bigint GROUP BY name ORDER BY name
                    """,
                    [.integer(id)],
                )
            )
            return try result.rows.map { try $0.text(0) }
        }
        StandardOutput.write(lines.map { $0 + "\n" }.joined())
    }
}

/// `livepush segment show`.
enum SegmentShowCommand: Command {
    static let name = "segment show"
    static let summary = "print who is in a segment, as CSV that can be imported"
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.segment]

    private static let pageSize: Int64 = 10_000

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let segment = try arguments.required("segment")
        let url = try arguments.required("database-url")
        try await DatabaseSession.run(url) { _, connection in
            var last = (account: "", installation: "")
            StandardOutput.write("account,installation\n")
            while true {
                let result = try await connection.run(
                    PostgresStatement(
                        """
                        SELECT account, coalesce(installation, '') FROM segment
                        WHERE sdk_app_id = $1::bigint AND name = $2::text
                            AND (account, coalesce(installation, '')) > ($3::text, $4::text)
                        ORDER BY account, coalesce(installation, '') LIMIT $5::bigint
                        """,
                        [
                            .integer(id), .text(segment), .text(last.account), .text(last.installation),
                            .integer(pageSize),
                        ],
                    )
                )
                guard !result.rows.isEmpty else { return }
                var page = ""
                for row in result.rows {
                    last = (try row.text(0), try row.text(1))
                    page += "\(field(last.account)),\(last.installation)\n"
                }
                StandardOutput.write(page)
            }
        }
    }

    /// A field as RFC 4180 has it.
    private static func field(_ text: String) -> String {
        guard text.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}

/// `livepush segment add`.
enum SegmentAddCommand: Command {
    static let name = "segment add"
    static let summary = "put accounts, or one phone of an account, into a segment"
    static let discussion = """
        A segment is there as soon as somebody is in it. Messages go to whoever is in it when they are sent.
        """
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.segment, CommandOption.accounts,
        CommandOption.installation,
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let segment = try arguments.segment()
        let members = try arguments.members()
        let url = try arguments.required("database-url")
        let added = try await DatabaseSession.run(url) { _, connection in
            guard try await isKnown(id, in: connection) else { throw CommandFailure("there is no app \(id)") }
            return try await connection.run(
                PostgresStatement(
                    """
                    INSERT INTO segment (sdk_app_id, name, account, installation)
                    SELECT $1::bigint, $2::text, * FROM unnest($3::text[], $4::text[]) ON CONFLICT DO NOTHING
                    """,
                    [
                        .integer(id), .text(segment), .texts(members.map(\.account)),
                        .texts(members.map(\.installation)),
                    ],
                )
            ).affectedRows
        }
        StandardOutput.write("Added: \(added)\n")
    }

    static func isKnown(_ id: Int64, in connection: PostgresConnection) async throws(PostgresError) -> Bool {
        let result = try await connection.run(
            PostgresStatement("SELECT EXISTS (SELECT FROM app WHERE sdk_app_id = $1::bigint)", [.integer(id)])
        )
        return try result.rows.first?.boolean(0) ?? false
    }
}

/// `livepush segment remove`.
enum SegmentRemoveCommand: Command {
    static let name = "segment remove"
    static let summary = "take accounts, or one phone of an account, out of a segment, or remove all of it"
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.segment, CommandOption.accounts,
        CommandOption.installation,
        CommandOption(name: "all", kind: .flag, help: "everybody"),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let segment = try arguments.segment()
        let takesAll = arguments.isSet("all")
        guard takesAll != !arguments.texts("account").isEmpty else { throw UsageError("--account or --all is needed") }
        let members = takesAll ? [] : try arguments.members()
        let url = try arguments.required("database-url")
        let removed = try await DatabaseSession.run(url) { _, connection in
            try await connection.run(
                PostgresStatement(
                    """
                    DELETE FROM segment
                    WHERE sdk_app_id = $1::bigint AND name = $2::text AND ($5::boolean OR EXISTS (
                        SELECT FROM unnest($3::text[], $4::text[]) AS gone (account, installation)
                        WHERE gone.account = segment.account
                            AND coalesce(gone.installation, '') = coalesce(segment.installation, '')))
                    """,
                    [
                        .integer(id), .text(segment), .texts(members.map(\.account)),
                        .texts(members.map(\.installation)), .boolean(takesAll),
                    ],
                )
            ).affectedRows
        }
        guard removed > 0 else { throw CommandFailure("none of them is in the segment") }
        StandardOutput.write("Removed: \(removed)\n")
    }
}

/// `livepush segment import`.
enum SegmentImportCommand: Command {
    static let name = "segment import"
    static let summary = "put those into a segment whom a CSV file names"
    static let discussion = """
        FILE is CSV (RFC 4180) in UTF-8; - reads standard input. Its first line is

          account                  or
          account,installation     an empty installation stands for all phones of the account

        All of it is imported, or nothing where a line is wrong.
        """
    static let operands = ["FILE"]
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.segment,
        CommandOption(name: "replace", kind: .flag, help: "whoever is not in the file leaves the segment"),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let path = try arguments.requiredOperand("FILE")
        let id = try arguments.requiredInteger("sdk-app-id")
        let segment = try arguments.segment()
        let replaces = arguments.isSet("replace")
        let url = try arguments.required("database-url")
        let counts = try await DatabaseSession.run(url, statementTimeout: .seconds(300)) { _, connection in
            guard try await SegmentAddCommand.isKnown(id, in: connection) else {
                throw CommandFailure("there is no app \(id)")
            }
            let file = try ImportFile(path: path)
            do {
                return try await SegmentImport(of: segment, in: id, replaces: replaces, from: file, in: connection)
                    .run()
            } catch let refused as SegmentImport.Refused {
                throw CommandFailure("nothing was imported:\n\(refused)")
            }
        }
        let removed = replaces ? ", \(counts.removed) removed" : ""
        StandardOutput.write("Done: \(counts.lines) lines, \(counts.added) added\(removed)\n")
    }
}

extension CommandArguments {
    fileprivate func segment() throws -> String {
        let name = try required("segment")
        do throws(RegistrationFault) {
            return try SegmentMember.segment(name)
        } catch {
            throw UsageError("--segment: \(error.message)")
        }
    }

    fileprivate func members() throws -> [SegmentMember] {
        let accounts = texts("account")
        guard !accounts.isEmpty else { throw UsageError("--account is needed") }
        let installation = text("installation")
        guard installation == nil || accounts.count == 1 else {
            throw UsageError("--installation goes with one --account")
        }
        return try accounts.map { account in
            do throws(RegistrationFault) {
                return try SegmentMember(account: account, installation: installation)
            } catch {
                throw UsageError("--\(error.field): \(error.message)")
            }
        }
    }
}
