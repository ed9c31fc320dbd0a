/// What retention did, or in a dry run would do.
public enum RetentionEvent: Sendable, Equatable {
    /// The tables of a day are gone.
    case dropped(day: String, tables: [String])
    /// The day is old enough, but this many of its messages are not finished: they wait, are retried or are scheduled.
    case kept(day: String, messages: Int64)
    /// Somebody is in the way; the next run tries again.
    case postponed(day: String, reason: String)
    /// Old rows of a table are gone.
    case deleted(rows: Int64, table: String)

    /// One line for people.
    public func line(isDryRun: Bool) -> String {
        switch self {
        case .dropped(let day, let tables):
            "\(isDryRun ? "would drop" : "dropped") \(day): \(tables.joined(separator: ", "))"
        case .kept(let day, let messages):
            "kept \(day): \(messages) message\(messages == 1 ? " is" : "s are") not finished"
        case .postponed(let day, let reason):
            "postponed \(day): \(reason)"
        case .deleted(let rows, let table):
            "\(isDryRun ? "would delete" : "deleted") \(rows) row\(rows == 1 ? "" : "s") of \(table)"
        }
    }
}
