import EventLoop

/// The lines in which rows of the queue wait for pushes of one key to one environment, as far as a lane knows them, and
/// how many rows of each it may have under way.
///
/// A push that was never sent, because too many wait before it, goes back into its line and keeps its place there. As long
/// as the line has rows, what comes later stands behind them, and the lane takes from its front no more than came through
/// lately: what it holds leaves within a second or two, so that nothing gets too old in memory to be sent.
struct PushLines {
    /// Rows of a line that may be under way although none came through lately: enough to notice that APNs takes pushes.
    static let probes = 20

    private var known: Set<String> = []
    private var joined: Set<String> = []
    private var flows: [String: Flow] = [:]

    private struct Flow {
        var underWay = 0
        var second: Int64 = 0
        var finished = 0
        var finishedBefore = 0

        mutating func rowFinished(in now: Int64) {
            if second != now {
                finishedBefore = second == now - 1 ? finished : 0
                finished = 0
                second = now
            }
            finished += 1
        }

        /// How many were finished in this second and the last.
        func finishedLately(in now: Int64) -> Int {
            switch now - second {
            case 0: finished + finishedBefore
            case 1: finished
            default: 0
            }
        }
    }

    /// Whether rows stand in any line.
    var areEmpty: Bool { known.isEmpty }

    /// Whether rows stand in that line, so that others wait behind them.
    func hasRows(_ line: String) -> Bool { known.contains(line) }

    /// A row of this lane goes into the line.
    mutating func join(_ line: String) {
        known.insert(line)
        joined.insert(line)
    }

    /// To be told which lines have rows in the database. What joined since the last time may not be written yet.
    mutating func found(_ lines: [String]) {
        known = joined.union(lines)
        joined = []
        for (line, flow) in flows where flow.underWay == 0 && !known.contains(line) {
            flows[line] = nil
        }
    }

    /// How many more rows of a line may be taken up now.
    func room(in line: String, at now: MonotonicTime) -> Int {
        guard let flow = flows[line] else { return PushLines.probes }
        return max(window(of: flow, at: now) - flow.underWay, 0)
    }

    /// Whether so few are under way that it is time to take up more rows of a line, rather than a few each time.
    func runsLow(_ line: String, at now: MonotonicTime) -> Bool {
        guard hasRows(line), let flow = flows[line] else { return false }
        return flow.underWay <= window(of: flow, at: now) / 2
    }

    private func window(of flow: Flow, at now: MonotonicTime) -> Int {
        max(flow.finishedLately(in: now.second), PushLines.probes)
    }

    /// Rows of a line are under way from now on.
    mutating func tookUp(_ count: Int, from line: String) {
        flows[line, default: Flow()].underWay += count
    }

    /// A row of a line is not under way any more.
    ///
    /// - Parameter isFinished: nothing is left of it, rather than that it waits again.
    mutating func ended(in line: String, isFinished: Bool, at now: MonotonicTime) {
        guard flows[line] != nil else { return }
        flows[line]?.underWay -= 1
        if isFinished {
            flows[line]?.rowFinished(in: now.second)
        }
    }

    /// Nothing is under way any more: it is another's.
    mutating func dropWork() {
        flows = [:]
    }
}

extension MonotonicTime {
    fileprivate var second: Int64 { nanoseconds / 1_000_000_000 }
}

extension PushDestination {
    /// The name of the line for pushes that go there.
    var line: String { "\(certificate.key.teamID)/\(certificate.key.keyID)/\(environment.rawValue)" }
}
