import Gateway
import HTTPServer
import VerbatimJSON

extension ClientAnswer {
    /// The answer to a push to a channel that is only explained: the one that sending would get, without a request id,
    /// and `explain`.
    static func explanation(_ explanation: ChannelExplanation) -> HTTPResponse {
        object { writer in
            writer.member("bundleId", explanation.bundleID)
            writer.member("environment", explanation.environment.rawValue)
            writer.member("requestId", "")
            writer.member("outcome", explanation.isSent ? "to_be_sent" : "refused")
            writer.members(of: explanation.message)
            writer.key("explain")
            writer.beginObject()
            writer.member("result", explanation.isSent ? "push" : "nothing")
            writer.member("businessId", explanation.businessID)
            writer.key("headers")
            writer.beginObject()
            for (name, value) in explanation.headers {
                writer.member(name, value)
            }
            writer.endObject()
            writer.member("payload", raw: explanation.payload)
            writer.member("payloadLimit", explanation.payloadLimit)
            writer.member("priorityReason", explanation.priorityReason)
            writer.member("priorityMeans", explanation.priorityMeans)
            writer.state(of: explanation)
            if let content = explanation.content {
                writer.content(content)
            }
            writer.notes(explanation.notes)
            writer.endObject()
        }
    }
}

extension JSONWriter {
    fileprivate mutating func state(of explanation: ChannelExplanation) {
        let state = explanation.channel
        key("channel")
        beginObject()
        member("channelId", explanation.channelID)
        nullable("storage", state.storage?.word)
        member("createdAt", state.createdAt?.seconds)
        member("lastTimestamp", state.lastTimestamp == 0 ? nil : state.lastTimestamp)
        if let last = state.lastRequest {
            key("lastRequest")
            beginObject()
            member("operation", last.operation)
            member("at", last.at.seconds)
            nullable("outcome", last.outcome)
            member("reason", last.reason)
            endObject()
        }
        endObject()
    }

    fileprivate mutating func content(_ verdicts: [RecipientExplanation.ContentVerdict]) {
        key("content")
        beginArray()
        for verdict in verdicts {
            beginObject()
            member("verdict", verdict.word)
            member("schema", verdict.schema)
            if !verdict.notices.isEmpty {
                key("notices")
                beginArray()
                for notice in verdict.notices {
                    beginObject()
                    member("place", notice.part.rawValue + notice.place)
                    member("code", notice.code.rawValue)
                    member("message", notice.message)
                    endObject()
                }
                endArray()
            }
            endObject()
        }
        endArray()
    }

    fileprivate mutating func notes(_ notes: [RecipientExplanation.Note]) {
        guard !notes.isEmpty else { return }
        key("warnings")
        beginArray()
        for note in notes {
            beginObject()
            member("code", note.code)
            member("message", note.message)
            endObject()
        }
        endArray()
    }
}
