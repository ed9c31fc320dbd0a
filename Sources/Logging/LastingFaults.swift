/// Which faults go on, by the message of their log lines: a value without I/O.
///
/// What fails for a while fails in many places and again and again. A fault is told when it begins, then after ten
/// seconds and ever more seldom with how often it came meanwhile, and once when it is over.
struct LastingFaults: Sendable {
    /// The first and the longest time between two lines about one fault, in nanoseconds.
    static let (shortest, longest): (Int64, Int64) = (10_000_000_000, 600_000_000_000)

    private struct Fault: Sendable {
        var toldAt: Int64
        var interval = LastingFaults.shortest
        /// How often it came since it was told.
        var untold = 0
        /// How often it came since it was over the last time.
        var total = 1
        /// Whether a line said that it began, and none yet that it is over.
        var isTold = true
    }

    private var faults: [String: Fault] = [:]

    /// A fault came.
    ///
    /// - Parameter now: nanoseconds of a monotonic clock.
    /// - Returns: how often it came since the last line without being told, if it is to be told now.
    mutating func came(_ name: String, at now: Int64) -> Int? {
        guard var fault = faults[name] else {
            faults[name] = Fault(toldAt: now)
            return 0
        }
        defer { faults[name] = fault }
        fault.total += 1
        guard now - fault.toldAt >= fault.interval else {
            fault.untold += 1
            return nil
        }
        defer { fault.untold = 0 }
        fault.interval = fault.isTold ? min(fault.interval * 2, LastingFaults.longest) : LastingFaults.shortest
        fault.toldAt = now
        fault.isTold = true
        return fault.untold
    }

    /// What failed works again. Where it works in one place and fails in another, that is told as seldom as the fault.
    ///
    /// - Returns: how often it came, if that is to be told.
    mutating func isOver(_ name: String) -> Int? {
        guard var fault = faults[name], fault.isTold else { return nil }
        let total = fault.total
        fault.isTold = false
        fault.interval = LastingFaults.shortest
        fault.total = 0
        fault.untold = 0
        faults[name] = fault
        return total
    }
}
