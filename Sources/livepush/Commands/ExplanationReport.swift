import Gateway
import LiveActivity
import VerbatimJSON

/// What `livepush explain` prints for people.
struct ExplanationReport {
    private let root: JSONValue?
    private let explanations: [RecipientExplanation]
    private let notes: [RecipientExplanation.Note]

    /// - Parameter answer: the API's answer, for what it says of the request as a whole.
    init(answer: [UInt8], _ explanations: [RecipientExplanation], _ notes: [RecipientExplanation.Note]) {
        self.notes = notes
        root = (try? JSONDocument(parsing: answer))?.root
        self.explanations = explanations
    }

    /// Recipients to whom nothing goes, those that the API leaves out included.
    var accountsWithoutPush: [String] {
        explanations.filter { $0.result == .nothing }.map(\.account) + failures.compactMap { $0["To_Account"]?.string }
    }

    private var failures: [JSONValue] { root?["ErrorList"]?.elements ?? [] }

    var text: String {
        var text = ""
        for warning in root?["Warnings"]?.elements ?? [] {
            let field = warning["Field"]?.string ?? ""
            text += "warning: \(field): \(warning["Message"]?.string ?? "")\n"
        }
        for note in notes {
            text += "\(note.code): \(note.message)\n"
        }
        for failure in failures {
            let code = failure["ErrorCode"]?.integer.map { String($0) } ?? ""
            text += "\(failure["To_Account"]?.string ?? ""): refused with \(code)\n"
        }
        return text + explanations.map { describe($0) }.joined(separator: "\n")
    }

    private func describe(_ recipient: RecipientExplanation) -> String {
        let result =
            switch recipient.result {
            case .push: "gets a push"
            case .later: "gets nothing yet; the message waits"
            case .cancelled: "gets nothing more: what waits is cancelled"
            case .nothing: "gets nothing"
            }
        var text = "\(recipient.account): \(result)\n"
        if let revoked = recipient.revoked {
            text += describe(revoked)
        }
        for note in recipient.notes {
            text += "  \(note.code): \(note.message)\n"
        }
        if recipient.revoked == nil || !recipient.registrations.isEmpty {
            text += "  registered:\(recipient.registrations.isEmpty ? " nothing that matters here" : "")\n"
        }
        for registration in recipient.registrations {
            text += "    \(describe(registration, at: recipient.at))\n"
        }
        for target in recipient.targets {
            text += describe(target)
        }
        return text
    }

    private func describe(_ revoked: RecipientExplanation.Revoked) -> String {
        guard !revoked.isUnderWay else {
            return "  a push is under way: what APNs accepts of it is shown, and then replaced\n"
        }
        let until = revoked.until.map { " until \(Self.text($0.seconds))" } ?? ""
        let why = revoked.reason.isEmpty ? "" : " (\(revoked.reason))"
        return "  cancelled: what waits\(until)\(why)\n"
    }

    private func describe(_ registration: RecipientExplanation.Registration, at now: UnixTime) -> String {
        var words = [registration.kind]
        words += [registration.laID, registration.attributesType].compactMap { $0 }
        words += [
            "of \(registration.installation),", "token \(registration.tokenFingerprint),",
            "\(registration.state),", "registered \(age(now - registration.registeredAt)) ago,",
            "\(registration.environment ?? "environment not known"),", "businessId \(registration.businessID)",
        ]
        if registration.bundleID == nil { words.append("(no such certificate)") }
        if let version = registration.appVersion { words.append(", app \(version)") }
        if let system = registration.osVersion { words.append(", iOS \(system)") }
        if let until = registration.foregroundUntil, now < until { words.append(", app in front") }
        if let outcome = registration.lastOutcome { words.append(", last push \(outcome)") }
        return words.joined(separator: " ").split(separator: " ,").joined(separator: ",")
    }

    private func age(_ duration: Duration) -> String {
        let seconds = max(duration.components.seconds, 0)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) days"
        }
    }

    static func text(_ seconds: Int64) -> String {
        CalendarTime(seconds: seconds)?.iso8601 ?? String(seconds)
    }

    private func describe(_ target: RecipientExplanation.Target) -> String {
        let place = target.installation.map { "\(target.route) to \($0)" } ?? "no push"
        let means = ReasonText.of(target.reason).map { ": \($0)" } ?? ""
        var text = "  \(place): \(target.outcome), \(target.reason)\(means)\n"
        if let detail = target.detail { text += "    \(detail)\n" }
        if let until = target.waitsUntil { text += "    waits until \(Self.text(until.seconds))\n" }
        if let content = target.content { text += Self.describe(content) }
        for note in target.notes {
            text += "    \(note.code): \(note.message)\n"
        }
        if let push = target.push { text += describe(push) }
        return text
    }

    private func describe(_ push: RecipientExplanation.Push) -> String {
        let means = ReasonText.of(push.priorityReason).map { ": \($0)" } ?? ""
        var text = "    priority \(push.priority), \(push.priorityReason)\(means)\n"
        text += "    expires \(Self.text(push.expiration))\n"
        text += "    to APNs \(push.environment.rawValue), signed with the key of businessId \(push.businessID)\n"
        return text + Self.describe(push.headers, push.payload, limit: PayloadLimit.bytes)
    }

    static func describe(_ content: RecipientExplanation.ContentVerdict) -> String {
        var text = "    schema: \(content.word)\(content.schema.map { " by \($0)" } ?? "")\n"
        for notice in content.notices {
            text += "      \(notice.part.rawValue)\(notice.place): \(notice.message)\n"
        }
        return text
    }

    static func describe(_ headers: [(name: String, value: String)], _ payload: [UInt8], limit: Int) -> String {
        var text = ""
        for (name, value) in headers {
            text += "      \(name): \(value)\n"
        }
        text += "    payload, \(payload.count) of \(limit) bytes:\n"
        return text + "      \(String(decoding: payload, as: UTF8.self))\n"
    }
}
