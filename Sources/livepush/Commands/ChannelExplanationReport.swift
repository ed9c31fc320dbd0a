import Gateway
import LiveActivity

/// What `livepush explain` prints for people of a push to a broadcast channel.
struct ChannelExplanationReport {
    private let explanation: ChannelExplanation

    init(_ explanation: ChannelExplanation) {
        self.explanation = explanation
    }

    var text: String {
        var text = "\(explanation.channelID): \(explanation.isSent ? "gets a push" : "gets nothing")\n"
        for note in explanation.notes {
            text += "  \(note.code): \(note.message)\n"
        }
        text += "  channel:\(state)\n"
        for warning in explanation.message.warnings {
            text += "  warning: \(warning.name): \(warning.message)\n"
        }
        for content in explanation.content ?? [] {
            text += ExplanationReport.describe(content)
        }
        text += "    priority \(explanation.message.priority): \(explanation.priorityMeans)\n"
        let expiration = explanation.message.expiration
        text += "    expires \(expiration == 0 ? "at once: APNs stores nothing" : ExplanationReport.text(expiration))\n"
        text +=
            "    to APNs \(explanation.environment.rawValue), signed with the key of businessId \(explanation.businessID)\n"
        return text
            + ExplanationReport.describe(explanation.headers, explanation.payload, limit: explanation.payloadLimit)
    }

    private var state: String {
        let channel = explanation.channel
        var words: [String] = []
        words.append(channel.storage.map { " storage \($0.word)" } ?? " not known here")
        if let time = channel.createdAt { words.append("made \(ExplanationReport.text(time.seconds))") }
        if let last = channel.lastRequest {
            let outcome = last.outcome ?? "outcome not known"
            let reason = last.reason.map { " \($0)" } ?? ""
            words.append("last \(last.operation) \(ExplanationReport.text(last.at.seconds)): \(outcome)\(reason)")
        }
        return words.joined(separator: ", ")
    }
}
