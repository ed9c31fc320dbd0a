import TestSupport
import Testing

@testable import Gateway

@Suite("A wake-up signal", .timeLimit(.minutes(5)))
struct SignalTests {
    @Test("a wake-up before the wait, while it begins, or later is not lost", arguments: 0...3)
    func isNotLost(jobsBefore: Int) async throws {
        let rounds = 10
        let lane = try LoopActor()
        defer { lane.stop() }
        let count = await lane.run { lane in
            let signal = Signal()
            var woken = 0
            Task {
                _ = lane
                for _ in 1...rounds {
                    await signal.wait()
                    woken += 1
                }
            }
            for round in 1...rounds where woken == round - 1 {
                for _ in 0..<jobsBefore {
                    await Task.yield()
                }
                signal.set()
                for _ in 0..<10 where woken < round {
                    await Task.yield()
                }
            }
            return woken
        }
        #expect(count == rounds)
    }
}
