/// How often pushes go to one activity, and how many of them at once to one phone.
public struct ActivityPacing: Sendable, Equatable {
    /// The shortest time from one message's push to the next one's; what waits meanwhile gives way to what is newer.
    /// None: every message is pushed at once.
    public var interval: Duration
    /// How many pushes of priority 10 go to one installation in one hour of the clock before updates go with 5.
    public var hourlyBudget: Int64
    /// The same for an installation that reported frequent pushes.
    public var frequentHourlyBudget: Int64

    /// One a second, which the strictly rising whole seconds of `aps.timestamp` can follow without running ahead of the
    /// clock; 60 an hour, or 240 with frequent pushes. Apple names no numbers for its budget.
    public static let standard = ActivityPacing(interval: .seconds(1))

    /// Makes a rule.
    public init(interval: Duration, hourlyBudget: Int64 = 60, frequentHourlyBudget: Int64 = 240) {
        self.interval = interval
        self.hourlyBudget = hourlyBudget
        self.frequentHourlyBudget = frequentHourlyBudget
    }
}
