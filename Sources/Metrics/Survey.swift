import Synchronization

/// The latest figures of several threads that are asked and may be too busy to answer.
public final class Survey<Answer: Sendable>: Sendable {
    /// One that has left so many questions open is not asked again before it answers.
    private static var openLimit: Int { 8 }

    private struct Respondent {
        /// Its last answer, which stands in where the next does not come in time: a counter never goes down.
        var latest: Answer?
        var openQuestions = 0
    }

    private let respondents: Mutex<[Respondent]>

    /// - Parameter count: how many are asked.
    public init(count: Int) {
        respondents = Mutex([Respondent](repeating: Respondent(), count: count))
    }

    /// Asks all at once.
    ///
    /// - Parameters:
    ///   - patience: after so long those who have not answered are waited for no more.
    ///   - question: asks one of them, by its number from 0. It may never return.
    /// - Returns: the latest answer of each that ever gave one, and how many did not give one now.
    public func ask(
        within patience: Duration,
        _ question: @escaping @Sendable (Int) async -> Answer,
    ) async -> (answers: [Answer], missing: Int) {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let count = respondents.withLock { $0.count }
        var asked = 0
        for number in 0..<count where begin(number) {
            asked += 1
            Task {
                self.end(number, await question(number))
                arrival.yield()
            }
        }
        let limit = Task {
            try? await Task.sleep(for: patience)
            arrival.finish()
        }
        defer { limit.cancel() }
        var answered = 0
        if asked > 0 {
            for await _ in arrivals {
                answered += 1
                if answered == asked { break }
            }
        }
        return (respondents.withLock { $0.compactMap(\.latest) }, count - answered)
    }

    private func begin(_ number: Int) -> Bool {
        respondents.withLock { respondents in
            guard respondents[number].openQuestions < Survey.openLimit else { return false }
            respondents[number].openQuestions += 1
            return true
        }
    }

    private func end(_ number: Int, _ answer: Answer) {
        respondents.withLock { respondents in
            respondents[number].latest = answer
            respondents[number].openQuestions -= 1
        }
    }
}
