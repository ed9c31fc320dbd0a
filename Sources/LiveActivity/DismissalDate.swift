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
    /// - Returns: Unix seconds, or nil where the key is left out: on a start or an update, where it has no effect. "At once" is the
    ///   second before now, which is in the past wherever it arrives.
    public static func toSend(
        event: ActivityEvent,
        requested: Int64?,
        defaultIsImmediate: Bool,
        now: Int64,
    ) -> Int64? {
        switch event {
        case .start, .update: nil
        case .end: requested ?? (defaultIsImmediate ? now - 1 : nil)
        }
    }

    /// What is to be said of a date.
    ///
    /// - Parameter now: Unix seconds.
    public static func findings(event: ActivityEvent, requested: Int64?, now: Int64) -> [PayloadFinding] {
        guard let requested else { return [] }
        if let fault = UnixSecondsCheck.finding(.dismissalDate, requested, now: now) { return [fault] }
        switch event {
        case .start, .update:
            let message = "means nothing on \(event == .start ? "a start" : "an update") and was left out"
            return [.warning(.dismissalDate, .dismissalDateIgnored, message)]
        case .end:
            guard requested > now + Self.longestDelay else { return [] }
            let message = "is more than four hours ahead; the system removes an ended activity after four hours"
            return [.warning(.dismissalDate, .dismissalDateFar, message)]
        }
    }
}
