import Glibc
import LiveActivity

/// `livepush payload start`.
enum PayloadStartCommand: PayloadCommand {
    static let name = "payload start"
    static let summary = "build and check a push that starts a Live Activity (iOS 17.2)"
    static let event = ActivityEvent.start
}

/// `livepush payload update`.
enum PayloadUpdateCommand: PayloadCommand {
    static let name = "payload update"
    static let summary = "build and check a push that updates a Live Activity"
    static let event = ActivityEvent.update
}

/// `livepush payload end`.
enum PayloadEndCommand: PayloadCommand {
    static let name = "payload end"
    static let summary = "build and check a push that ends a Live Activity"
    static let event = ActivityEvent.end
}

/// A command that builds one push. All events take the same options, so that a field which means nothing to an event is
/// named rather than unknown.
protocol PayloadCommand: Command {
    static var event: ActivityEvent { get }
}

extension PayloadCommand {
    static var discussion: String {
        """
        Prints the payload, the headers and a curl command; sends nothing. Every mistake that is known to make a push fail,
        most of them silently, is named on standard error: a warning lets the push be built, a refusal ends with exit code 1.

        Dates are Unix seconds, ISO 8601 such as 2026-11-30T14:00:00Z, or from now on such as +15m (s, m, h). The dates
        inside content-state and attributes are not: see livepush payload date.
        """
    }

    static var options: [CommandOption] { PayloadOptions.all }

    static func run(_ arguments: CommandArguments) async throws {
        let now = Int64(time(nil))
        let options = try PayloadOptions(arguments, event: event, now: now)
        let report = PayloadReport(options, now: now)
        for finding in report.findings {
            StandardOutput.write(error: "\(finding.severity == .warning ? "warning" : "refused"): \(finding)\n")
        }
        if arguments.isSet("json") {
            StandardOutput.write(report.json + "\n")
        } else if report.refusals.isEmpty {
            StandardOutput.write(report.text)
        }
        guard report.refusals.isEmpty else {
            throw CommandFailure("the push cannot work as it is; see what is refused")
        }
    }
}
