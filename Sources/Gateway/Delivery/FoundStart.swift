import APNs
import LiveActivity

/// A phone of a recipient on which an activity is to be started, or may be coming up, as the database found it.
struct FoundStart: Sendable, Equatable {
    /// What was decided.
    enum Verdict: String, Sendable {
        /// The start may be sent, with the timestamp given.
        case claimed
        /// A start may still come up: the message waits for the update token until ``FoundStart/until``.
        case underWay = "under_way"
        /// The activity runs there since registrations were claimed: they are to be claimed once more.
        case cameUp = "came_up"
        /// A newer message was claimed, or waits.
        case superseded
        /// The phone was sent as many starts as it takes; ``FoundStart/until`` tells when it takes the next, where the
        /// start waits for that.
        case guarded
        /// The start was tried for as long as it makes sense.
        case expired
        /// APNs did not know its token on three days.
        case quarantined
        /// A start that was accepted before is not decided yet, so that nobody knows on which phones it comes up.
        case undecided
        /// So it was for too long to be waited for any more.
        case givenUp = "given_up"
    }

    /// What a start that was claimed goes out with.
    struct Push: Sendable, Equatable {
        var token: PushToken
        /// The certificate it was registered with.
        var businessID: Int64
        /// The environment, if known.
        var environment: APNsEnvironment?
        /// aps.timestamp, Unix seconds.
        var timestamp: Int64
        /// apns-expiration.
        var expiresAt: UnixTime
        /// The phone's iOS; nil: unknown.
        var system: IOSVersion?
        /// Whether days are counted on which APNs did not know the token.
        var hasBadDays = false
        /// The version of the phone's app; nil: unknown.
        var appVersion: String?
        /// What the check by a schema makes of the message's content for that app; nil: it is sent as it is.
        var checkedContent: CheckedContent?
    }

    var verdict: Verdict
    var installation: String
    /// Fingerprint of the push-to-start token.
    var tokenFingerprint: String
    var until: UnixTime?
    /// There where it was claimed.
    var push: Push?
}
