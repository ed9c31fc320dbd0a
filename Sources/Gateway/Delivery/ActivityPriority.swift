/// apns-priority of a Live Activity push, and why.
enum ActivityPriority: Sendable, Equatable {
    /// An `end` always goes at once.
    case end
    /// So does a push with an alert.
    case alert
    /// As the caller demands, 5 or 10.
    case caller(Int)
    /// As the app demands, 5 or 10.
    case application(Int)
    /// The rule for Pushwoosh's API: 5 where the caller demands nothing.
    case low
    /// The rule for Tencent's API: 10 while the hourly bucket of the phone lasts, then 5.
    case budget

    init(_ instruction: ActivityInstruction, for application: Application) {
        if instruction.priorityRule == .caller {
            self = instruction.priority.map { .caller($0) } ?? .low
        } else if instruction.content.event == .end {
            self = .end
        } else if let alert = instruction.content.alert, !alert.isEmpty {
            self = .alert
        } else if let priority = instruction.priority {
            self = .caller(priority)
        } else if let priority = application.liveActivityPriority {
            self = .application(priority)
        } else {
            self = .budget
        }
    }

    /// Whether a push of it counts in the bucket: the phone counts every push of priority 10.
    var spendsBudget: Bool {
        switch self {
        case .end, .alert: true
        case .caller(let priority), .application(let priority): priority == 10
        case .budget: true
        case .low: false
        }
    }

    /// The header's value and the reason for the delivery row.
    ///
    /// - Parameter isBudgetSpent: as the claim found the phone's bucket.
    func choose(isBudgetSpent: Bool) -> (Int, reason: String) {
        switch self {
        case .end: (10, "end")
        case .alert: (10, "alert")
        case .caller(let priority): (priority, "caller")
        case .application(let priority): (priority, "app_setting")
        case .low: (5, "default")
        case .budget: isBudgetSpent ? (5, ActivityPriority.budgetSpent) : (10, "default")
        }
    }

    /// The same for a push that takes an older alert along.
    static let alertTakenAlong = (10, reason: "alert")

    /// Reason of a push that would have had priority 10 while the bucket lasted.
    static let budgetSpent = "budget_spent"
}
