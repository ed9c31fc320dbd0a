import EventLoop
import Testing

@testable import Gateway

@Suite("The buckets of callers", .timeLimit(.minutes(5)))
struct CallerBucketsTests {
    /// One a minute for each caller.
    private func buckets(capacity: Int) throws -> CallerBuckets {
        CallerBuckets(try #require(RateLimit.perMinute(1)), capacity: capacity)
    }

    @Test("each caller has its own, by its bytes")
    func callersAreApart() throws {
        var buckets = try buckets(capacity: 10)
        buckets.take(Array("é".utf8), at: .at(0))
        #expect(buckets.wait(Array("é".utf8), at: .at(0)) == .seconds(60))
        #expect(buckets.wait(Array("e\u{301}".utf8), at: .at(0)) == nil)
    }

    @Test("past the capacity the callers that were there the longest ago are forgotten")
    func capacity() throws {
        var buckets = try buckets(capacity: 4)
        for caller in UInt8(1)...100 {
            buckets.take([caller], at: .at(0))
            buckets.take([200], at: .at(0))
            #expect(buckets.count <= 4)
        }
        #expect(buckets.wait([100], at: .at(0)) != nil)
        #expect(buckets.wait([200], at: .at(0)) != nil)
        #expect(buckets.wait([1], at: .at(0)) == nil)
    }

    @Test("callers that have been idle are forgotten, without losing what they took")
    func idle() throws {
        var buckets = try buckets(capacity: 1000)
        for caller in UInt8(1)...100 {
            buckets.close([caller], at: .at(0))
        }
        buckets.take([200], at: .at(59))
        #expect(buckets.count == 101)
        buckets.take([201], at: .at(120))
        buckets.take([202], at: .at(240))
        #expect(buckets.count == 2)
        #expect(buckets.wait([1], at: .at(59)) == nil)
    }

    @Test("a closed bucket is kept for as long as it is closed")
    func closedIsKept() throws {
        var buckets = try buckets(capacity: 1000)
        buckets.take([1], at: .at(0))
        buckets.close([2], at: .at(119))
        buckets.take([3], at: .at(120))
        #expect(buckets.wait([2], at: .at(178)) == .seconds(1))
    }
}
