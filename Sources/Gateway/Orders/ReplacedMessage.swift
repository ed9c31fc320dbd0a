import VerbatimJSON

/// A message that was taken back, whose notifications another one replaces where APNs accepted them.
///
/// A class, so that an order, which as good as never has one, has one word for it.
public final class ReplacedMessage: Sendable, Equatable {
    /// Its place in accept order.
    public let messageID: Int64
    /// When it was accepted.
    public let acceptedAt: UnixTime
    /// The activity for which its notifications stood in; nil: it was a plain notification.
    public let laID: String?

    /// Names a message.
    public init(messageID: Int64, acceptedAt: UnixTime, laID: String?) {
        self.messageID = messageID
        self.acceptedAt = acceptedAt
        self.laID = laID
    }

    /// Whether both are the same message.
    public static func == (left: ReplacedMessage, right: ReplacedMessage) -> Bool {
        left.messageID == right.messageID && left.acceptedAt == right.acceptedAt && left.laID == right.laID
    }
}

/// The encoding in a stored order.
extension ReplacedMessage {
    func encode(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("messageId", messageID)
        writer.member("acceptedAt", acceptedAt.microseconds)
        writer.member("laId", laID)
        writer.endObject()
    }

    /// nil: it is damaged.
    convenience init?(decoding value: JSONValue) {
        guard let id = value["messageId"]?.integer, let microseconds = value["acceptedAt"]?.integer else { return nil }
        self.init(
            messageID: id,
            acceptedAt: UnixTime(microseconds: microseconds),
            laID: value["laId"]?.string,
        )
    }
}
