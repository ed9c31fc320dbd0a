import EventLoop

/// The buckets of an app's callers, each with the same limit; a caller that is not in it has a full one. Memory is
/// bounded: past the capacity, those that were used the longest ago are forgotten.
struct CallerBuckets: Sendable {
    /// Two generations: what is used moves to the newer, and when that is half of the capacity or old enough, it takes
    /// the place of the older. So nothing is ever searched for what to forget.
    private var newer: [[UInt8]: TokenBucket] = [:]
    private var older: [[UInt8]: TokenBucket] = [:]
    private var newerSince: MonotonicTime?
    private let limit: RateLimit
    private let capacity: Int
    /// The nanoseconds after which an unused bucket is full, so that forgetting it changes nothing.
    private let idle: Int64

    /// - Parameter capacity: the most callers that are remembered.
    init(_ limit: RateLimit, capacity: Int) {
        self.limit = limit
        self.capacity = capacity
        // A closed bucket takes two periods.
        idle = 2 * limit.period
    }

    /// How many callers are remembered.
    var count: Int { newer.count + older.count }

    /// How long the caller has to wait until it can take one; nil: it can now.
    func wait(_ caller: [UInt8], at now: MonotonicTime) -> Duration? {
        bucket(of: caller).wait(under: limit, at: now)
    }

    /// Takes one from the caller's bucket.
    mutating func take(_ caller: [UInt8], at now: MonotonicTime) {
        var bucket = bucket(of: caller)
        bucket.take(under: limit, at: now)
        keep(bucket, of: caller, at: now)
    }

    /// Empties the caller's bucket so that it gives nothing for a whole period.
    mutating func close(_ caller: [UInt8], at now: MonotonicTime) {
        var bucket = TokenBucket()
        bucket.close(under: limit, at: now)
        keep(bucket, of: caller, at: now)
    }

    private func bucket(of caller: [UInt8]) -> TokenBucket {
        newer[caller] ?? older[caller] ?? TokenBucket()
    }

    private mutating func keep(_ bucket: TokenBucket, of caller: [UInt8], at now: MonotonicTime) {
        let since = newerSince ?? now
        let isFull = newer.count >= max(1, capacity / 2) && newer[caller] == nil
        if isFull || now - since >= .nanoseconds(idle) {
            older = newer
            newer = [:]
            newerSince = now
        } else {
            newerSince = since
        }
        older[caller] = nil
        newer[caller] = bucket
    }
}
