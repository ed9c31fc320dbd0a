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
        let referenceNow = now - Self.referenceDate
        if (referenceNow - Self.window...referenceNow + Self.window).contains(value) {
            return .referenceDate(likely: value + Self.referenceDate)
        }
        let firstMillisecond = max(now - Self.window, 1) * 1000
        if value < firstMillisecond { return .plausible }
        var likely = value
        while likely >= firstMillisecond { likely /= 1000 }
        return .milliseconds(likely: likely)
    }

    /// 2001-01-01T00:00:00Z in Unix seconds.
    private static let referenceDate: Int64 = 978_307_200
    /// Ten years in seconds.
    private static let window: Int64 = 315_576_000
}
