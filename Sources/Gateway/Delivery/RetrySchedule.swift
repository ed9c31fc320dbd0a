/// When a push that did not come through is tried again.
public struct RetrySchedule: Sendable, Equatable {
    /// Delays after the first, second ... failed attempt; the last one repeats.
    public let delays: [Duration]
    /// First delay after 429 without `retry-after`; it doubles with each attempt, up to the last of `delays`.
    public let tooManyRequestsDelay: Duration
    /// Delay after a fault that only the operator can mend (signing key, topic, certificate).
    public let holdDelay: Duration

    /// 1 s, 5 s, 30 s, 2 min, 5 min, then every 15 min; 10 s doubling after 429; 30 s while an operator is needed.
    public static let standard = RetrySchedule(
        delays: [.seconds(1), .seconds(5), .seconds(30), .seconds(120), .seconds(300), .seconds(900)],
        tooManyRequestsDelay: .seconds(10),
        holdDelay: .seconds(30),
    )

    /// - Parameters:
    ///   - delays: at least one, else one second is used.
    ///   - tooManyRequestsDelay: first delay after 429.
    ///   - holdDelay: delay after a fault that only the operator can mend.
    public init(delays: [Duration], tooManyRequestsDelay: Duration, holdDelay: Duration) {
        self.delays = delays.isEmpty ? [.seconds(1)] : delays
        self.tooManyRequestsDelay = tooManyRequestsDelay
        self.holdDelay = holdDelay
    }

    /// The delay after a failed attempt.
    ///
    /// - Parameters:
    ///   - attempts: how many were made, the failed one included.
    ///   - jitter: 0 to 1, spreads what failed together over a quarter of the delay.
    func delay(afterAttempts attempts: Int, jitter: Double) -> Duration {
        let delay = delays[min(max(attempts, 1), delays.count) - 1]
        return spread(delay, jitter)
    }

    /// The delay after a 429.
    func delayAfterTooManyRequests(attempts: Int, retryAfter: Int64?, jitter: Double) -> Duration {
        let longest = delays[delays.count - 1]
        if let retryAfter, retryAfter >= 0 {
            // A day bounds what a broken peer may ask for; the message's own deadline comes first anyway.
            return spread(.seconds(min(retryAfter, 86_400)), jitter)
        }
        let doubled = tooManyRequestsDelay * Double(1 << min(max(attempts - 1, 0), 16))
        return spread(min(doubled, max(longest, tooManyRequestsDelay)), jitter)
    }

    private func spread(_ delay: Duration, _ jitter: Double) -> Duration {
        delay + delay * (min(max(jitter, 0), 1) * 0.25)
    }
}
