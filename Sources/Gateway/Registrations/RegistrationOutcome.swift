/// What became of a registration.
public enum RegistrationOutcome: Sendable, Equatable {
    /// It is stored. `expiresAt`: when the last update of an activity can go out; nil for a device or a start token.
    case applied(expiresAt: UnixTime?)
    /// Its sequence is lower than a known one, or the same as that of other content. Nothing changed.
    case staleSequence
    /// The token is the one of an activity to which an end was sent: that is not reopened, and gets no more pushes.
    case activityEnded
    /// The token given for an activity is a phone's device token or a push-to-start token. Nothing changed.
    case tokenOfOtherKind

    /// What is said of a token of another kind, a clause.
    public static let otherKind = """
        is registered as a device token or a push-to-start token, which take no updates; the activity's own comes from its \
        pushTokenUpdates
        """
}

/// What became of a clear.
public enum ClearOutcome: Sendable, Equatable {
    /// So many rows are gone; zero is no error.
    case cleared(Int64)
    /// The activity was registered with the same or a higher sequence. Nothing changed.
    case staleSequence
}
