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

    /// What decides over the apns-priority.
    public enum PriorityRule: String, Sendable {
        /// Tencent's: 10 for an alert and an end, else what the caller or the app demands, else 10 while the phone's hourly
        /// bucket lasts.
        case urgency
        /// Pushwoosh's: 5 unless the caller demands 10, whatever the event.
        case caller
    }

    /// The app's id of the activity, 1 to 64 bytes.
    public var laID: String
    /// Event, state and dates.
    public var content: ActivityContent
    /// What an `end` without dismissal date means.
    public var defaultDismissal: DefaultDismissal
    /// apns-priority that the caller demands, 5 or 10; nil: by the rule of the dialect.
    public var priority: Int?
    /// What decides where, and although, the caller demands none.
    public var priorityRule: PriorityRule

    /// Makes an instruction. The dialect has checked every limit before.
    public init(
        laID: String,
        content: ActivityContent,
        defaultDismissal: DefaultDismissal,
        priority: Int? = nil,
        priorityRule: PriorityRule = .urgency,
    ) {
        self.laID = laID
        self.content = content
        self.defaultDismissal = defaultDismissal
        self.priority = priority
        self.priorityRule = priorityRule
    }
}
