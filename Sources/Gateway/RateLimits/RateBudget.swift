import EventLoop

/// What is left of an app's limits. What is refused takes nothing.
struct RateBudget: Sendable {
    /// The most accounts that are remembered for each limit.
    static let capacity = 100_000

    private let requestLimit: RateLimit?
    private let recipientLimit: RateLimit?
    private var requests = TokenBucket()
    private var recipients = TokenBucket()
    private var callers: CallerBuckets?
    private var clients: CallerBuckets?
    private var failures: CallerBuckets?

    init(_ limits: RateLimits, capacity: Int = RateBudget.capacity) {
        func buckets(_ limit: RateLimit?) -> CallerBuckets? { limit.map { CallerBuckets($0, capacity: capacity) } }
        requestLimit = .perSecond(limits.requestsPerSecond)
        recipientLimit = .perMinute(limits.batchRecipientsPerMinute)
        callers = buckets(.perSecond(limits.callerRequestsPerSecond))
        clients = buckets(.perMinute(limits.clientRequestsPerMinute))
        failures = buckets(.perMinute(limits.userSigFailuresPerMinute))
    }

    /// Takes a request of this identifier, from the app's bucket and its own, or from neither.
    mutating func takeRequest(of identifier: String, at now: MonotonicTime) throws(RateLimitExceeded) {
        let identifier = Array(identifier.utf8)
        if let wait = callers?.wait(identifier, at: now) {
            throw RateLimitExceeded(.callerRequests, wait: wait)
        }
        if let requestLimit {
            if let wait = requests.wait(under: requestLimit, at: now) {
                throw RateLimitExceeded(.requests, wait: wait)
            }
            requests.take(under: requestLimit, at: now)
        }
        callers?.take(identifier, at: now)
    }

    /// Takes the recipients of a message to several, all or none.
    mutating func takeRecipients(_ number: Int, at now: MonotonicTime) throws(RateLimitExceeded) {
        guard let recipientLimit, number > 0 else { return }
        if let wait = recipients.wait(for: Int64(number), under: recipientLimit, at: now) {
            throw RateLimitExceeded(.batchRecipients, wait: wait)
        }
        recipients.take(Int64(number), under: recipientLimit, at: now)
    }

    /// Takes a phone's request that acts for this account.
    mutating func takeClientRequest(of account: String, at now: MonotonicTime) throws(RateLimitExceeded) {
        let account = Array(account.utf8)
        if let wait = clients?.wait(account, at: now) {
            throw RateLimitExceeded(.clientRequests, wait: wait)
        }
        clients?.take(account, at: now)
    }

    /// Takes a UserSig of this identifier that is not accepted. The one too many, and each after it until there was none
    /// for a minute, is refused.
    mutating func takeUserSigFailure(of identifier: String, at now: MonotonicTime) throws(RateLimitExceeded) {
        // Anybody may send this, of any length; a longer one is no account.
        guard identifier.utf8.count <= 128 else { return }
        let identifier = Array(identifier.utf8)
        guard failures?.wait(identifier, at: now) != nil else {
            failures?.take(identifier, at: now)
            return
        }
        failures?.close(identifier, at: now)
        throw RateLimitExceeded(.userSigFailures, wait: .seconds(60))
    }
}
