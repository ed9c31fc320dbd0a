public import APNs

/// One phone of a recipient and what was tried there for one message.
public struct DeliveryTarget: Sendable, Equatable {
    /// Which of the phone's tokens it is.
    public enum Kind: String, Sendable {
        case activity
        /// A push-to-start token; also a phone where a start may still come up, whose update token is waited for.
        case start
        case device
    }

    /// Where the target stands.
    public enum State: Sendable, Equatable {
        /// A push is to be sent or under way.
        case pushing
        /// To be tried again; becomes `pushing` or `settled`.
        case waiting(until: UnixTime, reason: String)
        /// Nothing more happens to it.
        case settled(DeliveryOutcome)
    }

    /// Which of the phone's tokens it is.
    public var kind: Kind
    /// The installation that registered it.
    public var installation: String
    /// Fingerprint of the token that was pushed to last.
    public var tokenFingerprint: String
    /// Where it stands.
    public var state: State
    /// Why this target was chosen, or why nothing is sent to it.
    public var reason: String
    /// How many pushes were sent.
    public var attempts: Int = 0
    /// After how many of them no answer came although APNs may have processed them, those included that an instance may
    /// have sent before it died: the phone may have got the push once more than APNs' answers tell.
    public var answersLost: Int = 0
    /// HTTP status of the last answer.
    public var status: Int?
    /// Reason of the last answer, or why there was none.
    public var statusReason: String?
    /// The environment that knows no such token (BadDeviceToken), while the other has not answered yet.
    public var refusedIn: APNsEnvironment?
    /// The certificate that signed the last attempt.
    public var businessID: Int64?
    /// Environment of the last attempt.
    public var environment: APNsEnvironment?
    /// apns-priority of the last attempt.
    public var priority: Int?
    /// Why that priority.
    public var priorityReason: String?
    /// aps.timestamp of the last attempt.
    public var timestampSent: Int64?
    /// Size of the last body.
    public var payloadBytes: Int?
    /// The number for the icon, the same on every attempt: the message was counted for this phone.
    public var badge: Int64?
    /// When the last attempt was sent.
    public var sentAt: UnixTime?

    /// Makes a target that nothing was tried for yet.
    public init(kind: Kind, installation: String, tokenFingerprint: String, state: State, reason: String) {
        self.kind = kind
        self.installation = installation
        self.tokenFingerprint = tokenFingerprint
        self.state = state
        self.reason = reason
    }

    /// Whether it is to be tried again.
    var isWaiting: Bool {
        if case .waiting = state { true } else { false }
    }

    /// Whether the last answer is one of those after which a notification takes the activity push's place: 410,
    /// BadDeviceToken in every environment tried, DeviceTokenNotForTopic, 413. So does it after a start that could not be
    /// sent, after an update whose activity did not come up, and in place of a state that the app cannot decode where
    /// that is the app's policy.
    var isLostActivityPush: Bool {
        if isLostWithoutRefusal { return true }
        guard kind != .device, case .settled(let outcome) = state else { return false }
        switch outcome {
        case .tokenDead: return true
        case .refused:
            return status == 413 || statusReason == "BadDeviceToken" || statusReason == "DeviceTokenNotForTopic"
                || statusReason == PushComposer.payloadOverLimit
                || statusReason?.hasPrefix(CheckedContent.replaced) == true
        default: return false
        }
    }
}
