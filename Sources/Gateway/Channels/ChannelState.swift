public import LiveActivity

/// What this database knows of a channel.
public struct ChannelState: Sendable, Equatable {
    /// A request about it.
    public struct Request: Sendable, Equatable {
        /// `create`, `read`, `delete` or `send`.
        public var operation: String
        /// When it went out.
        public var at: UnixTime
        /// `accepted_by_apns`, `refused`, `held` or `no_answer`; nil: not known.
        public var outcome: String?
        /// APNs' reason, or why there is no answer.
        public var reason: String?
    }

    /// What APNs keeps of it; nil: it was neither made nor used through this database, or is gone.
    public var storage: ChannelStorage?
    /// When it was made here; nil: elsewhere.
    public var createdAt: UnixTime?
    /// The newest `aps.timestamp` that was claimed for it; 0: none.
    public var lastTimestamp: Int64
    /// The last request about it, of the last days.
    public var lastRequest: Request?

    /// Whether APNs said that there is no such channel, or deleted it, and nothing has said otherwise since.
    var isGone: Bool {
        guard storage == nil, let last = lastRequest else { return false }
        return last.reason == "ChannelNotRegistered" || last.operation == "delete" && last.outcome == "accepted_by_apns"
    }
}
