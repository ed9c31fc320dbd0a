/// The tables of one UTC day, as found in the database.
struct PartitionDay: Sendable, Equatable {
    /// How far the table of a day has come. Can become, in this order: attached, detachPending, detached, gone.
    enum State: String, Sendable {
        /// A partition.
        case attached
        /// A detach was interrupted: new queries do not see the partition any more, and the parent can detach no other one
        /// before this one is finalised.
        case detachPending = "pending"
        /// A table of its own that waits to be dropped.
        case detached
    }

    /// One of the day's tables.
    struct Table: Sendable, Equatable {
        /// `message` or `delivery`.
        var parent: String
        /// Such as `message_20260131`. It matches the pattern below, so it can stand in SQL as it is.
        var name: String
        var state: State
    }

    /// The day as it stands in the names, such as `20260131`.
    let digits: String
    var tables: [Table] = []

    /// The day as people write it.
    var date: String {
        "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.dropFirst(6))"
    }

    /// Sorts tables into days, the oldest first.
    static func days(of tables: [Table]) -> [PartitionDay] {
        var days: [String: PartitionDay] = [:]
        for table in tables {
            let digits = String(table.name.suffix(8))
            days[digits, default: PartitionDay(digits: digits)].tables.append(table)
        }
        return days.values.sorted { $0.digits < $1.digits }
    }
}
