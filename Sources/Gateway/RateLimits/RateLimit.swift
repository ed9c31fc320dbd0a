/// So many of something in a period: the size of a bucket, and how fast it fills up again.
struct RateLimit: Sendable, Equatable {
    /// Beyond any wait that is meant: 31 years. Sums of it and of a clock stay within 64 bits.
    private static let longest: Int64 = 1_000_000_000_000_000_000

    /// Above 0.
    let count: Int64
    /// The nanoseconds in which a bucket gets one.
    private let interval: Int64

    /// - Parameters:
    ///   - count: what the bucket holds; nil or below 1: there is no limit.
    ///   - period: in how many seconds an empty one fills up.
    init?(_ count: Int64?, perSeconds period: Int64) {
        guard let count, count > 0 else { return nil }
        self.count = count
        // Beyond a thousand million a second there is nothing to tell apart.
        interval = max(1, period * 1_000_000_000 / count)
    }

    static func perSecond(_ count: Int64?) -> RateLimit? { RateLimit(count, perSeconds: 1) }
    static func perMinute(_ count: Int64?) -> RateLimit? { RateLimit(count, perSeconds: 60) }

    /// The nanoseconds in which a bucket gets `number`.
    func nanoseconds(for number: Int64) -> Int64 {
        let (product, overflow) = interval.multipliedReportingOverflow(by: number)
        return overflow ? RateLimit.longest : min(product, RateLimit.longest)
    }

    /// The nanoseconds in which an empty bucket fills up.
    var period: Int64 { nanoseconds(for: count) }
}
