/// How often instances died while they worked on a row, and what follows from it.
///
/// Nobody can tell a message that kills its process from one that merely was there when the process was killed, except by
/// running it alone, and more than once: a machine may be switched off at any moment.
struct InstanceDeaths: Sendable, Equatable {
    /// Instances in a row that died with it.
    var number: Int64
    /// Those of them that worked on no other row that had lost an instance before.
    var alone: Int64

    /// In what company a row is worked on. Also in SQL: what takes rows up, and its index.
    enum Isolation: Int64, Sendable {
        /// With all others.
        case none = 0
        /// Among the suspects of a process, as many at a time as ``SuspectWindow`` allows.
        case inCompany = 1
        /// The same, but few of these at a time.
        case inFewCompany = 2
        /// As the only suspect of a process.
        case alone = 3
    }

    /// How it is worked on next: each death narrows the circle, and one that was alone before stays so.
    var isolation: Isolation {
        if alone > 0 || number > 2 { return .alone }
        return switch number {
        case 2: .inFewCompany
        case 1: .inCompany
        default: .none
        }
    }

    /// Whether it is worked on no more: three instances died with it, and with two of them nothing else was suspected.
    var quarantines: Bool { number >= 3 && alone >= 2 }
}
