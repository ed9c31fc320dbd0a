import VerbatimJSON

/// The body of a push: a JSON object with an object `aps` in it.
struct PushPayload {
    private let aps: JSONValue

    /// - Returns: nil for a body of any other form.
    init?(_ body: [UInt8]) {
        guard
            let document = try? JSONDocument(parsing: body),
            document.root.kind == .object,
            let aps = document.root["aps"], aps.kind == .object
        else { return nil }
        self.aps = aps
    }

    /// Whether the phone would show, play or count something.
    var alerts: Bool {
        ["alert", "sound", "badge"].contains { aps[$0] != nil }
    }

    /// Whether the app would be woken.
    var wakes: Bool {
        aps["content-available"]?.integer == 1
    }

    // MARK: - Notification

    /// What a notification shows and plays.
    var notificationAlert: PushAlert { PushAlert(notification: aps) }

    /// Whether there is an `aps.badge`, of any form.
    var hasBadge: Bool { aps["badge"] != nil }

    /// `aps.badge`; 0 removes it. nil unless it is an integer of 32 bits and not negative.
    var badge: Int32? { aps["badge"]?.integer.flatMap { $0 >= 0 ? Int32(exactly: $0) : nil } }

    /// `aps.thread-id`, by which notifications are grouped.
    var threadID: String? { aps["thread-id"]?.string }

    /// `aps.interruption-level`.
    var interruptionLevel: String? { aps["interruption-level"]?.string }

    // MARK: - Live Activity

    /// `aps.event`, of any form.
    var event: JSONValue? { aps["event"] }

    /// `aps.content-state`, of any form.
    var contentState: JSONValue? { aps["content-state"] }

    /// `aps.timestamp`, seconds since 1970; nil unless it is an integer.
    var timestamp: Int64? { aps["timestamp"]?.integer }

    /// `aps.dismissal-date`, of any form.
    var dismissalDate: JSONValue? { aps["dismissal-date"] }

    /// `aps.stale-date`, of any form.
    var staleDate: JSONValue? { aps["stale-date"] }

    /// `aps.relevance-score`.
    var relevanceScore: Double? { aps["relevance-score"]?.double }

    /// `aps.attributes-type`.
    var attributesType: String? { aps["attributes-type"]?.string }

    /// `aps.input-push-channel` of a start, of any form.
    var inputPushChannel: JSONValue? { aps["input-push-channel"] }

    /// `aps.alert`, of any form.
    var alert: JSONValue? { aps["alert"] }

    /// Whether there is an `aps.sound`, which means nothing to a Live Activity.
    var hasSound: Bool { aps["sound"] != nil }

    /// Whether everything that starts an activity is there: type, attributes and an alert with a title and a body.
    var canStart: Bool {
        attributesType != nil && aps["attributes"]?.kind == .object
            && aps["alert"]?["title"] != nil && aps["alert"]?["body"] != nil
    }

    /// The whole second of a date in seconds since 1970; nil unless it is a number. One too large is the last there is.
    static func seconds(_ date: JSONValue) -> Int64? {
        if let integer = date.integer { return integer }
        guard date.kind == .number else { return nil }
        guard let number = date.double else { return Int64.max }
        return Int64(exactly: number.rounded(.down)) ?? (number < 0 ? Int64.min : Int64.max)
    }
}
