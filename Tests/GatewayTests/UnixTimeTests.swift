import Testing

@testable import Gateway

@Suite("Points in time", .timeLimit(.minutes(5)))
struct UnixTimeTests {
    @Test(
        "seconds are rounded down, before 1970 too",
        arguments: [
            (0, 0), (999_999, 0), (1_000_000, 1), (-1, -1), (-999_999, -1), (-1_000_000, -1), (-1_000_001, -2),
            (.max, 9_223_372_036_854),
        ] as [(Int64, Int64)],
    )
    func seconds(microseconds: Int64, seconds: Int64) {
        #expect(UnixTime(microseconds: microseconds).seconds == seconds)
    }

    @Test("a time and a duration add up to the microsecond")
    func sum() {
        let time = UnixTime(seconds: 1_796_007_172)
        #expect((time + .milliseconds(1500)).microseconds == 1_796_007_173_500_000)
        #expect((time + .microseconds(-1)).microseconds == 1_796_007_171_999_999)
        #expect((time + .nanoseconds(1999)).microseconds == 1_796_007_172_000_001)
        #expect((time + .seconds(604_800)) - time == .seconds(604_800))
        #expect(time - (time + .microseconds(1)) == .microseconds(-1))
    }

    @Test("times are in order")
    func order() {
        #expect(UnixTime(microseconds: -1) < UnixTime(microseconds: 0))
        #expect(UnixTime(seconds: 1) == UnixTime(microseconds: 1_000_000))
    }
}
