import APNs
import LiveActivity

/// A token for which every environment that was asked answered BadDeviceToken.
struct SuspectToken: Sendable, Equatable {
    let token: PushToken
    /// The last one that was asked.
    let destination: PushDestination
    /// The environment that was asked before; nil: none was.
    let refusedIn: APNsEnvironment?
    /// Where the phone said the token belongs, or where a push was accepted before.
    let knownEnvironment: APNsEnvironment?
    /// When the first push of this attempt was sent.
    let sentAt: UnixTime

    init(
        _ attempt: PushAttempt,
        _ knownEnvironment: APNsEnvironment?,
        _ refusedIn: APNsEnvironment?,
        sentAt: UnixTime,
    ) {
        self.sentAt = sentAt
        self.token = attempt.token
        self.destination = attempt.destination
        self.refusedIn = refusedIn
        self.knownEnvironment = knownEnvironment
    }

    /// Every environment that was asked.
    var environments: Set<APNsEnvironment> {
        Set([destination.environment, refusedIn].compactMap { $0 })
    }
}
