public import EventLoop

/// Which instances are dead, and whether this one may still send: a value without I/O.
///
/// No clock of two machines is compared. An instance is dead only when this one has itself seen its heartbeat counter
/// unchanged for ``takeoverAfter`` of unbroken connection; and this one stops sending after ``sendStopAfter`` without a
/// heartbeat of its own. Since the second is well below the first, a message has one owner at a time.
public struct InstanceLiveness: Sendable {
    /// What a heartbeat asks for.
    public enum Action: Sendable, Equatable {
        /// This instance was declared dead by another: drop all work and come back under a new id.
        case becomeNewInstance
        /// Take over the work of these.
        case takeOver([Int64])
    }

    /// How long a counter must stand still. 25 s by default.
    public let takeoverAfter: Duration
    /// How long this instance may go without a heartbeat. 10 s by default.
    public let sendStopAfter: Duration

    /// How long a heartbeat may be under way before requests should go elsewhere. One that is merely slow takes less.
    private static let answerLimit = Duration.milliseconds(1500)

    private var lastHeartbeat: MonotonicTime?
    /// When the heartbeat that is under way was sent.
    private var askedAt: MonotonicTime?
    private var lastFailed = false
    private var others: [Int64: Sighting] = [:]

    private struct Sighting: Sendable {
        var counter: Int64
        var unchangedSince: MonotonicTime
    }

    /// - Parameters:
    ///   - takeoverAfter: how long another's counter must stand still.
    ///   - sendStopAfter: how long this instance may go without a heartbeat; below `takeoverAfter`.
    public init(takeoverAfter: Duration, sendStopAfter: Duration) {
        self.takeoverAfter = takeoverAfter
        self.sendStopAfter = sendStopAfter
    }

    /// A heartbeat is sent, or this instance registers anew.
    public mutating func heartbeatBegins(at now: MonotonicTime) {
        askedAt = now
    }

    /// What began has ended.
    public mutating func heartbeatEnds(failed: Bool) {
        askedAt = nil
        lastFailed = failed
    }

    /// A heartbeat came back from PostgreSQL.
    ///
    /// - Parameters:
    ///   - sentAt: when it was sent: the counter changed no earlier.
    ///   - isKnown: whether the row of this instance was still there.
    ///   - counters: those of all other instances.
    public mutating func heartbeat(
        sentAt: MonotonicTime,
        receivedAt now: MonotonicTime,
        isKnown: Bool,
        counters: [Int64: Int64],
    ) -> Action {
        guard isKnown else {
            lastHeartbeat = nil
            others = [:]
            return .becomeNewInstance
        }
        lastHeartbeat = sentAt
        var seen: [Int64: Sighting] = [:]
        for (id, counter) in counters {
            if let known = others[id], known.counter == counter {
                seen[id] = known
            } else {
                seen[id] = Sighting(counter: counter, unchangedSince: now)
            }
        }
        others = seen
        let dead = others.filter { sentAt - $0.value.unchangedSince >= takeoverAfter }
        return .takeOver(dead.keys.sorted())
    }

    /// The connection was lost: what others did meanwhile was not seen, so every sighting starts afresh.
    public mutating func connectionLost() {
        others = [:]
    }

    /// Whether requests that come now are likely to be answered: the last heartbeat came through, and the next one is not
    /// overdue. Well before ``maySend(at:)`` ends.
    public func isAnswered(at now: MonotonicTime) -> Bool {
        guard maySend(at: now), !lastFailed else { return false }
        return askedAt.map { now - $0 < InstanceLiveness.answerLimit } ?? true
    }

    /// Whether this instance may send and settle at `now`.
    public func maySend(at now: MonotonicTime) -> Bool {
        guard let lastHeartbeat else { return false }
        return now - lastHeartbeat < sendStopAfter
    }
}
