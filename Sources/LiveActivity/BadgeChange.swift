/// What a notification does to the number on the app's icon (Tencent: `BadgeSetNum`, `BadgeAddNum`, `BadgeMode`).
public enum BadgeChange: Sendable, Equatable {
    /// The icon keeps its number: the push has no `badge`.
    case unchanged
    /// The number of this phone grows by so many.
    case add(Int64)
    /// The number becomes this one, 0 for none.
    case set(Int64)

    /// The highest number that is counted to: 99,999. Numbers grow until the phone reports; the limit keeps the room
    /// that a badge takes in a push known when the message is accepted.
    public static let highest: Int64 = 99_999
}
