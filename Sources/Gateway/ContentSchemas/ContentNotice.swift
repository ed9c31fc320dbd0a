public import ContentSchema

/// Something about the content-state, or the attributes of a start, that its sender should know.
///
/// Its texts hold nothing of what the sender wrote but the names of members, and a date in the right form.
public struct ContentNotice: Sendable, Equatable {
    /// What it is, for machines.
    public enum Code: String, Sendable {
        /// The phone cannot decode it, so that nothing would appear.
        case unfit = "content_state_unfit"
        /// A Date is given in Unix seconds.
        case dateAsUnixSeconds = "date_as_unix_seconds"
        /// A Date is given in milliseconds.
        case dateAsMilliseconds = "date_as_milliseconds"
        /// The type has no such member; the phone ignores it.
        case unknownMember = "unknown_member"
    }

    /// Which of the two it is about.
    public var part: ActivitySchema.Part
    /// The place inside it, such as `.driver.eta` or `[2]`; empty: the whole of it.
    public var place: String
    /// What it is, for machines.
    public var code: Code
    /// A clause about the place, for people.
    public var message: String
    /// The same for a record that outlives the content: without the date that would be right.
    let problem: String

    private init(part: ActivitySchema.Part, place: String, code: Code, problem: String, message: String) {
        self.part = part
        self.place = place
        self.code = code
        self.problem = problem
        self.message = message
    }

    init(_ fault: ContentFault, _ part: ActivitySchema.Part) {
        let hint = fault.likelyDate.map { "; for that date send \($0)" } ?? ""
        self.init(
            part: part,
            place: fault.place,
            code: .unfit,
            problem: fault.problem,
            message: fault.problem + hint,
        )
    }

    init(_ date: MisreadDate, _ part: ActivitySchema.Part) {
        self.init(
            part: part,
            place: date.place,
            code: date.form == .unixSeconds ? .dateAsUnixSeconds : .dateAsMilliseconds,
            problem: date.problem,
            message: "\(date.problem); for that date send \(date.right)",
        )
    }

    init(unknownMember place: String, of type: String, _ part: ActivitySchema.Part) {
        let problem = "\(type) has no such member; the phone ignores it"
        self.init(part: part, place: place, code: .unknownMember, problem: problem, message: problem)
    }

    /// Whether it is about the member that Pushwoosh's API adds to the attributes of every start, which types that are not
    /// of Pushwoosh's SDK lack and ignore.
    public var isOfPushwooshMember: Bool {
        self.code == .unknownMember && self.part == .attributes && self.place == ".pushwoosh"
    }

    /// The same with more to its message.
    func adding(_ more: String) -> ContentNotice {
        var longer = self
        longer.message += "; \(more)"
        return longer
    }
}
