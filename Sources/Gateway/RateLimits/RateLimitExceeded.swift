/// A request is over a limit of its app; the caller may repeat it later.
public struct RateLimitExceeded: Error, Equatable {
    /// Which of an app's limits.
    public enum Limit: Sendable, CaseIterable {
        /// ``RateLimits/requestsPerSecond``.
        case requests
        /// ``RateLimits/callerRequestsPerSecond``.
        case callerRequests
        /// ``RateLimits/batchRecipientsPerMinute``.
        case batchRecipients
        /// ``RateLimits/clientRequestsPerMinute``.
        case clientRequests
        /// ``RateLimits/userSigFailuresPerMinute``.
        case userSigFailures
        /// How far apart pushes to all come, at all gateways together.
        case secondsBetweenPushesToAll
        /// How many pushes to all there are in 24 hours, at all gateways together.
        case pushesToAllPerDay
    }

    /// The limit.
    public let limit: Limit
    /// After how many seconds it can succeed, if nobody else comes first: rounded up, at least 1.
    public let retryAfter: Int64

    /// - Parameter wait: after how long it can succeed.
    public init(_ limit: Limit, wait: Duration) {
        self.limit = limit
        let (seconds, attoseconds) = wait.components
        retryAfter = max(1, attoseconds > 0 ? seconds + 1 : seconds)
    }

    /// A sentence for the caller, with the name of the option of `livepush app` that sets the limit.
    public var message: String {
        switch limit {
        case .requests: "too many requests of this app (requests-per-second)"
        case .callerRequests: "too many requests of this identifier (caller-requests-per-second)"
        case .batchRecipients: "too many recipients of batches of this app (batch-recipients-per-minute)"
        case .clientRequests: "too many requests for this account (client-requests-per-minute)"
        case .userSigFailures: "too many failures of this identifier (usersig-failures-per-minute)"
        case .secondsBetweenPushesToAll: "too soon after the last push to all (seconds-between-pushes-to-all)"
        case .pushesToAllPerDay: "too many pushes to all within 24 hours (pushes-to-all-per-day)"
        }
    }
}
