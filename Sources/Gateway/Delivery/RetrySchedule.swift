/// When a push that did not come through is tried again.
public struct RetrySchedule: Sendable, Equatable {
    /// Delays after the first, second ... failed attempt; the last one repeats.
    public let delays: [Duration]
    /// First delay after 429 without `retry-after`; it doubles with each attempt, up to the last of `delays`.
    public let tooManyRequestsDelay: Duration
    /// A day bounds what a broken peer may ask for by `retry-after`; the message's own deadline comes first anyway.
    private static let longestRetryAfter: Int64 = 86_400
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
    ///   - retryAfter: for how many seconds APNs asked not to try again; what is longer counts (RFC 9110, 10.2.3).
    ///   - jitter: 0 to 1, spreads what failed together over a quarter of the delay.
    func delay(afterAttempts attempts: Int, retryAfter: Int64? = nil, jitter: Double) -> Duration {
        let delay = delays[min(max(attempts, 1), delays.count) - 1]
        let asked = Duration.seconds(min(retryAfter ?? 0, RetrySchedule.longestRetryAfter))
        return spread(max(delay, asked), jitter)
    }

    /// The delay after a 429.
    func delayAfterTooManyRequests(attempts: Int, retryAfter: Int64?, jitter: Double) -> Duration {
        let longest = delays[delays.count - 1]
        if let retryAfter, retryAfter >= 0 {
            return spread(.seconds(min(retryAfter, RetrySchedule.longestRetryAfter)), jitter)
        }
        let doubled = tooManyRequestsDelay * Double(1 << min(max(attempts - 1, 0), 16))
        return spread(min(doubled, max(longest, tooManyRequestsDelay)), jitter)
    }

    private func spread(_ delay: Duration, _ jitter: Double) -> Duration {
        delay + delay * (min(max(jitter, 0), 1) * 0.25)
    }
}
