/// How long an activity lives, from its start or, where that is unknown, from its first registration (Apple: "Displaying live
/// data with Live Activities"). A rotated token does not extend it.
public enum ActivityLife {
    /// How long it takes updates; after that the system ends it.
    public static let updates: Duration = .seconds(8 * 3600)
    /// How long an ended one may stand on the lock screen, where an `end` still removes it.
    public static let end: Duration = .seconds(12 * 3600)

    /// How long after its time a start still makes sense: long enough for a phone in a lift, too short to surprise anyone.
    public static let start: Duration = .seconds(300)

    /// How long pushes of this event are worth sending.
    public static func duration(for event: ActivityEvent) -> Duration {
        switch event {
        case .start: Self.start
        case .update: Self.updates
        case .end: Self.end
        }
    }
}
