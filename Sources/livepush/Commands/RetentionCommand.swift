import Gateway
import PostgresClient

/// `livepush retention`.
enum RetentionCommand: Command {
    static let name = "retention"
    static let summary = "remove what is older than some days; run it once a day"
    static let discussion = """
        Drops the partitions of message and delivery of days that are over for longer than --days, and deletes old rows of
        live_activity (of activities that are over), registration_transfer, registration_clear and alarm, and registrations
        whose token was quarantined more than 7 days ago. Whoever reads or writes goes on meanwhile. Run it as the role
        that ran `livepush migrate`, which owns the tables. Prints one line for each thing it did:

          dropped    the tables of a day
          kept       a day with messages that are not finished: waiting, retried or scheduled
          postponed  a day that somebody has open in a transaction for longer than --lock-timeout
          deleted    rows of a table

        Exits 0 when nothing is left to do, 1 when a day was postponed or another run is under way; the next run goes on
        where this one stopped. A table that was detached and not dropped is found by its name (message_20260131): rename
        one that you want to keep.
        """
    static let options = [
        CommandOption.databaseURL,
        CommandOption(name: "days", kind: .value("N"), help: "whole days to keep, beside today; 30 if absent"),
        CommandOption(name: "dry-run", kind: .flag, help: "say what would be done; change nothing"),
        CommandOption(
            name: "lock-timeout",
            kind: .value("SECONDS"),
            help: "how long a reader may hold up a day before it is postponed; 5 if absent"
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let url = try arguments.required("database-url")
        let days = try arguments.integer("days", in: 1...36_500) ?? 30
        let lockTimeout = try arguments.duration("lock-timeout") ?? .seconds(5)
        guard lockTimeout >= .milliseconds(100) else { throw UsageError("--lock-timeout: at least 0.1 seconds") }
        let isDryRun = arguments.isSet("dry-run")
        let configuration = Retention.Configuration(days: days, lockTimeout: lockTimeout, isDryRun: isDryRun)
        let postponed = try await DatabaseSession.run(url, statementTimeout: lockTimeout + .seconds(600)) {
            _,
            connection in
            var postponed = 0
            let retention = Retention(configuration, in: connection) { event in
                if case .postponed = event { postponed += 1 }
                StandardOutput.write(event.line(isDryRun: isDryRun) + "\n")
            }
            try await retention.run()
            return postponed
        }
        guard postponed == 0 else {
            throw CommandFailure("\(postponed) day\(postponed == 1 ? "" : "s") postponed; the next run tries again")
        }
    }
}
