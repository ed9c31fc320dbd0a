/// When the system removes an ended activity from the lock screen. The dialects disagree on what an absent date means.
public enum DismissalDate {
    /// The longest that the system keeps an ended activity, in seconds: a later date has the same effect (Apple:
    /// "Displaying live data with Live Activities").
    public static let longestDelay: Int64 = 4 * 3600

    /// What goes into the push.
    ///
    /// - Parameters:
    ///   - requested: Unix seconds as the caller gave them. 0 is sent as 0 and means at once.
    ///   - defaultIsImmediate: whether an `end` without a date removes the activity at once (Tencent), or leaves it to the
    ///     system (Pushwoosh and Apple).
    ///   - now: Unix seconds at the time of sending.
    /// - Returns: Unix seconds, or nil where the key is left out: on an update, where it has no effect. "At once" is the
    ///   second before now, which is in the past wherever it arrives.
    public static func toSend(
        event: ActivityEvent,
        requested: Int64?,
        defaultIsImmediate: Bool,
        now: Int64,
    ) -> Int64? {
        switch event {
        case .update: nil
        case .end: requested ?? (defaultIsImmediate ? now - 1 : nil)
        }
    }

    /// What the caller should know about the date they gave.
    public enum Warning: Sendable, Equatable {
        /// The date stands on an update and is left out.
        case ignoredOnUpdate
        /// The date is more than four hours ahead; it is sent, and the system removes the activity earlier.
        case beyondLongestDelay
    }

    /// What to warn the caller of, if anything.
    ///
    /// - Parameter now: Unix seconds.
    public static func warning(event: ActivityEvent, requested: Int64?, now: Int64) -> Warning? {
        guard let requested else { return nil }
        switch event {
        case .update: return .ignoredOnUpdate
        case .end: return requested > now + Self.longestDelay ? .beyondLongestDelay : nil
        }
    }
}
