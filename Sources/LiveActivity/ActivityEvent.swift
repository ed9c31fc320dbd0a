/// What a push does to a Live Activity. The raw value is the word in Tencent's `Event` and Apple's `aps.event`; both want it
/// exactly so, in lower case.
public enum ActivityEvent: String, Sendable, Equatable {
    /// Bring up a new activity, with a push-to-start token (iOS 17.2).
    case start
    /// Show a new state.
    case update
    /// Show a last state and end the activity.
    case end
}
