import APNs
import LiveActivity

/// What all recipients of one message share while it is under way.
final class MessageUnderWay: Sendable {
    let receipt: AcceptedMessage
    let order: PushOrder
    let deadline: UnixTime
    let application: Application
    let certificates: [Int64: Certificate]
    /// Certificates of the app whose keys this gateway cannot use, by businessId.
    let unreadable: [Int64: UnreadableSecrets.Certificate]

    init(
        receipt: AcceptedMessage,
        order: PushOrder,
        deadline: UnixTime,
        application: Application,
        certificates: [Int64: Certificate],
        unreadable: [Int64: UnreadableSecrets.Certificate] = [:],
    ) {
        self.receipt = receipt
        self.order = order
        self.deadline = deadline
        self.application = application
        self.certificates = certificates
        self.unreadable = unreadable
    }

    /// Whether this gateway can use no key of the app, although there are some.
    var isLeftToOthers: Bool { certificates.isEmpty && !unreadable.isEmpty }

    /// Whether there is a key for tokens of this businessId in an environment, and this gateway cannot use it.
    func lacksKey(for businessID: Int64, in environment: APNsEnvironment) -> Bool {
        guard !unreadable.isEmpty else { return false }
        guard let bundleID = certificates[businessID]?.bundleID else { return unreadable[businessID] != nil }
        return !certificates.values.contains { $0.bundleID == bundleID && $0.covers(environment) }
            && unreadable.values.contains { $0.bundleID == bundleID && $0.scope?.covers(environment) ?? true }
    }

    /// When an activity that started at `start` takes no more of this message's event.
    func endOfLife(startedAt start: UnixTime, event: ActivityEvent) -> UnixTime {
        start + ActivityLife.duration(for: event)
    }
}
