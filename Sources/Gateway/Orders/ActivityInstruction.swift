public import LiveActivity

/// What a message does to one Live Activity of each recipient.
public struct ActivityInstruction: Sendable, Equatable {
    /// When the system removes an ended activity whose `end` names no dismissal date.
    public enum DefaultDismissal: String, Sendable {
        /// At once: Tencent's rule.
        case immediate
        /// By the system's rule, up to four hours later: Apple's and Pushwoosh's.
        case system
    }

    /// The app's id of the activity, 1 to 64 bytes.
    public var laID: String
    /// Event, state and dates.
    public var content: ActivityContent
    /// What an `end` without dismissal date means.
    public var defaultDismissal: DefaultDismissal
    /// apns-priority that the caller demands, 5 or 10; nil: by the rule of the dialect.
    public var priority: Int?

    /// Makes an instruction. The dialect has checked every limit before.
    public init(laID: String, content: ActivityContent, defaultDismissal: DefaultDismissal, priority: Int? = nil) {
        self.laID = laID
        self.content = content
        self.defaultDismissal = defaultDismissal
        self.priority = priority
    }
}
