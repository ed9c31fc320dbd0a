import EventLoop
import Testing

@testable import Gateway

@Suite("A bucket of a rate limit", .timeLimit(.minutes(5)))
struct TokenBucketTests {
    private static let threePerSecond = RateLimit.perSecond(3)

    @Test("a full bucket gives what it holds at once, then one for each interval")
    func burstAndRefill() throws {
        let limit = try #require(Self.threePerSecond)
        var bucket = TokenBucket()
        for _ in 1...3 {
            #expect(bucket.wait(under: limit, at: .at(10)) == nil)
            bucket.take(under: limit, at: .at(10))
        }
        #expect(bucket.wait(under: limit, at: .at(10)) == .nanoseconds(333_333_333))
        #expect(bucket.wait(under: limit, at: .at(10.3)) == .nanoseconds(33_333_333))
        #expect(bucket.wait(under: limit, at: .at(10.34)) == nil)
        bucket.take(under: limit, at: .at(10.34))
        #expect(bucket.wait(under: limit, at: .at(10.34)) != nil)
    }

    @Test("an idle bucket holds no more than at first")
    func idleBucketIsFull() throws {
        let limit = try #require(Self.threePerSecond)
        var bucket = TokenBucket()
        bucket.take(under: limit, at: .at(0))
        for _ in 1...3 {
            #expect(bucket.wait(under: limit, at: .at(1000)) == nil)
            bucket.take(under: limit, at: .at(1000))
        }
        #expect(bucket.wait(under: limit, at: .at(1000)) != nil)
    }

    @Test("a reading that is earlier than the last gives nothing away")
    func earlierReading() throws {
        let limit = try #require(Self.threePerSecond)
        var bucket = TokenBucket()
        for _ in 1...3 { bucket.take(under: limit, at: .at(10)) }
        #expect(bucket.wait(under: limit, at: .at(9)) == .nanoseconds(1_333_333_333))
        bucket.take(under: limit, at: .at(9))
        #expect(bucket.wait(under: limit, at: .at(10)) == .nanoseconds(666_666_666))
    }

    @Test("more than the bucket holds is taken from a full one, which owes the rest")
    func dearRequest() throws {
        let limit = try #require(RateLimit.perMinute(60))
        var bucket = TokenBucket()
        #expect(bucket.wait(for: 500, under: limit, at: .at(0)) == nil)
        bucket.take(500, under: limit, at: .at(0))
        #expect(bucket.wait(under: limit, at: .at(440)) == .seconds(1))
        #expect(bucket.wait(under: limit, at: .at(441)) == nil)
        #expect(bucket.wait(for: 500, under: limit, at: .at(499)) == .seconds(1))
        #expect(bucket.wait(for: 500, under: limit, at: .at(500)) == nil)
    }

    @Test("a closed bucket gives nothing for a period", arguments: [1, 2, 20])
    func closed(count: Int64) throws {
        let limit = try #require(RateLimit.perMinute(count))
        var bucket = TokenBucket()
        bucket.close(under: limit, at: .at(0))
        #expect(bucket.wait(under: limit, at: .at(0)) == .seconds(60))
        #expect(bucket.wait(under: limit, at: .at(60)) == nil)
    }

    @Test("sums stay within 64 bits", arguments: [1, 1000, .max] as [Int64])
    func largeNumbers(count: Int64) throws {
        let limit = try #require(RateLimit.perMinute(count))
        var bucket = TokenBucket()
        bucket.take(.max, under: limit, at: .at(0))
        #expect(bucket.wait(for: .max, under: limit, at: .at(1)) != nil)
    }

    @Test("nothing to count to is no limit", arguments: [nil, 0, -1] as [Int64?])
    func noLimit(count: Int64?) {
        #expect(RateLimit.perSecond(count) == nil)
    }

    @Test(
        "Retry-After is rounded up to whole seconds, at least 1",
        arguments: [
            (.nanoseconds(1), 1), (.milliseconds(999), 1), (.seconds(1), 1), (.milliseconds(1001), 2),
            (.seconds(60), 60),
        ] as [(Duration, Int64)],
    )
    func retryAfter(wait: Duration, seconds: Int64) {
        #expect(RateLimitExceeded(.requests, wait: wait).retryAfter == seconds)
    }
}

extension MonotonicTime {
    /// So many seconds after some start.
    static func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: Int64(seconds * 1_000_000_000))
    }
}
