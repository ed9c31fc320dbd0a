import EventLoop

/// When a provider token has to be replaced, and when it must not be.
///
/// APNs refuses a token older than an hour (ExpiredProviderToken) and one that replaces another within 20 minutes
/// (TooManyProviderTokenUpdates). The age is taken from the monotonic clock, since the wall clock can be stepped; the
/// wall clock counts too, since APNs compares `iat` with it.
struct ProviderTokenLifetime: Sendable, Equatable {
    /// An older token is not sent any more, whether there is another or not.
    static let longest = Duration.seconds(58 * 60)
    /// A token that the wall clock makes so much older than it may get is replaced though the monotonic clock says
    /// otherwise.
    static let wallClockMargin: Int64 = 5 * 60
    /// A clock that was corrected by less leaves an `iat` in the future which APNs takes.
    static let harmlessStepBack: Int64 = 60

    /// When it was made, Unix seconds by this machine's clock.
    let issuedAt: Int64
    let mintedAt: MonotonicTime
    var rules = ProviderTokenRules()

    /// Whether the token is to be replaced, before the next request or soon after.
    func isOver(unixSeconds: Int64, monotonic: MonotonicTime) -> Bool {
        guard mayBeReplaced(at: monotonic) else { return false }
        let (wallAge, overflow) = unixSeconds.subtractingReportingOverflow(issuedAt)
        return monotonic - mintedAt >= rules.replacedAfter
            || overflow
            || wallAge >= rules.replacedAfter.components.seconds + ProviderTokenLifetime.wallClockMargin
            || wallAge < -ProviderTokenLifetime.harmlessStepBack
    }

    /// Whether APNs would still take the token, by both clocks.
    func isUsable(unixSeconds: Int64, monotonic: MonotonicTime) -> Bool {
        guard mayBeReplaced(at: monotonic) else { return true }
        let (wallAge, overflow) = unixSeconds.subtractingReportingOverflow(issuedAt)
        return monotonic - mintedAt < ProviderTokenLifetime.longest && !overflow
            && wallAge < ProviderTokenLifetime.longest.components.seconds
    }

    /// Whether APNs would take another token already.
    func mayBeReplaced(at monotonic: MonotonicTime) -> Bool {
        monotonic - mintedAt >= rules.shortestLife
    }
}
