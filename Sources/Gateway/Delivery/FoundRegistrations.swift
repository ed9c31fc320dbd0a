public import APNs
public import LiveActivity

/// An activity registration of a recipient as the claim found it.
public struct ClaimedActivity: Sendable, Equatable {
    /// What the claim decided, in the order in which it asks.
    public enum Verdict: String, Sendable {
        /// This message may be sent, with the timestamp given.
        case claimed
        /// A newer message was claimed before, or waits for its turn.
        case superseded
        /// The push before brought the same state, less than a minute ago.
        case unchanged
        /// Another message went out a moment ago: to be claimed again once ``ClaimedActivity/sendableFrom`` has come.
        case paced
        /// An `end` was claimed before, and the message came within a minute of it.
        case activityEnded = "activity_ended"
        /// APNs did not know its token on three days.
        case quarantined
        /// Ended earlier, or its 8 (update) or 12 (end) hours are over.
        case notLive = "not_live"

        /// Whether the activity is on a phone's screen, as far as is known, and its token is trusted.
        var isOfLiveToken: Bool { self != .notLive && self != .quarantined }
    }

    /// What the claim decided.
    public var verdict: Verdict
    /// The installation that registered it.
    public var installation: String
    /// Its token.
    public var token: PushToken
    /// The certificate it was registered with.
    public var businessID: Int64
    /// The environment, if known.
    public var environment: APNsEnvironment?
    /// aps.timestamp to send, Unix seconds.
    public var timestamp: Int64
    /// When the activity's life began.
    public var startedAt: UnixTime
    /// When a paced message may be claimed again.
    public var sendableFrom: UnixTime?
    /// Whether the phone had its hour's share of pushes of priority 10.
    public var isBudgetSpent: Bool
    /// Whether days are counted on which APNs did not know the token.
    public var hasBadDays: Bool
    /// Name of its `ActivityAttributes` type, if asked for and told.
    public var attributesType: String?
    /// Version of the app, if asked for and told.
    public var appVersion: String?
    /// What the check of the content by a schema changes; nil: nothing.
    var checkedContent: CheckedContent?
    /// The alert of an older update that the push takes along.
    var waitingAlert: WaitingAlert?
    /// The state that goes out again with the message's alert, in place of its own.
    var sentState: SentState?

    /// Makes a claim's answer for one registration.
    public init(
        verdict: Verdict,
        installation: String,
        token: PushToken,
        businessID: Int64,
        environment: APNsEnvironment?,
        timestamp: Int64,
        startedAt: UnixTime,
        sendableFrom: UnixTime? = nil,
        isBudgetSpent: Bool = false,
        hasBadDays: Bool = false,
        attributesType: String? = nil,
        appVersion: String? = nil,
    ) {
        self.verdict = verdict
        self.installation = installation
        self.token = token
        self.businessID = businessID
        self.environment = environment
        self.timestamp = timestamp
        self.startedAt = startedAt
        self.sendableFrom = sendableFrom
        self.isBudgetSpent = isBudgetSpent
        self.hasBadDays = hasBadDays
        self.attributesType = attributesType
        self.appVersion = appVersion
    }
}

/// A device registration of a recipient.
public struct FoundDevice: Sendable, Equatable {
    /// The installation that registered it.
    public var installation: String
    /// Its token.
    public var token: PushToken
    /// The certificate it was registered with.
    public var businessID: Int64
    /// The environment, if known.
    public var environment: APNsEnvironment?
    /// Until then the app is in front.
    public var foregroundUntil: UnixTime?
    /// Whether the person denied notifications.
    public var deniesNotifications: Bool
    /// System language as reported.
    public var language: String?
    /// The number for the icon after this message was counted; nil where the message does not change it.
    public var badge: Int64?
    /// Whether days are counted on which APNs did not know the token.
    public var hasBadDays: Bool
    /// Whether there were three of them: nothing is sent to it.
    public var isQuarantined: Bool

    /// Makes a device as found.
    public init(
        installation: String,
        token: PushToken,
        businessID: Int64,
        environment: APNsEnvironment?,
        foregroundUntil: UnixTime?,
        deniesNotifications: Bool,
        language: String? = nil,
        badge: Int64? = nil,
        hasBadDays: Bool = false,
        isQuarantined: Bool = false,
    ) {
        self.installation = installation
        self.token = token
        self.businessID = businessID
        self.environment = environment
        self.foregroundUntil = foregroundUntil
        self.deniesNotifications = deniesNotifications
        self.language = language
        self.badge = badge
        self.hasBadDays = hasBadDays
        self.isQuarantined = isQuarantined
    }
}
