/// How many suspects a process works on at a time: rows that an instance died with. A value without I/O.
///
/// One of them may kill this process too, and takes into suspicion what runs beside it. So they begin one at a time, and
/// only once some went well in a row several at a time: after the crash of a busy process nearly all are blameless, and
/// there can be thousands.
struct SuspectWindow: Sendable {
    /// So many go well one at a time before there are two.
    static let caution = 8
    /// Most at a time.
    static let limit = 512
    /// Most at a time of those that died in company: each death leaves no more than that to be run alone.
    static let fewLimit = 16
    /// After so many times its size of others, those that must be alone have their turn.
    static let patience = 4

    /// Suspects that are worked on.
    private(set) var running = 0
    private var few = 0
    private var isAlone = false
    private var finished = 0
    private var sinceAlone = 0

    /// How many may be worked on at a time now. From the end of caution it doubles with each round.
    var size: Int { min(max(finished - SuspectWindow.caution + 2, 1), SuspectWindow.limit) }

    /// Takes places for suspects. Where some are free but most are not, none are given: few large steps cost less.
    ///
    /// - Returns: how many places there were, up to `wanted`.
    mutating func admit(_ wanted: Int, _ isolation: InstanceDeaths.Isolation) -> Int {
        switch isolation {
        case .none: return wanted
        case .alone:
            guard running == 0, wanted > 0 else { return 0 }
            running = 1
            isAlone = true
            sinceAlone = 0
            return 1
        case .inCompany, .inFewCompany:
            let free = size - running
            guard !isAlone, free >= max(size / 4, 1), sinceAlone < SuspectWindow.patience * size else { return 0 }
            let isFew = isolation == .inFewCompany
            let places = max(min(wanted, free, isFew ? SuspectWindow.fewLimit - few : free), 0)
            running += places
            few += isFew ? places : 0
            sinceAlone += places
            return places
        }
    }

    /// Gives places back for which there was nothing.
    mutating func giveBack(_ places: Int, _ isolation: InstanceDeaths.Isolation) {
        end(places, isolation)
        sinceAlone = max(sinceAlone - places, 0)
    }

    /// One of them is done, and the process lives.
    mutating func finish(_ isolation: InstanceDeaths.Isolation) {
        if isolation != .alone {
            finished = min(finished + 1, SuspectWindow.caution + SuspectWindow.limit)
        }
        end(1, isolation)
    }

    /// There are none to take up. Once those under way are done too, the next ones come one at a time again.
    mutating func rest() {
        if running == 0 {
            self = SuspectWindow()
        }
    }

    private mutating func end(_ places: Int, _ isolation: InstanceDeaths.Isolation) {
        running = max(running - places, 0)
        if isolation == .inFewCompany {
            few = max(few - places, 0)
        }
        if isolation == .alone, places > 0 {
            isAlone = false
        }
    }
}
