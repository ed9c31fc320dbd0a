/// `aps.timestamp`, by which the system knows the newest push. It belongs to the moment of sending.
public enum PushTimestamp {
    /// How late a push may arrive, in seconds. Ten are harmless by reports, fifty are not.
    public static let tolerance: Int64 = 15
    /// How far ahead it may be, in seconds (Apple Developer Forums 776165).
    public static let horizon: Int64 = 8 * 3600

    /// What is to be said of a timestamp.
    ///
    /// - Parameters:
    ///   - last: the highest timestamp sent to this activity before; nil if unknown or none.
    ///   - now: Unix seconds.
    public static func findings(
        event: ActivityEvent,
        timestamp: Int64,
        last: Int64? = nil,
        now: Int64,
    ) -> [PayloadFinding] {
        if let fault = UnixSecondsCheck.finding(.timestamp, timestamp, now: now) { return [fault] }
        if timestamp > now + Self.horizon {
            let message = "is more than eight hours ahead; the phone drops the push"
            return [.refusal(.timestamp, .timestampTooFarAhead, message, likely: String(now))]
        }
        var findings: [PayloadFinding] = []
        if let last, timestamp <= last {
            let message = "is not above that of the push before, \(last); the phone keeps what it shows"
            findings.append(.warning(.timestamp, .timestampNotNewer, message, likely: String(max(now, last + 1))))
        }
        if timestamp > now + Self.tolerance {
            let message = "is ahead of the clock; pushes with the right time are ignored until then"
            findings.append(.warning(.timestamp, .timestampAhead, message, likely: String(now)))
        }
        // An end was seen to work with any timestamp that is past.
        if timestamp < now - Self.tolerance, event != .end {
            let message = "is in the past; the phone ignores such \(event == .start ? "a start" : "an update")"
            findings.append(.warning(.timestamp, .timestampOld, message, likely: String(now)))
        }
        return findings
    }
}
