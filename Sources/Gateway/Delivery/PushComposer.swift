import APNs
import LiveActivity

/// Turns push attempts of one message into requests to APNs. Pure; what all recipients share is encoded once.
struct PushComposer {
    /// Reason of a target whose payload exceeds Apple's limit even without what can be left out.
    static let payloadOverLimit = "payload_over_limit"

    /// Whether the last request left out the alert that its attempt was to take along, for want of room.
    private(set) var leftAlertOut = false

    private let message: MessageUnderWay
    /// By the position of the translation, nil for the message's own texts.
    private var notifications: [Int?: Encoded] = [:]
    private var activity:
        (
            template: LiveActivityPayloadTemplate, dismissalDate: Int64?, checked: CheckedContent?,
            start: ActivityStart?
        )?

    private enum Encoded {
        case payload(NotificationPayload)
        case overLimit
    }

    init(_ message: MessageUnderWay) {
        self.message = message
    }

    /// The request for an attempt, or nil if its payload exceeds 4096 bytes.
    mutating func request(for attempt: PushAttempt, to account: String, at now: UnixTime) -> APNsRequest? {
        let certificate = attempt.destination.certificate
        let isActivity = attempt.isActivity
        let payload = isActivity ? activityPayload(attempt, now) : notificationPayload(attempt)
        guard let payload else { return nil }
        return APNsRequest(
            deviceToken: attempt.token.hexadecimal,
            topic: isActivity ? certificate.liveActivityTopic : PushTopic.alert(bundleID: certificate.bundleID),
            pushType: isActivity ? .liveActivity : message.order.notification.isSilent ? .background : .alert,
            priority: attempt.priority,
            expiration: attempt.expiration,
            apnsID: PushComposer.apnsID(
                attempt.sentState?.messageID ?? message.receipt.id,
                attempt.kind,
                account,
                attempt.installation,
            ),
            collapseID: attempt.sentState.map { PushIdentifiers.collapseID(messageID: $0.messageID) }
                ?? collapseID(attempt.kind, account),
            payload: payload,
        )
    }

    /// The same on every attempt for one target, in whatever process.
    static func apnsID(
        _ messageID: Int64,
        _ kind: DeliveryTarget.Kind,
        _ account: String,
        _ installation: String,
    ) -> String {
        // An installation holds no slash, so two targets cannot run together.
        PushIdentifiers.apnsID(messageID: messageID, kind: kind.rawValue, target: "\(installation)/\(account)")
    }

    /// That of a start is the activity's, so that one that is sent again replaces the one that APNs still has.
    private func collapseID(_ kind: DeliveryTarget.Kind, _ account: String) -> String {
        if let replaced = message.order.replaced {
            // The one of the notification that is to go away.
            guard let laID = replaced.laID, message.application.fallbackCollapse == .activity else {
                return PushIdentifiers.collapseID(messageID: replaced.messageID)
            }
            return PushIdentifiers.collapseID(account: account, laID: laID)
        }
        let isOfActivity =
            switch kind {
            case .activity: false
            case .start: true
            case .device: message.application.fallbackCollapse == .activity
            }
        if isOfActivity, let activity = message.order.activity {
            return PushIdentifiers.collapseID(account: account, laID: activity.laID)
        }
        return PushIdentifiers.collapseID(messageID: message.receipt.id)
    }

    /// What is said to a phone, with the state that its app can decode. To an activity that runs already, a start is an
    /// update with the start's state.
    private func content(
        of instruction: ActivityInstruction,
        for attempt: PushAttempt,
        _ start: ActivityStart?,
    ) -> ActivityContent {
        var content = attempt.checkedContent?.converted ?? instruction.content
        guard content.event == .start else { return content }
        content.start = start
        if attempt.kind != .start {
            content.event = .update
        }
        return content
    }

    private mutating func activityPayload(_ attempt: PushAttempt, _ now: UnixTime) -> [UInt8]? {
        guard let instruction = message.order.activity else { return nil }
        let timestamp = attempt.timestamp ?? now.seconds
        if var content = attempt.sentState?.content {
            leftAlertOut = false
            content.alert = instruction.content.alert
            let payload = LiveActivityPayload.encode(content, timestamp: timestamp, dismissalDate: nil)
            return payload.count <= PayloadLimit.bytes ? payload : nil
        }
        // As far as the phone's system understands it.
        let start =
            attempt.kind == .start
            ? (attempt.checkedContent?.converted ?? instruction.content).start?.adapted(to: attempt.system) : nil
        let dismissalDate = DismissalDate.toSend(
            event: instruction.content.event,
            requested: instruction.content.dismissalDate,
            defaultIsImmediate: instruction.defaultDismissal == .immediate,
            now: now.seconds,
        )
        leftAlertOut = attempt.waitingAlert != nil
        if let waiting = attempt.waitingAlert {
            var content = content(of: instruction, for: attempt, start)
            content.alert = waiting.alert
            let payload = LiveActivityPayload.encode(content, timestamp: timestamp, dismissalDate: dismissalDate)
            // Where both do not fit into one push, the state goes without the alert.
            if payload.count <= PayloadLimit.bytes {
                leftAlertOut = false
                return payload
            }
        }
        if activity == nil || activity?.dismissalDate != dismissalDate || activity?.checked != attempt.checkedContent
            || activity?.start != start
        {
            let content = content(of: instruction, for: attempt, start)
            let template = LiveActivityPayloadTemplate(content, dismissalDate: dismissalDate)
            activity = (template, dismissalDate, attempt.checkedContent, start)
        }
        guard let payload = activity?.template.encode(timestamp: timestamp) else { return nil }
        return payload.count <= PayloadLimit.bytes ? payload : nil
    }

    private mutating func notificationPayload(_ attempt: PushAttempt) -> [UInt8]? {
        if notifications[attempt.translation] == nil {
            let content = message.order.notification.translated(by: attempt.translation)
            notifications[attempt.translation] =
                (try? NotificationPayload(content)).map { .payload($0) } ?? .overLimit
        }
        guard case .payload(let payload) = notifications[attempt.translation] else { return nil }
        return payload.encode(badge: attempt.badge)
    }
}
