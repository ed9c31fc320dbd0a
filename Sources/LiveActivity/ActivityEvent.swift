/// What a push does to a running Live Activity. The raw value is the word in Tencent's `Event` and Apple's `aps.event`;
/// both want it exactly so, in lower case.
public enum ActivityEvent: String, Sendable, Equatable {
    /// Show a new state.
    case update
    /// Show a last state and end the activity.
    case end
}
