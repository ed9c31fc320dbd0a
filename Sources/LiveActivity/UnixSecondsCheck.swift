/// Tells Unix seconds from what callers send by mistake: milliseconds (JavaScript, Java) and seconds since 2001 (Swift's
/// `Date`). APNs answers 200 to both, and the phone then does nothing or the wrong thing.
public enum UnixSecondsCheck {
    /// What a value looks like.
    public enum Verdict: Sendable, Equatable {
        /// Nothing speaks against Unix seconds. 0 is the usual word for "at once".
        case plausible
        /// Milliseconds or a finer unit; `likely` is the value in Unix seconds.
        case milliseconds(likely: Int64)
        /// Seconds since 2001-01-01T00:00:00Z; `likely` is the value in Unix seconds.
        case referenceDate(likely: Int64)
        /// Before 1970.
        case negative
    }

    /// Judges a value.
    ///
    /// Within ten years of now when read as seconds since 2001: `referenceDate` (as Unix seconds that is decades ago).
    /// From ten years before now on when read as milliseconds: `milliseconds` (as Unix seconds that is tens of thousands of
    /// years ahead). Any other date, however far, is `plausible`.
    ///
    /// - Parameter now: Unix seconds by the clock.
    public static func classify(_ value: Int64, now: Int64) -> Verdict {
        if value < 0 { return .negative }
        if value == 0 { return .plausible }
        let referenceNow = now - CalendarTime.referenceDate
        if (referenceNow - Self.window...referenceNow + Self.window).contains(value) {
            return .referenceDate(likely: value + CalendarTime.referenceDate)
        }
        let firstMillisecond = max(now - Self.window, 1) * 1000
        if value < firstMillisecond { return .plausible }
        var likely = value
        while likely >= firstMillisecond { likely /= 1000 }
        return .milliseconds(likely: likely)
    }

    /// The mistake in a value that is no Unix seconds; nil if nothing speaks against it.
    ///
    /// - Parameter now: Unix seconds by the clock.
    public static func finding(_ field: PayloadField, _ value: Int64, now: Int64) -> PayloadFinding? {
        switch Self.classify(value, now: now) {
        case .plausible:
            return nil
        case .negative:
            return .refusal(field, .negative, "must not be negative")
        case .milliseconds(let likely):
            let message = "looks like milliseconds; in Unix seconds it would be \(likely)"
            return .refusal(field, .milliseconds, message, likely: String(likely))
        case .referenceDate(let likely):
            let message = "looks like seconds since 2001; in Unix seconds it would be \(likely)"
            return .refusal(field, .secondsSince2001, message, likely: String(likely))
        }
    }

    /// Ten years in seconds.
    static let window: Int64 = 315_576_000
}
