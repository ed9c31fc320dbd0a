import EventLoop
import Testing

@testable import struct APNs.ConnectionBackOff

@Suite(.timeLimit(.minutes(5)))
struct ConnectionBackOffTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private var backOff: ConnectionBackOff {
        ConnectionBackOff(shortest: .milliseconds(500), longest: .seconds(60))
    }

    @Test("C18, C20: connections that come to nothing are further and further apart, to 60 s")
    func growth() {
        var backOff = backOff
        var delays: [Duration?] = []
        for _ in 0..<9 {
            backOff.failed(at: start, fraction: 0)
            delays.append(backOff.delay(at: start))
        }
        #expect(delays == [0.5, 1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        #expect(backOff.failures == 9)
    }

    @Test("Chance takes away up to half")
    func jitter() {
        var backOff = backOff
        backOff.failed(at: start, fraction: 0.999_999)
        let delay = backOff.delay(at: start) ?? .zero
        #expect(delay > .milliseconds(249) && delay < .milliseconds(251))
    }

    @Test("An answer forgets the failures")
    func success() {
        var backOff = backOff
        backOff.failed(at: start, fraction: 0)
        backOff.failed(at: start, fraction: 0)
        backOff.succeeded()
        #expect(backOff.delay(at: start) == nil)
        #expect(backOff.failures == 0)
        backOff.failed(at: start, fraction: 0)
        #expect(backOff.delay(at: start) == .milliseconds(500))
    }

    @Test("A wait that has passed is none")
    func passed() {
        var backOff = backOff
        backOff.failed(at: start, fraction: 0)
        #expect(backOff.delay(at: start + .milliseconds(500)) == nil)
    }

    @Test("A peer that answers once and hangs up is not called more than four times in two seconds")
    func burst() {
        var backOff = backOff
        for _ in 0..<4 {
            #expect(backOff.delay(at: start) == nil)
            backOff.started(at: start)
            backOff.succeeded()
        }
        #expect(backOff.delay(at: start) == .seconds(2))
        #expect(backOff.delay(at: start + .seconds(2)) == nil)
    }
}
