import APNs
import EventLoop
import PostgresClient
import Synchronization

/// The ``AlarmBook`` of a process, shared by its lanes: a lock that is taken only on faults and while an alarm is up.
public final class AlarmBoard: Sendable {
    private let book = Mutex(AlarmBook())
    /// Read on every push that APNs takes.
    private let awaitsEnd = Atomic(false)

    init() {}

    /// A fault was seen.
    func raise(_ alarm: Alarm) {
        change { $0.raise(alarm) }
    }

    /// A fault is over.
    func end(_ alarm: Alarm) {
        change { $0.end(alarm) }
    }

    /// What one push says: a fault, that key and topic are in order, or neither.
    func note(_ outcome: APNsOutcome, for attempt: PushAttempt, of message: MessageUnderWay) {
        if case .responded(let response) = outcome, let provesTopic = AlarmBoard.provesTopic(APNsReaction.of(response))
        {
            guard awaitsEnd.load(ordering: .relaxed) else { return }
            change { book in
                book.keyWasTaken(
                    sdkAppID: message.order.sdkAppID,
                    businessID: attempt.destination.certificate.businessID,
                    environment: attempt.destination.environment,
                    route: attempt.isActivity ? .activity : .device,
                    provesTopic: provesTopic,
                )
            }
        }
        if let alarm = Alarm(outcome, for: attempt, of: message) {
            raise(alarm)
        }
    }

    /// Whether an answer shows that APNs took the bundle id, or at least the key; nil: it shows neither.
    private static func provesTopic(_ reaction: APNsReaction) -> Bool? {
        switch reaction {
        case .accepted, .tokenDead: true
        case .suspectToken, .wrongTopic, .payloadTooLarge, .tooManyRequests: false
        default: nil
        }
    }

    /// Whether there is something to write.
    var hasUnwritten: Bool { book.withLock { $0.hasUnwritten } }

    /// Writes what is due, and reads what the other gateways wrote.
    ///
    /// - Parameter host: this process, for people.
    func exchange(with store: AlarmStore, host: String) async throws(PostgresError) {
        let writes = book.withLock { $0.takeWrites(at: .now) }
        do throws(PostgresError) {
            let open = try await store.exchange(writes, host: host)
            change { $0.follow(open) }
        } catch {
            // One that PostgreSQL refuses it will refuse again.
            if error.isTransient {
                change { $0.putBack(writes) }
            }
            throw error
        }
    }

    private func change(_ body: (inout AlarmBook) -> Void) {
        book.withLock { book in
            body(&book)
            awaitsEnd.store(book.awaitsEnd, ordering: .relaxed)
        }
    }
}
