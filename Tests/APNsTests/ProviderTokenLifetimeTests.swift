import EventLoop
import Testing

@testable import struct APNs.ProviderTokenLifetime

@Suite(.timeLimit(.minutes(5)))
struct ProviderTokenLifetimeTests {
    private let lifetime = ProviderTokenLifetime(issuedAt: 1_796_007_172, mintedAt: MonotonicTime(nanoseconds: 0))

    /// Whether it is over when the two clocks have advanced by so many minutes.
    private func isOver(monotonic: Int64, wall: Int64) -> Bool {
        lifetime.isOver(
            unixSeconds: 1_796_007_172 + wall * 60,
            monotonic: MonotonicTime(nanoseconds: monotonic * 60_000_000_000),
        )
    }

    @Test(
        "The age decides where both clocks agree",
        arguments: [(0, false), (20, false), (49, false), (50, true), (61, true)] as [(Int64, Bool)]
    )
    func age(_ minutes: Int64, _ isOver: Bool) {
        #expect(self.isOver(monotonic: minutes, wall: minutes) == isOver)
    }

    @Test("A wall clock that was stepped makes a new token, but never within 20 minutes")
    func steppedClock() {
        #expect(isOver(monotonic: 21, wall: 81))
        #expect(isOver(monotonic: 21, wall: -39))
        #expect(!isOver(monotonic: 19, wall: 79))
        #expect(!isOver(monotonic: 19, wall: -41))
        #expect(!isOver(monotonic: 21, wall: -1))
        #expect(!isOver(monotonic: 19, wall: 600))
    }

    @Test("Impossible clocks do not trap")
    func extremes() {
        let monotonic = MonotonicTime(nanoseconds: 21 * 60_000_000_000)
        #expect(lifetime.isOver(unixSeconds: .min, monotonic: monotonic))
        #expect(lifetime.isOver(unixSeconds: .max, monotonic: monotonic))
    }
}
