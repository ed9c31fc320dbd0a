import EventLoop

/// Stops sending with a key that APNs refuses, and probes with one push now and then.
///
/// Repeating what only an operator can mend earns 429 and in the end a blocked address. The first refusal opens the
/// circuit; after 30 s (by default; doubling to 15 minutes) one push probes; its good answer closes the circuit.
struct ConfigurationCircuit: Equatable {
    enum Admission: Equatable {
        /// Everything may be sent.
        case everything
        /// One push may be sent, the rest is held.
        case probe(reason: String)
        /// Everything is held.
        case nothing(reason: String)
    }

    private enum State: Equatable {
        /// Can become `open`.
        case closed
        /// Can become `probing`.
        case open(until: MonotonicTime)
        /// A probe is under way. Can become `closed` or `open`.
        case probing
    }

    let shortest: Duration
    let longest: Duration
    private var state = State.closed
    private var reason = ""
    private var delay: Duration

    init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
        self.delay = shortest
    }

    var isClosed: Bool { state == .closed }

    /// Why APNs refuses the key, nil while it does not.
    var openReason: String? { isClosed ? nil : reason }

    func admission(at now: MonotonicTime) -> Admission {
        switch state {
        case .closed: .everything
        case .open(let until): now < until ? .nothing(reason: reason) : .probe(reason: reason)
        case .probing: .nothing(reason: reason)
        }
    }

    /// The push that ``admission(at:)`` let through was chosen.
    mutating func probeStarted() {
        state = .probing
    }

    /// The probe ended without an answer: nothing is known, another one may try after the same time.
    mutating func probeEndedWithoutAnswer(at now: MonotonicTime) {
        guard state == .probing else { return }
        state = .open(until: now + delay)
    }

    /// APNs refused the key.
    ///
    /// - Returns: whether that opened a closed circuit, which is worth an alarm.
    mutating func refused(reason: String, at now: MonotonicTime) -> Bool {
        self.reason = reason
        switch state {
        case .closed:
            delay = shortest
            state = .open(until: now + delay)
            return true
        case .open:
            // Requests that were under way when it opened.
            return false
        case .probing:
            delay = min(delay * 2, longest)
            state = .open(until: now + delay)
            return false
        }
    }

    /// APNs took the key.
    mutating func accepted() {
        state = .closed
    }
}
