/// How often pushes go to one activity.
public struct ActivityPacing: Sendable, Equatable {
    /// The shortest time from one message's push to the next one's; what waits meanwhile gives way to what is newer.
    /// None: every message is pushed at once.
    public var interval: Duration

    /// One a second, which the strictly rising whole seconds of `aps.timestamp` can follow without running ahead of the
    /// clock.
    public static let standard = ActivityPacing(interval: .seconds(1))

    /// Makes a rule.
    public init(interval: Duration) {
        self.interval = interval
    }
}
