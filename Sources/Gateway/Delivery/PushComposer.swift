import APNs
import LiveActivity

/// Turns push attempts of one message into requests to APNs. Pure; what all recipients share is encoded once.
struct PushComposer {
    /// Reason of a target whose payload exceeds Apple's limit even without what can be left out.
    static let payloadOverLimit = "payload_over_limit"

    private let message: MessageUnderWay
    private var notification: [UInt8]??

    init(_ message: MessageUnderWay) {
        self.message = message
    }

    /// The request for an attempt, or nil if its payload exceeds 4096 bytes.
    mutating func request(for attempt: PushAttempt, at now: UnixTime) -> APNsRequest? {
        let bundleID = attempt.destination.certificate.bundleID
        let payload: [UInt8]?
        let topic: String
        let pushType: APNsPushType
        let collapseID: String
        let recipientAndPhone = "\(attempt.kind.rawValue)/\(attempt.installation)"
        switch attempt.kind {
        case .activity:
            payload = activityPayload(timestamp: attempt.timestamp ?? now.seconds, at: now)
            topic = PushTopic.liveActivity(bundleID: bundleID)
            pushType = .liveActivity
            collapseID = PushIdentifiers.collapseID(messageID: message.receipt.id)
        case .device:
            payload = notificationPayload()
            topic = PushTopic.alert(bundleID: bundleID)
            pushType = .alert
            collapseID = notificationCollapseID
        }
        guard let payload else { return nil }
        return APNsRequest(
            deviceToken: attempt.token.hexadecimal,
            topic: topic,
            pushType: pushType,
            priority: attempt.priority,
            expiration: attempt.expiration,
            apnsID: PushIdentifiers.apnsID(
                messageID: message.receipt.id,
                kind: attempt.kind.rawValue,
                target: recipientAndPhone,
            ),
            collapseID: collapseID,
            payload: payload,
        )
    }
}
