import EventLoop

/// Stops sending what APNs refuses because of a key or a topic, and probes with one push now and then.
///
/// Repeating what only an operator can mend earns 429 and in the end a blocked address. The first refusal opens the
/// circuit; after 30 s (by default; doubling to 15 minutes) one push probes; its good answer closes the circuit.
///
/// A refusal can also be about one recipient, whatever its reason says. So whoever was refused probes again only after
/// others had their turn. A refusal that comes again after APNs took others' pushes is that recipient's own: it opens
/// nothing.
struct ConfigurationCircuit: Equatable {
    /// Whose push it is: the device token.
    typealias Recipient = String

    /// Why something is held.
    struct Refusal: Equatable {
        /// APNs' word.
        var reason: String
        /// Only one recipient was refused, and another is about to be tried: what is held waits for a moment only.
        var isUnconfirmed = false
    }

    enum Admission: Equatable {
        /// Everything may be sent.
        case everything
        /// The push at that place may be sent, the rest is held.
        case probe(Int, Refusal)
        /// Everything is held.
        case nothing(Refusal)
    }

    /// What a refusal means.
    enum Finding: Equatable {
        /// It opened a closed circuit, which is worth an alarm.
        case opened
        /// It was open.
        case isOpen
        /// Others pass: it is about this recipient.
        case recipientAlone
    }

    private enum State: Equatable {
        /// Can become `open`.
        case closed
        /// Can become `probing`. Who was refused before waits until `again`.
        case open(until: MonotonicTime, again: MonotonicTime)
        /// A probe is under way. Can become `closed` or `open`.
        case probing
    }

    private struct Memory: Equatable {
        var refusedAt: MonotonicTime
        /// ``acceptances`` at that time: if they are more now, others passed since.
        var acceptances: Int
    }

    /// Most recipients that it remembers; with more than that the longest ago is forgotten, and may probe again.
    static let memoryLimit = 256

    let shortest: Duration
    let longest: Duration
    /// Whether one refused recipient is no proof: the next push to another goes out at once, and only its refusal
    /// starts the first pause.
    let asksAnother: Bool
    private var state = State.closed
    private var reason = ""
    private var delay: Duration
    private var isConfirmed = true
    /// Whose refusal opened it.
    private var first: Recipient?
    /// Since it opened, others came who were not refused: the next probe is theirs.
    private var othersWait = false
    private var refused: [Recipient: Memory] = [:]
    private var acceptances = 0
    private var lastRefusal = MonotonicTime(nanoseconds: 0)

    init(shortest: Duration, longest: Duration, asksAnother: Bool = false) {
        self.shortest = shortest
        self.longest = longest
        self.asksAnother = asksAnother
        self.delay = shortest
    }

    var isClosed: Bool { state == .closed }

    /// Whether it knows of nobody who was refused: an acceptance tells it nothing.
    var isQuiet: Bool { isClosed && refused.isEmpty }

    /// Why APNs refuses, nil while it does not.
    var openReason: String? { isClosed ? nil : reason }

    /// What may be sent now of the pushes to these recipients; nil is nobody in particular. A push that it lets through
    /// as a probe is under way from now on.
    mutating func admit(_ recipients: [Recipient?], at now: MonotonicTime) -> Admission {
        let refusal = Refusal(reason: reason, isUnconfirmed: !isConfirmed)
        guard case .open(let until, let again) = state else {
            return isClosed ? .everything : .nothing(refusal)
        }
        let fresh = recipients.firstIndex { recipient in recipient.map { refused[$0] == nil } ?? true }
        if let fresh, now >= until {
            state = .probing
            return .probe(fresh, refusal)
        }
        othersWait = othersWait || fresh != nil
        // What is held comes back within the shortest pause: by then everybody had a turn.
        guard now >= (othersWait ? again + shortest * 2 : again), let longestAgo = longestAgo(among: recipients) else {
            return .nothing(refusal)
        }
        state = .probing
        return .probe(longestAgo, refusal)
    }

    /// Of those who were refused, the one for whom that is the longest ago.
    private func longestAgo(among recipients: [Recipient?]) -> Int? {
        recipients.indices.min { left, right in refusedAt(recipients[left]) < refusedAt(recipients[right]) }
    }

    private func refusedAt(_ recipient: Recipient?) -> MonotonicTime {
        recipient.flatMap { refused[$0]?.refusedAt } ?? MonotonicTime(nanoseconds: 0)
    }

    /// The probe ended without an answer: nothing is known, another one may try after the same time.
    mutating func probeEndedWithoutAnswer(at now: MonotonicTime) {
        guard state == .probing else { return }
        open(at: now)
    }

    /// APNs refused a push to this recipient; nil: a request or connection of nobody in particular.
    mutating func refused(reason: String, of recipient: Recipient? = nil, at now: MonotonicTime) -> Finding {
        let before = recipient.flatMap { refused[$0] }
        remember(recipient, at: now)
        switch state {
        case .closed:
            if let before, before.acceptances < acceptances, now - before.refusedAt <= longest {
                return .recipientAlone
            }
            self.reason = reason
            delay = shortest
            first = recipient
            isConfirmed = !asksAnother || recipient == nil
            open(at: now)
            return .opened
        case .open:
            // Requests that were under way when it opened.
            self.reason = reason
            if !isConfirmed, recipient != first {
                isConfirmed = true
                open(at: now)
            }
        case .probing:
            self.reason = reason
            if !isConfirmed, recipient != first {
                isConfirmed = true
            } else {
                delay = min(delay * 2, longest)
            }
            open(at: now)
        }
        return .isOpen
    }

    /// APNs took a push to this recipient.
    ///
    /// - Returns: whether that closed it.
    mutating func accepted(of recipient: Recipient? = nil, at now: MonotonicTime) -> Bool {
        acceptances += 1
        if now - lastRefusal > longest {
            refused = [:]
        } else if let recipient {
            refused[recipient] = nil
        }
        defer { state = .closed }
        return !isClosed
    }

    private mutating func open(at now: MonotonicTime) {
        othersWait = false
        state = .open(until: isConfirmed ? now + delay : now, again: now + delay)
    }

    private mutating func remember(_ recipient: Recipient?, at now: MonotonicTime) {
        lastRefusal = now
        guard let recipient else { return }
        if refused.count >= ConfigurationCircuit.memoryLimit, refused[recipient] == nil,
            let oldest = refused.min(by: { $0.value.refusedAt < $1.value.refusedAt })?.key
        {
            refused[oldest] = nil
        }
        refused[recipient] = Memory(refusedAt: now, acceptances: acceptances)
    }
}
