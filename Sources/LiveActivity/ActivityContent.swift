/// What one push tells a Live Activity, apart from the timestamp, which belongs to the moment of sending.
public struct ActivityContent: Sendable, Equatable, CustomStringConvertible {
    /// What happens to the activity.
    public var event: ActivityEvent
    /// The text of a JSON object. It goes into the push byte for byte, because the app's decoder can tell `1` from `1.0`.
    /// Empty: the push has none, which only an `end` may; the activity then keeps the state that it shows.
    public var contentState: [UInt8]
    /// When the app may show the state as outdated, in Unix seconds.
    public var staleDate: Int64?
    /// The text of a JSON number, any size: the highest of an app's activities gets the Dynamic Island.
    public var relevanceScore: [UInt8]?
    /// When the system shall remove an ended activity, in Unix seconds, as the caller asked. `DismissalDate` decides
    /// what is sent.
    public var dismissalDate: Int64?
    /// What the push says aloud, if anything. A start must have one.
    public var alert: ActivityAlert?
    /// What only a start says; left out on any other event.
    public var start: ActivityStart?

    /// Makes the content of a push.
    ///
    /// - Parameters:
    ///   - contentState: the text of a JSON object, already checked; empty for none.
    ///   - relevanceScore: the text of a JSON number, already checked.
    public init(
        event: ActivityEvent,
        contentState: [UInt8],
        staleDate: Int64? = nil,
        relevanceScore: [UInt8]? = nil,
        dismissalDate: Int64? = nil,
        alert: ActivityAlert? = nil,
        start: ActivityStart? = nil,
    ) {
        self.event = event
        self.contentState = contentState
        self.staleDate = staleDate
        self.relevanceScore = relevanceScore
        self.dismissalDate = dismissalDate
        self.alert = alert
        self.start = start
    }

    /// The event and the size of the state; never the state.
    public var description: String {
        "\(self.event.rawValue) with \(self.contentState.count) bytes of state"
    }
}
