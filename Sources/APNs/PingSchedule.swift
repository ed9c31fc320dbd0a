import EventLoop

/// When to ask a silent peer whether it is still there, and when to give it up.
struct PingSchedule: Equatable {
    enum Step: Equatable {
        /// Look again at that time.
        case wait(until: MonotonicTime)
        /// Send a PING, then look again at that time.
        case ping(lookAgainAt: MonotonicTime)
        /// The PING was not answered in time.
        case dead
    }

    let interval: Duration
    let timeout: Duration
    private(set) var lastReceived: MonotonicTime
    private var pongDue: MonotonicTime?
    /// A request got no answer in time and nothing else came: nothing more is to be sent until something comes.
    private(set) var isSuspect = false

    init(interval: Duration, timeout: Duration, openedAt: MonotonicTime) {
        self.interval = interval
        self.timeout = timeout
        self.lastReceived = openedAt
    }

    /// Bytes came, of whatever kind.
    mutating func received(at now: MonotonicTime) {
        lastReceived = now
        pongDue = nil
        isSuspect = false
    }

    /// A request was not answered in time.
    ///
    /// - Returns: whether to look at ``step(at:)`` now.
    mutating func requestTimedOut(submittedAt: MonotonicTime) -> Bool {
        guard lastReceived <= submittedAt, !isSuspect else { return false }
        isSuspect = true
        return pongDue == nil
    }

    /// What to do now.
    mutating func step(at now: MonotonicTime) -> Step {
        if let pongDue {
            return now < pongDue ? .wait(until: pongDue) : .dead
        }
        let due = lastReceived + interval
        guard isSuspect || now >= due else { return .wait(until: due) }
        let pongDue = now + timeout
        self.pongDue = pongDue
        return .ping(lookAgainAt: pongDue)
    }
}
