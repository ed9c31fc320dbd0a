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

    // MARK: - Live Activity

    /// `aps.event`, of any form.
    var event: JSONValue? { aps["event"] }

    /// `aps.content-state`, of any form.
    var contentState: JSONValue? { aps["content-state"] }

    /// `aps.timestamp`, seconds since 1970; nil unless it is an integer.
    var timestamp: Int64? { aps["timestamp"]?.integer }

    /// Whether there is an `aps.dismissal-date`.
    var hasDismissalDate: Bool { aps["dismissal-date"] != nil }

    /// Whether everything that starts an activity is there: type, attributes and an alert with a title and a body.
    var canStart: Bool {
        aps["attributes-type"]?.kind == .string && aps["attributes"]?.kind == .object
            && aps["alert"]?["title"] != nil && aps["alert"]?["body"] != nil
    }
}
