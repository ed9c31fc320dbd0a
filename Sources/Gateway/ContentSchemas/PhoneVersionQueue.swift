import EventLoop
import PostgresClient

/// Looks up which versions phones have, for the requests of one lane. Those that come while a statement is under way ride
/// in the next.
final class PhoneVersionQueue {
    /// Most requests in one statement; each may name 500 accounts.
    private static let batchSize = 100

    private typealias Answer = Result<[ContentReview.PhoneVersion], PostgresError>

    private let store: DeliveryStore
    private var waiting: [Waiting] = []
    private let signal = Signal()
    private var isClosed = false

    private struct Waiting {
        let question: DeliveryStore.PhoneQuestion
        let continuation: CheckedContinuation<Answer, Never>
    }

    init(store: DeliveryStore) {
        self.store = store
    }

    /// Starts the task that asks, until ``close()``.
    ///
    /// - Parameter loop: that of the caller's actor.
    func start(on loop: EventLoop, isolation: isolated any Actor = #isolation) {
        Task {
            _ = isolation
            await withTaskExecutorPreference(loop) { await self.askWaiting() }
        }
    }

    /// Refuses what waits and lets the task end.
    func close() {
        isClosed = true
        refuseWaiting(PostgresError(.notConnected))
        signal.set()
    }

    private func refuseWaiting(_ error: PostgresError) {
        let refused = waiting
        waiting = []
        for entry in refused {
            entry.continuation.resume(returning: .failure(error))
        }
    }

    /// The phones of a question. One about devices is asked by itself.
    func answer(_ question: DeliveryStore.PhoneQuestion) async throws(PostgresError) -> [ContentReview.PhoneVersion] {
        guard question.devices.isEmpty else { return try await store.phoneVersions(question) }
        let answer = await withCheckedContinuation { continuation in
            enqueue(Waiting(question: question, continuation: continuation))
        }
        return try answer.get()
    }

    private func enqueue(_ entry: Waiting) {
        guard !isClosed else { return entry.continuation.resume(returning: .failure(PostgresError(.notConnected))) }
        waiting.append(entry)
        signal.set()
    }

    private func askWaiting() async {
        while !isClosed {
            await signal.wait()
            while !waiting.isEmpty, !isClosed {
                await ask(waiting.removePrefix(PhoneVersionQueue.batchSize))
            }
        }
    }

    /// A batch that PostgreSQL refuses is halved until the question that it refuses stands alone.
    private func ask(_ batch: [Waiting]) async {
        var parts = [batch]
        while let part = parts.popLast() {
            do throws(PostgresError) {
                let answers = try await store.phoneVersions(part.map(\.question))
                for (entry, answer) in zip(part, answers) {
                    entry.continuation.resume(returning: .success(answer))
                }
            } catch {
                let isTransient = error.isTransient(forBatchOf: part.count)
                // Nobody waits for PostgreSQL to come back, as each batch would after the other.
                if isTransient { refuseWaiting(error) }
                guard part.count > 1, !isTransient else {
                    for entry in part {
                        entry.continuation.resume(returning: .failure(error))
                    }
                    continue
                }
                parts.append(Array(part[(part.count / 2)...]))
                parts.append(Array(part[..<(part.count / 2)]))
            }
        }
    }
}
