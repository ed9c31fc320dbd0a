import EventLoop

/// One deadline that moves with every request, on a timer that does not: moving it later only notes the new time, and
/// the timer, when it fires too early, is set again. So a busy connection costs no timer operations.
struct LazyDeadline {
    enum Firing: Equatable {
        /// Nothing is due, and nothing is awaited.
        case ignore
        /// Too early: the timer is to fire again after this.
        case again(after: Duration)
        /// The deadline has passed; it is cleared.
        case expired
    }

    private(set) var deadline: MonotonicTime?
    private var timer: MonotonicTime?

    /// Replaces the deadline.
    ///
    /// - Returns: when to set the timer to, nil where it will fire early enough already.
    mutating func set(after delay: Duration, now: MonotonicTime) -> Duration? {
        let time = now + delay
        deadline = time
        if let timer, timer <= time {
            return nil
        }
        timer = time
        return delay
    }

    /// Forgets the deadline. The timer may still fire.
    mutating func clear() {
        deadline = nil
    }

    /// To be called when the timer fires.
    mutating func fire(now: MonotonicTime) -> Firing {
        timer = nil
        guard let deadline else { return .ignore }
        guard now < deadline else {
            self.deadline = nil
            return .expired
        }
        timer = deadline
        return .again(after: deadline - now)
    }
}
