import EventLoop

/// When the next connection of a key may be opened.
///
/// After one that came to nothing: 0.5 s, doubling to 60 s by default, each shortened by up to half at random so that
/// many gateways do not return in the same moment. After one that worked: at once, but not more than a few in a row,
/// since Apple takes quick reconnects for an attack.
struct ConnectionBackOff: Equatable {
    /// How many connections may be opened without a pause.
    static let burst = 4

    let shortest: Duration
    let longest: Duration
    /// Connections in a row that came to nothing.
    private(set) var failures = 0
    private var earliest: MonotonicTime?
    private var recentStarts: [MonotonicTime] = []
    private var nextDelay: Duration

    init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
        self.nextDelay = shortest
    }

    /// How long to wait before a connection may be opened; nil for not at all.
    func delay(at now: MonotonicTime) -> Duration? {
        var time = earliest ?? now
        if recentStarts.count >= ConnectionBackOff.burst, let oldest = recentStarts.first {
            time = max(time, oldest + shortest * ConnectionBackOff.burst)
        }
        return time > now ? time - now : nil
    }

    /// A connection is being opened.
    mutating func started(at now: MonotonicTime) {
        recentStarts.append(now)
        if recentStarts.count > ConnectionBackOff.burst {
            recentStarts.removeFirst()
        }
    }

    /// A connection came to nothing: it could not be made, or ended before any request was answered on its merits.
    ///
    /// - Parameter fraction: a random number of 0..<1.
    mutating func failed(at now: MonotonicTime, fraction: Double) {
        failures += 1
        earliest = now + (nextDelay - nextDelay / 2 * fraction)
        nextDelay = min(nextDelay * 2, longest)
    }

    /// A request was answered on its merits.
    mutating func succeeded() {
        failures = 0
        earliest = nil
        nextDelay = shortest
    }
}
