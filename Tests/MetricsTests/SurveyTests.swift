import Metrics
import Synchronization
import Testing

@Suite("Survey", .timeLimit(.minutes(5)))
struct SurveyTests {
    @Test("Everybody is asked once, and the answers are there as soon as the last has come")
    func allAnswer() async {
        let survey = Survey<Int>(count: 3)
        let result = await survey.ask(within: .seconds(3600)) { $0 }
        #expect(result.answers == [0, 1, 2])
        #expect(result.missing == 0)
    }

    @Test("One that does not answer is waited for no longer than said; its last answer stands in")
    func oneIsBlocked() async {
        let survey = Survey<Int>(count: 2)
        let block = Block()
        let first = await survey.ask(within: .milliseconds(20)) { await $0 == 1 ? block.answer() : 10 }
        #expect(first.answers == [10] && first.missing == 1)
        block.release()
        _ = await survey.ask(within: .seconds(3600)) { $0 == 1 ? 21 : 11 }
        let again = Block()
        let second = await survey.ask(within: .milliseconds(20)) { await $0 == 1 ? again.answer() : 12 }
        #expect(second.answers.first == 12 && second.answers.count == 2 && second.missing == 1)
        again.release()
    }

    @Test("One that never answers is asked eight times, not for ever")
    func openQuestionsAreLimited() async {
        let survey = Survey<Int>(count: 1)
        let block = Block()
        for _ in 0..<12 {
            let result = await survey.ask(within: .milliseconds(1)) { _ in await block.answer() }
            #expect(result.answers.isEmpty && result.missing == 1)
        }
        #expect(await block.count(atLeast: 8) == 8)
        block.release()
    }

    /// Answers that wait until they are released.
    private final class Block: Sendable {
        private let state = Mutex((waiting: [CheckedContinuation<Void, Never>](), asked: 0, isReleased: false))

        func answer() async -> Int {
            await withCheckedContinuation { continuation in
                let isReleased = state.withLock { state in
                    state.asked += 1
                    if !state.isReleased { state.waiting.append(continuation) }
                    return state.isReleased
                }
                if isReleased { continuation.resume() }
            }
            return 0
        }

        /// How often it was asked, once that is at least `count`.
        func count(atLeast count: Int) async -> Int {
            while state.withLock({ $0.asked }) < count {
                await Task.yield()
            }
            return state.withLock { $0.asked }
        }

        func release() {
            let waiting = state.withLock { state in
                state.isReleased = true
                defer { state.waiting = [] }
                return state.waiting
            }
            waiting.forEach { $0.resume() }
        }
    }
}
