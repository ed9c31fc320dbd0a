import LiveActivity
import VerbatimJSON

/// Reads what options say about a Live Activity push.
struct PayloadReader {
    let arguments: CommandArguments
    let now: Int64

    func content(_ event: ActivityEvent) throws -> ActivityContent {
        ActivityContent(
            event: event,
            contentState: try json("content-state") ?? [],
            staleDate: try date("stale-date"),
            relevanceScore: arguments.text("relevance-score").map { Array($0.utf8) },
            dismissalDate: try date("dismissal-date"),
            alert: try alert(),
            start: try start(event),
        )
    }

    private func start(_ event: ActivityEvent) throws -> ActivityStart? {
        let type = arguments.text("attributes-type")
        let attributes = try json("attributes")
        let channel = arguments.text("input-push-channel")
        let wantsPushToken = arguments.isSet("input-push-token")
        guard event == .start || type != nil || attributes != nil || channel != nil || wantsPushToken else {
            return nil
        }
        return ActivityStart(
            attributesType: type ?? "",
            attributes: attributes ?? [],
            wantsPushToken: wantsPushToken,
            pushChannel: channel,
        )
    }

    private func alert() throws -> ActivityAlert? {
        let title = try text("title")
        let body = try text("body")
        let sound = arguments.text("sound")
        guard title != nil || body != nil || sound != nil else { return nil }
        return ActivityAlert(title: title, body: body, sound: sound)
    }

    private func text(_ name: String) throws -> AlertText? {
        let words = arguments.text(name)
        let key = arguments.text("\(name)-loc-key")
        let values = arguments.texts("\(name)-loc-arg")
        guard key != nil || !values.isEmpty else { return words.map(AlertText.plain) }
        guard words == nil else { throw UsageError("--\(name) and --\(name)-loc-key: a text is one of them") }
        return .localized(key: key ?? "", arguments: values)
    }

    /// The text as it stands, without white space around it. What is no JSON is left to the check.
    private func json(_ name: String) throws -> [UInt8]? {
        let file = arguments.text("\(name)-file")
        let words = arguments.text(name)
        if file != nil && words != nil { throw UsageError("--\(name) and --\(name)-file: give one of them") }
        guard
            let bytes = try file.map({ try InputFile.read($0, option: "\(name)-file") })
                ?? words.map({ Array($0.utf8) })
        else { return nil }
        return (try? JSONDocument(parsing: bytes)).map { Array($0.root.verbatim) } ?? bytes
    }

    /// Unix seconds, ISO 8601, or `+15m`.
    func date(_ name: String) throws -> Int64? {
        guard let text = arguments.text(name) else { return nil }
        if let seconds = Int64(text), !text.hasPrefix("+") { return seconds }
        if let date = CalendarTime(iso8601: text) { return date.seconds }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
        if text.hasPrefix("+"), let unit = text.last.flatMap({ units[$0] }),
            let count = Int64(text.dropFirst().dropLast()), 0...1_000_000 ~= count
        {
            return now + count * unit
        }
        throw UsageError(
            "--\(name): expected Unix seconds, ISO 8601 with a time zone such as 2026-11-30T14:00:00Z, or +15m"
        )
    }

    func integer(_ name: String) throws -> Int64? {
        guard let text = arguments.text(name) else { return nil }
        guard let value = Int64(text), -1_000_000...1_000_000 ~= value else {
            throw UsageError("--\(name): expected a whole number")
        }
        return value
    }

    func token() throws -> PushToken? {
        guard let text = arguments.text("token") else { return nil }
        do {
            return try PushToken(parsing: text)
        } catch {
            throw UsageError("--token: \(error)")
        }
    }

    func system() throws -> IOSVersion? {
        guard let text = arguments.text("ios-version") else { return nil }
        guard let version = IOSVersion(parsing: text) else {
            throw UsageError("--ios-version: expected a version such as 17.4")
        }
        return version
    }
}
