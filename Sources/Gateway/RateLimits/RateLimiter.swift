public import EventLoop
import Synchronization

/// Keeps the callers of one app to its limits. One for an app and process, shared by the lanes.
public final class RateLimiter: Sendable, Equatable {
    /// The limits that it keeps.
    public let limits: RateLimits

    private let budget: Mutex<RateBudget>
    private let now: @Sendable () -> MonotonicTime
    /// Counts UserSigs that are not accepted in place of this one.
    private let failures: RateLimiter?

    /// A limiter that has let nothing through yet.
    ///
    /// - Parameter now: reads a clock that no clock step moves.
    public init(_ limits: RateLimits, now: @escaping @Sendable () -> MonotonicTime = { .now }) {
        self.limits = limits
        self.budget = Mutex(RateBudget(limits))
        self.now = now
        self.failures = nil
    }

    private init(failuresOf other: RateLimiter) {
        self.limits = RateLimits()
        self.budget = Mutex(RateBudget(RateLimits()))
        self.now = other.now
        self.failures = other
    }

    /// One for requests that do nothing: it lets all of them through, and counts UserSigs that are not accepted together
    /// with this one.
    func ofRequestsWithoutEffect() -> RateLimiter {
        RateLimiter(failuresOf: self)
    }

    /// The limiter for `limits`: `former` with all that it has counted if its limits are the same, nil if there are none.
    static func keeping(_ former: RateLimiter?, for limits: RateLimits) -> RateLimiter? {
        guard limits != RateLimits() else { return nil }
        return former?.limits == limits ? former : RateLimiter(limits)
    }

    /// Counts a request to the server API by this identifier, or refuses it.
    public func countRequest(of identifier: String) throws(RateLimitExceeded) {
        try count { budget, now throws(RateLimitExceeded) in try budget.takeRequest(of: identifier, at: now) }
    }

    /// Counts the recipients of a message to several, or refuses them all.
    public func countRecipients(_ number: Int) throws(RateLimitExceeded) {
        try count { budget, now throws(RateLimitExceeded) in try budget.takeRecipients(number, at: now) }
    }

    /// Counts a phone's request that acts for this account, or refuses it.
    public func countClientRequest(of account: String) throws(RateLimitExceeded) {
        try count { budget, now throws(RateLimitExceeded) in try budget.takeClientRequest(of: account, at: now) }
    }

    /// Counts a UserSig that is not accepted, or says that there were too many.
    ///
    /// To be asked only after the check has failed: a good UserSig passes whatever others did in the name of its
    /// identifier, or else a stranger could lock it out.
    public func countUserSigFailure(of identifier: String) throws(RateLimitExceeded) {
        if let failures { return try failures.countUserSigFailure(of: identifier) }
        try count { budget, now throws(RateLimitExceeded) in try budget.takeUserSigFailure(of: identifier, at: now) }
    }

    /// Whether both are the same one: two limiters with the same limits have not let through the same.
    public static func == (left: RateLimiter, right: RateLimiter) -> Bool {
        left === right
    }

    private func count(
        _ take: (inout RateBudget, MonotonicTime) throws(RateLimitExceeded) -> Void
    ) throws(RateLimitExceeded) {
        let now = now()
        try budget.withLock { budget throws(RateLimitExceeded) in try take(&budget, now) }
    }
}
