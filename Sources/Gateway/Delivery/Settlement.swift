public import APNs
public import LiveActivity

/// What one transaction writes about one recipient.
public struct Settlement: Sendable, Equatable {
    /// What becomes of the recipient's work.
    public enum Next: Sendable, Equatable {
        /// Everything is settled: these are its delivery rows, and its pending row goes.
        case finished([DeliveryRecord])
        /// Its pending row waits, with what is known so far.
        case waiting(until: UnixTime, reason: String, progress: RecipientProgress)
        /// Its pending row goes back to its place in that line: see ``PushLines``.
        case inLine(String, reason: String, progress: RecipientProgress)
        /// Its pending row says that a notification takes the activity's place; work goes on at once.
        case fallingBack(progress: RecipientProgress)
    }

    /// What becomes of the recipient's work.
    public var next: Next
    /// What the answers taught about registrations.
    public var corrections: [RegistrationCorrection]
}

/// A change of a registration that APNs' answer asks for. What is about a token applies only to the very token that was
/// pushed to; what is about a message's state or `end` applies only where that was the one claimed last.
public struct RegistrationCorrection: Sendable, Equatable {
    /// What is changed.
    public enum Change: Sendable, Equatable {
        /// The token is dead: forget it, unless it was registered again after this time.
        case forget(registeredUntil: UnixTime)
        /// A push was accepted in this environment.
        case rememberEnvironment(APNsEnvironment)
        /// APNs did not accept the state of this message, or nobody knows.
        case stateNotAccepted
        /// Every environment answered BadDeviceToken while pushes to other tokens of the app were accepted: the UTC day
        /// counts against the token, unless it was registered again after this time. The third day quarantines it.
        case badDay(registeredUntil: UnixTime)
        /// A push was accepted: no day counts against the token any more.
        case forgetBadDays
        /// APNs accepted the `end` of this message.
        case endAccepted
        /// The claimed `end` of this message will not be sent any more.
        case endGivenUp
        /// The start of this message did not come up, and will not: nothing waits for it.
        case startFailed
        /// The alert of that message, which this push carried, was accepted, or refused for good.
        case alertSettled(messageID: Int64)
        /// The alert of that message, which this push carried, did not come through: the next push takes it along.
        case alertNotSent(messageID: Int64)
    }

    /// Which of the phone's tokens it is.
    public var kind: DeliveryTarget.Kind
    /// The installation; nil: all of the recipient that the change fits.
    public var installation: String?
    /// The token that was pushed to; nil where the change is about the activity, whatever its token is now.
    public var token: PushToken?
    /// What is changed.
    public var change: Change
}

/// A row of the table `delivery`, without what the message gives.
public struct DeliveryRecord: Sendable, Equatable {
    /// The way that was chosen.
    public enum Route: String, Sendable {
        case liveActivity = "live_activity"
        case notification
        case nothing = "none"
    }

    /// The way that was chosen.
    public var route: Route
    /// Why.
    public var routeReason: String
    /// Whether a notification stands in for a Live Activity push.
    public var isFallback: Bool
    /// What became of it.
    public var outcome: DeliveryOutcome
    /// The phone and what was tried there; nil where there was none.
    public var target: DeliveryTarget?
}

/// What a recipient's pending row keeps of its targets.
public struct RecipientProgress: Sendable, Equatable {
    /// How far routing has come.
    public enum Stage: String, Sendable {
        /// Live Activity pushes.
        case activity
        /// Every activity push was lost: registrations are looked at once more before the notification.
        case recheck
        /// Notifications.
        case notification
    }

    /// How far routing has come.
    public var stage: Stage
    /// Why the notification stage was chosen; empty before.
    public var notificationReason: String
    /// Every target so far.
    public var targets: [DeliveryTarget]
    /// The only installations that get the message; nil: all of the account.
    public var installations: [String]?

    /// Nothing was tried yet.
    public static let none = RecipientProgress(stage: .activity, notificationReason: "", targets: [])

    /// Nothing was tried yet, and the message goes to these installations only; nil: to all.
    static func beginning(on installations: [String]?) -> RecipientProgress {
        var progress = none
        progress.installations = installations
        return progress
    }

    /// Makes progress.
    public init(stage: Stage, notificationReason: String, targets: [DeliveryTarget], installations: [String]? = nil) {
        self.stage = stage
        self.notificationReason = notificationReason
        self.targets = targets
        self.installations = installations
    }

    /// Whether a resend to an activity could reach a phone that has shown it already: a push has no answer, or nothing is
    /// known since the process that sent it died. A refusal, such as 503, is an answer.
    var mayHaveReachedAnActivity: Bool { mayHaveReached(.activity) }

    /// The same of a push-to-start token.
    var mayHaveStartedAnActivity: Bool { mayHaveReached(.start) }

    private func mayHaveReached(_ kind: DeliveryTarget.Kind) -> Bool {
        targets.isEmpty
            || targets.contains { $0.kind == kind && $0.status == nil && $0.sentAt != nil && $0.isWaiting }
    }
}
