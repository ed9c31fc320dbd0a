import LiveActivity
import VerbatimJSON

/// The newest state that was pushed to an activity: where an older update with an alert comes only afterwards, it goes out
/// again with that alert, under the ids of its own message.
struct SentState: Sendable, Equatable {
    /// The message that it belongs to.
    var messageID: Int64
    /// An update without alert.
    var content: ActivityContent
}

extension SentState {
    /// As stored in `sent_state.content`: what of the content is a state.
    static func encode(_ content: ActivityContent) -> [UInt8] {
        var writer = JSONWriter(capacity: 64 + content.contentState.count)
        writer.beginObject()
        writer.member("contentState", raw: content.contentState)
        writer.member("staleDate", content.staleDate)
        writer.member("relevanceScore", raw: content.relevanceScore)
        writer.endObject()
        return writer.bytes
    }

    /// Reads it back; nil if it is damaged.
    init?(of messageID: Int64, decoding bytes: [UInt8]) {
        guard let root = try? JSONDocument(parsing: bytes).root,
            let state = root["contentState"], state.kind == .object
        else { return nil }
        self.init(
            messageID: messageID,
            content: ActivityContent(
                event: .update,
                contentState: Array(state.verbatim),
                staleDate: root["staleDate"]?.integer,
                relevanceScore: root["relevanceScore"].map { Array($0.verbatim) },
            ),
        )
    }
}
