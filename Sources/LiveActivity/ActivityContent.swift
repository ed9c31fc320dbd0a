/// What one push tells a Live Activity, apart from the timestamp, which belongs to the moment of sending.
public struct ActivityContent: Sendable, Equatable, CustomStringConvertible {
    /// What happens to the activity.
    public var event: ActivityEvent
    /// The text of a JSON object. It goes into the push byte for byte, because the app's decoder can tell `1` from `1.0`.
    public var contentState: [UInt8]
    /// When the app may show the state as outdated, in Unix seconds.
    public var staleDate: Int64?
    /// The text of a JSON number, any size: the highest of an app's activities gets the Dynamic Island.
    public var relevanceScore: [UInt8]?
    /// When the system shall remove an ended activity, in Unix seconds, as the caller asked. `DismissalDate` decides
    /// what is sent.
    public var dismissalDate: Int64?
    /// What the push says aloud, if anything.
    public var alert: ActivityAlert?

    /// Makes the content of a push.
    ///
    /// - Parameters:
    ///   - contentState: the text of a JSON object, already checked.
    ///   - relevanceScore: the text of a JSON number, already checked.
    public init(
        event: ActivityEvent,
        contentState: [UInt8],
        staleDate: Int64? = nil,
        relevanceScore: [UInt8]? = nil,
        dismissalDate: Int64? = nil,
        alert: ActivityAlert? = nil,
    ) {
        self.event = event
        self.contentState = contentState
        self.staleDate = staleDate
        self.relevanceScore = relevanceScore
        self.dismissalDate = dismissalDate
        self.alert = alert
    }

    /// The event and the size of the state; never the state.
    public var description: String {
        "\(self.event.rawValue) with \(self.contentState.count) bytes of state"
    }
}

/// What a Live Activity push says aloud: shown on the watch, and lights up the expanded activity on the phone.
public struct ActivityAlert: Sendable, Equatable, CustomStringConvertible {
    /// First line.
    public var title: String?
    /// Second line.
    public var body: String?
    /// Name of a sound file in the app, or `default`. It must stand inside the alert: ActivityKit ignores `aps.sound`.
    public var sound: String?

    /// Makes an alert.
    public init(title: String? = nil, body: String? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// Whether it has no text. Apple leaves undefined what an alert without text does, so none is sent then.
    public var isEmpty: Bool {
        (self.title ?? "").isEmpty && (self.body ?? "").isEmpty
    }

    /// Which parts there are; never their text.
    public var description: String {
        "alert of \((self.title ?? "").utf8.count) + \((self.body ?? "").utf8.count) bytes"
    }
}
