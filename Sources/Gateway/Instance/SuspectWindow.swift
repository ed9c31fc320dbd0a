/// How many suspects a process works on at a time: rows that an instance died with. A value without I/O.
///
/// One of them may kill this process too, and takes into suspicion what runs beside it. So they begin one at a time, and
/// only once many of them went well in a row several at a time: after the crash of a busy process nearly all are
/// blameless, and there can be thousands.
struct SuspectWindow: Sendable {
    /// So many go well one at a time before there are two.
    static let caution = 32
    /// Most at a time.
    static let limit = 512

    /// Suspects that are worked on.
    private(set) var running = 0
    private var isAlone = false
    private var finished = 0

    /// How many may be worked on at a time now. From the end of caution it doubles with each round.
    var size: Int { min(max(finished - SuspectWindow.caution + 2, 1), SuspectWindow.limit) }

    /// Takes places for suspects that may have company.
    ///
    /// - Returns: how many places there were, up to `wanted`.
    mutating func admit(_ wanted: Int) -> Int {
        guard !isAlone else { return 0 }
        let places = max(min(wanted, size - running), 0)
        running += places
        return places
    }

    /// Takes the place of one that must be alone.
    ///
    /// - Returns: whether there was no other.
    mutating func admitAlone() -> Bool {
        guard running == 0 else { return false }
        running = 1
        isAlone = true
        return true
    }

    /// Gives places back for which there was nothing. Where nothing runs, none are left, and the next come one at a time.
    mutating func giveBack(_ places: Int) {
        guard places > 0 else { return }
        end(places)
        if running == 0 {
            finished = 0
        }
    }

    /// One of them is done, and the process lives.
    mutating func finish() {
        if !isAlone {
            finished = min(finished + 1, SuspectWindow.caution + SuspectWindow.limit)
        }
        end(1)
    }

    private mutating func end(_ places: Int) {
        running = max(running - places, 0)
        isAlone = false
    }
}
