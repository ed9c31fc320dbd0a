import Gateway
import PostgresClient

/// `livepush registrations import`.
enum RegistrationsImportCommand: Command {
    static let name = "registrations import"
    static let summary = "import device, activity and push-to-start tokens from a CSV file"
    static let discussion = """
        FILE is CSV (RFC 4180) in UTF-8; - reads standard input. Its first line names the columns, in any order:

          kind                     device, activity or start
          account                  1 to 128 bytes
          installation             your id of this installation of the app: 1 to 64 of A-Z a-z 0-9 . _ -
          token                    hex or base64, 32 to 256 bytes
          business_id              of `livepush certificate add`
          la_id                    of an activity: its LaId, 1 to 64 bytes
          attributes_type          of a start token, and of an activity if known: the name of its ActivityAttributes
                                   type, 1 to 128 bytes
          environment              sandbox or production; empty: found out with the first push
          os_version, app_version, language, notification_permission, frequent_pushes_enabled (true or false),
          started_at (Unix seconds)

        The first five must be there, la_id for activities, attributes_type for start tokens; an empty field says
        nothing. A column of another kind is ignored, an unknown one refuses the file. The rules are those of PUT under
        /v1.

        What a phone registered or cleared itself stays as it is, unless --replace is given. Of two lines with the same
        installation or token the later one wins. An import that was interrupted goes on where it stopped when it is
        given the same file again; a file that was finished is left alone, unless --again is given. Standard input is
        always read from its beginning; what is imported already does not change.

        Refused lines go into a report with line, field and reason, never with what the line holds. The others are
        imported. Exits 0 if none was refused, 1 if some were, now or when the same file was imported before, or if the
        import could not be finished.
        """
    static let operands = ["FILE"]
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID,
        CommandOption(
            name: "report",
            kind: .value("FILE"),
            help: "where refused lines are reported; FILE.refused.csv if absent, needed with standard input",
        ),
        CommandOption(name: "replace", kind: .flag, help: "overwrite also what phones registered themselves"),
        CommandOption(name: "again", kind: .flag, help: "begin anew with a file that was imported before"),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let path = try arguments.requiredOperand("FILE")
        let options = RegistrationImport.Options(
            sdkAppID: try arguments.requiredInteger("sdk-app-id"),
            replaces: arguments.isSet("replace"),
            isAnew: arguments.isSet("again"),
        )
        let url = try arguments.required("database-url")
        guard let report = arguments.text("report") ?? (path == "-" ? nil : path + ".refused.csv") else {
            throw UsageError("--report is needed with standard input")
        }
        let (refused, before) = try await DatabaseSession.run(url, statementTimeout: .seconds(300)) { _, connection in
            var (refused, before): (Int64, Int64) = (0, 0)
            let run = RegistrationImport(
                options,
                of: try ImportFile(path: path),
                report: RefusalReport(path: report),
                in: connection,
            ) { event in
                switch event {
                case .finished(let counts): refused = counts.refused
                case .finishedBefore(let counts): before = counts.refused
                case .resumed, .advanced: break
                }
                StandardOutput.write(line(for: event) + "\n")
            }
            try await run.run()
            return (refused, before)
        }
        guard before == 0 else {
            throw CommandFailure("\(lines(before)) refused then; --again reports them anew")
        }
        guard refused == 0 else {
            throw CommandFailure("\(lines(refused)) refused; see \(report)")
        }
    }

    private static func lines(_ count: Int64) -> String { "\(count) line\(count == 1 ? " was" : "s were")" }

    private static func line(for event: RegistrationImport.Event) -> String {
        switch event {
        case .finishedBefore(let counts):
            "This file was imported before: \(text(counts)). To import it once more: --again"
        case .resumed(let line): "Going on with line \(line)"
        case .advanced(let counts): "So far \(text(counts))"
        case .finished(let counts): "Done: \(text(counts))"
        }
    }

    private static func text(_ counts: ImportCounts) -> String {
        "\(counts.total) registrations, \(counts.imported) imported, \(counts.unchanged) unchanged, "
            + "\(counts.kept) kept, \(counts.refused) refused"
    }
}
