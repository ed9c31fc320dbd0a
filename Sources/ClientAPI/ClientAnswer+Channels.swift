import Gateway
import HTTPServer
import LiveActivity
import VerbatimJSON

extension ClientAnswer {
    /// The answer to a request about channels that APNs granted.
    static func channels(_ answer: ChannelAnswer) -> HTTPResponse {
        object { writer in
            writer.member("bundleId", answer.bundleID)
            writer.member("environment", answer.environment.rawValue)
            writer.member("requestId", answer.requestID)
            switch answer.outcome {
            case .channel(let id, let storage):
                writer.member("channelId", id)
                writer.member("storage", storage.word)
            case .channels(let channels):
                writer.key("channels")
                writer.beginArray()
                for channel in channels {
                    writer.beginObject()
                    writer.member("channelId", channel.id)
                    writer.nullable("storage", channel.storage?.word)
                    writer.endObject()
                }
                writer.endArray()
            case .deleted(let wasRegistered):
                writer.member("deleted", true)
                writer.member("wasRegistered", wasRegistered)
            case .sent(let message):
                writer.member("outcome", "accepted_by_apns")
                writer.members(of: message)
            }
        }
    }
}

extension JSONWriter {
    /// What was decided about a push.
    mutating func members(of message: SentChannelMessage) {
        member("timestamp", message.timestamp)
        member("priority", message.priority)
        member("expiration", message.expiration)
        member("payloadBytes", message.payloadBytes)
        key("warnings")
        beginArray()
        for warning in message.warnings {
            self.warning(warning)
        }
        endArray()
    }

    fileprivate mutating func warning(_ finding: PayloadFinding) {
        beginObject()
        member("field", finding.clientField)
        member("code", finding.code.rawValue)
        member("message", finding.message)
        member("likely", raw: finding.likely.map { Array($0.utf8) })
        endObject()
    }
}

extension PayloadFinding {
    /// Where it is in a request under /v1.
    var clientField: String {
        let name =
            switch field {
            case .timestamp: "timestamp"
            case .contentState: "contentState"
            case .attributesType: "attributesType"
            case .attributes: "attributes"
            case .inputPushToken: "inputPushToken"
            case .inputPushChannel: "inputPushChannel"
            case .staleDate: "staleDate"
            case .dismissalDate: "dismissalDate"
            case .relevanceScore: "relevanceScore"
            case .alert: "alert"
            case .event: "event"
            case .payload: "payload"
            case .token: "token"
            case .topic: "businessId"
            case .channelID: "channelId"
            case .priority: "priority"
            case .expiration: "ttl"
            case .collapseID: "collapseId"
            case .pushID: "requestId"
            }
        return name + path
    }
}
