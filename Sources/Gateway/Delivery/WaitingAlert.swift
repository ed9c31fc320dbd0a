import LiveActivity
import VerbatimJSON

/// The alert of an update that APNs has not accepted: where a newer state goes out in its place, the alert goes along.
struct WaitingAlert: Sendable, Equatable {
    /// The message that it belongs to.
    var messageID: Int64
    var alert: ActivityAlert
    /// Whether its own push has been under way for less than ten seconds, so that APNs may still accept it: what is newer
    /// waits for that, since it would take the place of a push whose alert nobody could say any more.
    var isUnderWay = false
}

extension ActivityAlert {
    /// As stored in `waiting_alert.content`.
    func encoded() -> [UInt8] {
        var writer = JSONWriter()
        encode(to: &writer)
        return writer.bytes
    }

    /// Reads it back; nil if it is damaged.
    init?(decoding bytes: [UInt8]) {
        guard let root = try? JSONDocument(parsing: bytes).root else { return nil }
        self.init(decoding: root)
    }
}
