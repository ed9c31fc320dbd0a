import Glibc
import LiveActivity
import VerbatimJSON

/// `livepush payload date`.
enum PayloadDateCommand: Command {
    static let name = "payload date"
    static let summary = "convert a date between Unix seconds, seconds since 2001 and ISO 8601"
    static let discussion = """
        A Date in content-state and attributes is a number of seconds since 2001, since ActivityKit decodes with JSONDecoder's
        defaults. APNs' own dates, such as stale-date, are Unix seconds. Both differ by 978307200: as a Date, today's Unix
        seconds are 31 years ahead.

        DATE is ISO 8601 with a time zone (2026-11-30T14:00:00Z), or a number whose unit is guessed unless --as names it:
        seconds since 2001 within ten years of now, else Unix seconds, or milliseconds where they are too large. Now if absent.
        """
    static let operands = ["[DATE]"]
    static let options = [
        CommandOption(
            name: "as",
            kind: .value("unix|2001|milliseconds"),
            help: "what a number is; milliseconds are those since 1970",
        ),
        CommandOption(name: "json", kind: .flag, help: "print one JSON object"),
    ]

    private enum Unit: String, CaseIterable {
        case unix
        case reference = "2001"
        case milliseconds

        var words: String {
            switch self {
            case .unix: "Unix seconds"
            case .reference: "seconds since 2001"
            case .milliseconds: "milliseconds since 1970"
            }
        }
    }

    static func run(_ arguments: CommandArguments) async throws {
        let now = Int64(time(nil))
        let unit = try arguments.oneOf("as", Unit.allCases.map(\.rawValue)).flatMap(Unit.init(rawValue:))
        let (date, readAs) = arguments.operand.map { read($0, unit, now: now) } ?? (CalendarTime(seconds: now), nil)
        guard let date else {
            let hint = "a number, or ISO 8601 with a time zone such as 2026-11-30T14:00:00Z"
            throw UsageError("DATE: expected \(hint), of no more than some 30,000 years from now")
        }
        if arguments.isSet("json") {
            StandardOutput.write(json(date) + "\n")
            return
        }
        if let readAs { StandardOutput.write("Read as \(readAs.words).\n") }
        let forms = [
            (date.iso8601, "ISO 8601"),
            (date.unixSeconds, "Unix seconds: timestamp, stale-date, dismissal-date, apns-expiration"),
            (date.secondsSinceReferenceDate, "seconds since 2001: a Date in content-state and attributes"),
        ]
        let width = forms.map(\.0.count).max() ?? 0
        for (value, meaning) in forms {
            StandardOutput.write(value + String(repeating: " ", count: width - value.count + 2) + meaning + "\n")
        }
    }

    /// - Returns: the date, nil if there is none, and the unit where one had to be guessed.
    private static func read(_ text: String, _ unit: Unit?, now: Int64) -> (CalendarTime?, Unit?) {
        switch unit {
        case .unix: return (CalendarTime(decimal: text), nil)
        case .reference: return (CalendarTime(decimal: text, since: .reference), nil)
        case .milliseconds: return (Int64(text).flatMap(CalendarTime.init(milliseconds:)), nil)
        case nil: break
        }
        if let date = CalendarTime(iso8601: text) { return (date, nil) }
        let whole = Int64(text) ?? CalendarTime(decimal: text)?.seconds
        guard let whole else { return (nil, nil) }
        switch UnixSecondsCheck.classify(whole, now: now) {
        case .plausible, .negative: return (CalendarTime(decimal: text), .unix)
        case .referenceDate: return (CalendarTime(decimal: text, since: .reference), .reference)
        case .milliseconds: return (CalendarTime(milliseconds: whole), .milliseconds)
        }
    }

    private static func json(_ date: CalendarTime) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("iso8601", date.iso8601)
        writer.member("unixSeconds", raw: Array(date.unixSeconds.utf8))
        writer.member("secondsSince2001", raw: Array(date.secondsSinceReferenceDate.utf8))
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
