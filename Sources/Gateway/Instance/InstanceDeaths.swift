/// How often instances died while they worked on a row, and what follows from it.
///
/// Nobody can tell a message that kills its process from one that merely was there when the process was killed, except by
/// running it alone, and more than once: a machine may be switched off at any moment.
struct InstanceDeaths: Sendable, Equatable {
    /// Instances in a row that died with it.
    var number: Int64
    /// Those of them that worked on no other row that had lost an instance before.
    var alone: Int64

    /// In what company a row is worked on.
    enum Isolation: Sendable, CaseIterable {
        /// With all others.
        case none
        /// Among the first suspects of a process, as many at a time as ``SuspectWindow`` allows.
        case inFewCompany
        /// As the only suspect of a process.
        case alone
    }

    /// How it is worked on next.
    var isolation: Isolation {
        switch number {
        case ...0: .none
        case 1: .inFewCompany
        default: .alone
        }
    }

    /// Whether it is worked on no more: three instances died with it, and with two of them nothing else was suspected.
    var quarantines: Bool { number >= 3 && alone >= 2 }
}
