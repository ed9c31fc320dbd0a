import Gateway
import HTTPServer
import Logging
import PostgresClient
import VerbatimJSON

/// `livepush explain`.
enum ExplainCommand: Command {
    static let name = "explain"
    static let summary = "tell what would become of a message, and send nothing"
    static let operands = ["FILE"]
    static let discussion = """
        Reads the body of a request from FILE, - for standard input, and tells for each recipient which registrations are
        found, what would go where and why, and every warning. Nothing is sent and nothing is written. The gateway answers
        the same to a request with explain=1 in its URL.

        It asks the database itself, with the rights of a gateway or of the owner, and needs LIVEPUSH_MASTER_KEY. Where
        serve runs with other rules than the defaults, give it the same ones.

        PATH is any that sends: also /v1/channels/ID/messages, a / of the id as %2F, and /v4/timpush/revoke.

        Exit code 1 if a recipient gets nothing, or the request is refused.
        """
    /// By which a gateway decides.
    private static let rules = [
        "activity-interval", "activity-budget", "activity-budget-frequent", "start-expiration", "start-token-wait",
        "start-guard-limit", "start-guard-window", "start-guard-policy",
    ]
    static let options =
        [
            CommandOption.databaseURL, CommandOption.sdkAppID,
            CommandOption(
                name: "path",
                kind: .value("PATH"),
                help: "where the request would go; /v4/openim/sendmsg if absent",
            ),
            CommandOption(name: "json", kind: .flag, help: "print the API's answer, with an array Explain"),
        ] + ServeCommand.options.filter { rules.contains($0.name) }

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let file = try arguments.requiredOperand("FILE")
        let path = arguments.text("path") ?? "/v4/openim/sendmsg"
        guard path.hasPrefix("/"), !path.contains("?") else {
            throw UsageError("--path: expected a path such as /v4/openim/sendmsg, without a query")
        }
        let configuration = try ServeConfiguration.gateway(arguments)
        let seal = try arguments.secretSeal()
        let body = try InputFile.read(file, option: nil)
        let application = try await StoredApplication.load(id, arguments)
        let (administrator, signature) = try application.administratorSignature(sdkAppID: id)
        let request = HTTPRequest(
            method: "POST",
            path: path,
            query: "sdkappid=\(id)&identifier=\(SendCommand.percentEncoded(administrator))"
                + "&usersig=\(SendCommand.percentEncoded(signature))&contenttype=json&explain=1",
            headers: ["Authorization": "Bearer \(signature)"],
            body: body,
            remoteAddress: "",
        )
        let (answer, explanations, notes, channel) = try await DatabaseSession.run(configuration.databaseURL) {
            session,
            connection in
            let clock = try await connection.run(PostgresStatement("SELECT clock_timestamp()"))
            let now = UnixTime(microseconds: try clock.rows.first?.timestampMicroseconds(0) ?? 0)
            let logger = Logger(minimumLevel: .error)
            let pool = session.openPool(configuration.databaseURL, logger: logger)
            defer { pool.close() }
            let directory = ApplicationDirectory(seal: seal, logger: logger)
            try await directory.reload(from: pool)
            let explainer = MessageExplainer(
                pool: pool,
                directory: directory,
                configuration: configuration,
                logger: logger,
            ) { now }
            let answer = await ExplainedRequest.response(to: request, by: explainer, logger: nil)
            return (
                answer.body, explainer.hasExplained ? explainer.explanations : nil, explainer.notes,
                explainer.explainedChannel
            )
        }
        let isJSON = arguments.isSet("json")
        if isJSON {
            StandardOutput.write(String(decoding: answer, as: UTF8.self) + "\n")
        }
        if let channel {
            if !isJSON { StandardOutput.write(ChannelExplanationReport(channel).text) }
            guard channel.isSent else { throw CommandFailure("nothing goes to anybody") }
            return
        }
        guard let explanations else {
            throw CommandFailure("the request is refused: \(refusal(in: answer))")
        }
        let report = ExplanationReport(answer: answer, explanations, notes)
        if !isJSON {
            StandardOutput.write(report.text)
        }
        guard !explanations.isEmpty || notes.contains(where: { $0.code == "scheduled" }) else {
            throw CommandFailure("nothing goes to anybody")
        }
        let missed = report.accountsWithoutPush
        guard missed.isEmpty else {
            throw CommandFailure("nothing goes to \(missed.joined(separator: ", "))")
        }
    }

    /// What stands in an answer without an explanation, in whatever API's form.
    private static func refusal(in answer: [UInt8]) -> String {
        let root = (try? JSONDocument(parsing: answer))?.root
        if let code = root?["ErrorCode"]?.integer, let info = root?["ErrorInfo"]?.string { return "\(code) \(info)" }
        if let code = root?["status_code"]?.integer, let info = root?["status_message"]?.string {
            return "\(code) \(info)"
        }
        return root?["error"]?["message"]?.string ?? String(decoding: answer, as: UTF8.self)
    }
}
