/// The numbers that phones go by.
///
/// Apple publishes the hours of an activity's life, and says that there are budgets, but no budget's size: those are
/// guesses to test against. Their real sizes differ by device, app and day.
public struct PhoneRules: Sendable {
    /// Priority-10 Live Activity pushes that one app may have in an hour. Apple: "if you exceed your budget, the system
    /// may throttle". One a minute is a guess.
    public var priority10Budget = 60

    /// The same for an app with `NSSupportsLiveActivitiesFrequentUpdates` on a phone that allows it. Also a guess.
    public var frequentPriority10Budget = 240

    /// Activities that pushes may start in an hour for one app. About ten quick ones were seen to be the end of it
    /// (Apple Developer Forums 799505); frequent updates do not raise it.
    public var startBudget = 10

    /// Background pushes that wake one app in an hour. Apple: "don't try to send more than two or three per hour".
    public var backgroundBudget = 3

    /// The numbers as described.
    public init() {}

    /// How late an update may be, in seconds. Reports call 10 s harmless and 50 s harmful.
    static let tolerance: Int64 = 15
    /// How far ahead a timestamp may be, in seconds (Apple Developer Forums 776165); milliseconds are always further.
    static let horizon: Int64 = 8 * 3600
    /// After how many seconds the system ends an activity by itself.
    static let activeLife: Int64 = 8 * 3600
    /// For how many seconds an ended activity stays on the lock screen at most.
    static let endedLife: Int64 = 4 * 3600
}
