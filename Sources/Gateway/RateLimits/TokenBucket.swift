import EventLoop

/// A bucket that is full at first, gives what is taken from it, and fills up evenly, in one number: the time at which it
/// will be full if nothing more is taken (the generic cell rate algorithm of ITU-T I.371).
struct TokenBucket: Sendable, Equatable {
    private var fullAt = MonotonicTime(nanoseconds: .min)

    /// How long to wait until `number` can be taken; nil: they can be now.
    ///
    /// More than the bucket holds can be taken from a full one, which then owes the rest: under a limit below the size
    /// of a batch, batches come through one at a time, not never.
    func wait(for number: Int64 = 1, under limit: RateLimit, at now: MonotonicTime) -> Duration? {
        let missing = max(fullAt, now).nanoseconds - now.nanoseconds
        let excess = missing + limit.nanoseconds(for: min(number, limit.count)) - limit.period
        return excess > 0 ? .nanoseconds(excess) : nil
    }

    /// Takes `number`, whether they are there or not.
    mutating func take(_ number: Int64 = 1, under limit: RateLimit, at now: MonotonicTime) {
        fullAt = max(fullAt, now) + .nanoseconds(limit.nanoseconds(for: number))
    }

    /// Empties it so that there is nothing to take for a whole period.
    mutating func close(under limit: RateLimit, at now: MonotonicTime) {
        fullAt = now + .nanoseconds(limit.period + limit.nanoseconds(for: limit.count - 1))
    }
}
