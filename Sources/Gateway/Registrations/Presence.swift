/// Whether an app is in front on a phone, as the phone reports it.
public struct Presence: Sendable, Equatable {
    /// Where the app is.
    public enum State: String, Sendable, CaseIterable {
        /// In front: for five minutes no normal notification is sent to the phone, and its icon has no number.
        case foreground
        /// Not in front.
        case background
    }

    /// The highest number that a phone may report as unread.
    public static let highestUnread: Int64 = 99_999

    /// Where the app is.
    public var state: State
    /// The number on the app's icon from now on, 0 to 99,999, for notifications to count from; nil leaves what is known.
    /// Without effect in the foreground.
    public var unread: Int64?

    /// Makes a report. The dialect has checked the limit before.
    public init(state: State, unread: Int64? = nil) {
        self.state = state
        self.unread = unread
    }
}

/// What became of a report of presence.
public enum PresenceOutcome: Sendable, Equatable {
    /// It is stored. `foregroundUntil`: until when the app counts as in front; nil: it is not.
    case applied(foregroundUntil: UnixTime?)
    /// The account has no device token on the installation. Nothing changed.
    case unknownInstallation
}
