import Gateway
import LiveActivity

extension ChatMessage {
    /// What the gateway is asked to do, and what the caller should know of it.
    struct Prepared: Equatable {
        var order: PushOrder
        var digest: RequestDigest
        var warnings: [RequestWarning]
    }

    /// Whether the notification shows text that derives from MsgBody and begins with the sender's nickname.
    func showsDerivedText(in language: Application.PlaceholderLanguage) -> Bool {
        explicitText == nil && !isEndWithoutText && push?.apns.isSilent != true
            && !(body?.text(in: language) ?? "").isEmpty
    }

    /// Turns the message into an order.
    ///
    /// - Parameter nickname: the sender's, for text that derives from MsgBody.
    /// - Throws: 90043 where a push would be over 4096 bytes and cutting text cannot help.
    func prepare(
        endpoint: Endpoint,
        application: Application,
        nickname: String?,
    ) throws(TencentError) -> Prepared {
        var warnings = warnings
        let notification = notification(application: application, nickname: nickname)
        warnings += try cutTexts(of: notification)
        let order = PushOrder(
            dialect: .tencent,
            endpoint: endpoint.rawValue,
            sdkAppID: application.sdkAppID,
            messageKey: key,
            sender: sender,
            recipients: recipients.accounts,
            audience: audience,
            activity: try activity(application: application, &warnings),
            notification: notification,
            suppression: suppression,
            lifetime: lifetime,
            otherPlatforms: push?.otherPlatforms,
        )
        return Prepared(order: order, digest: digest(of: order), warnings: warnings)
    }

    /// The recipients are those that the message goes to: if one that failed the first time is imported now, the
    /// request is a new one and reaches it.
    private func digest(of order: PushOrder) -> RequestDigest {
        RequestDigest { input in
            input.add(order.sdkAppID)
            input.add(order.endpoint)
            input.add(order.sender)
            input.add(sequence)
            input.add(random)
            input.add(order.recipients)
            input.add(lifetime)
            input.add(isOnlineOnly ? 1 : 0)
            for field in content {
                input.add(field)
            }
            if let sendTime {
                input.add(sendTime)
            }
        }
    }

    // MARK: - The notification

    /// ApnsInfo.Title, else Title. An empty one counts as absent: SDKs write empty strings for what was not set.
    private var explicitTitle: String? {
        push?.apns.title.nonEmpty ?? push?.title.nonEmpty
    }

    /// Desc, which takes the place of the text that derives from MsgBody.
    private var explicitText: String? {
        push?.text.nonEmpty
    }

    /// An `end` without Title and Desc: the activity goes away, and no notification tells of it where there is none,
    /// except in the languages for which MultiLanguageContent has a text.
    private var isEndWithoutText: Bool {
        push?.apns.liveActivity?.event == .end && explicitTitle == nil && explicitText == nil
    }

    /// The message's own notification, or its fallback. With a Title and no Desc, the derived text stands below the
    /// Title, a translation's too. Of a TIMCustomElem, Desc is part of the derived text always; Ext and Sound count only
    /// where there is no OfflinePushInfo.
    ///
    /// ApnsInfo.Title takes the place of Title, not of a translation's: both of them are in the sender's own language,
    /// and a translation is meant for the phones of its language, iPhones included.
    private func notification(application: Application, nickname: String?) -> NotificationContent {
        let custom = push == nil ? body?.customElement : nil
        let apns = push?.apns ?? ApnsInfo()
        if apns.isSilent { return NotificationContent(ext: (push?.ext).nonEmpty, isSilent: true) }
        let translations = push?.translations ?? []
        if isEndWithoutText, translations.isEmpty { return NotificationContent() }
        let derived = isEndWithoutText ? nil : derivedText(in: application.placeholderLanguage, nickname: nickname)
        var notification = NotificationContent(
            title: explicitTitle,
            subtitle: isEndWithoutText ? nil : apns.subtitle.nonEmpty,
            body: explicitText ?? derived,
            sound: (apns.sound ?? custom?.sound).nonEmpty,
            ext: (push?.ext ?? custom?.ext).nonEmpty,
            image: apns.image.nonEmpty,
            mutableContent: apns.isMutable,
            interruptionLevel: apns.interruptionLevel,
            translations: translations,
            badge: push?.badge ?? .add(1),
        )
        if notification.isEmpty, let alert = alertOfOwnWords {
            notification.title = alert.title?.words
            notification.body = alert.body?.words
            notification.sound = notification.sound ?? alert.sound
        }
        return notification
    }

    /// The alert of a start or an update, whose words stand in where the message has no text for a notification: what was to
    /// be said aloud is said. nil also where the app has all of them under keys.
    private var alertOfOwnWords: ActivityAlert? {
        guard let activity = push?.apns.liveActivity, activity.event != .end, let alert = activity.extensions?.alert,
            !alert.isEmpty, alert.title?.words != nil || alert.body?.words != nil
        else { return nil }
        return alert
    }

    private func derivedText(in language: Application.PlaceholderLanguage, nickname: String?) -> String? {
        guard let text = (body?.text(in: language)).nonEmpty else { return nil }
        return nickname.nonEmpty.map { "\($0):\(text)" } ?? text
    }

    /// Warnings of the texts that are cut, in every language.
    private func cutTexts(of notification: NotificationContent) throws(TencentError) -> [RequestWarning] {
        var warnings: [RequestWarning] = []
        try cutText(of: notification, nil, &warnings)
        for index in notification.translations.indices {
            try cutText(of: notification, index, &warnings)
        }
        return warnings
    }

    private func cutText(
        of notification: NotificationContent,
        _ translation: Int?,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) {
        let variant = notification.translated(by: translation)
        guard variant.isSilent || !variant.isEmpty, try isCut(variant) else { return }
        let own =
            if explicitText != nil {
                "OfflinePushInfo.Desc"
            } else if explicitTitle == nil, alertOfOwnWords != nil, variant.body == alertOfOwnWords?.body?.words {
                "OfflinePushInfo.ApnsInfo.LiveActivity.Alert"
            } else {
                body == nil ? "OfflinePushInfo.Title" : "MsgBody"
            }
        let field = translation.map { "OfflinePushInfo.MultiLanguageContent[\($0)]" } ?? own
        let message = "the notification's text was cut so that the payload fits \(PayloadLimit.bytes) bytes"
        warnings.append(RequestWarning(field: field, code: .textCut, message: message))
    }

    private func isCut(_ notification: NotificationContent) throws(TencentError) -> Bool {
        guard !NotificationPayload.surelyFits(notification) else { return false }
        do {
            return try NotificationPayload(notification).textWasCut
        } catch {
            throw TencentError(
                push == nil ? .messageElement : .offlinePushInfo,
                path: push == nil ? "MsgBody" : "OfflinePushInfo",
                "a notification has at most \(PayloadLimit.bytes) bytes; this one has more without its text",
            )
        }
    }

    // MARK: - The Live Activity

    private func activity(
        application: Application,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> ActivityInstruction? {
        guard let info = push?.apns.liveActivity else { return nil }
        var content = ActivityContent(
            event: info.event,
            contentState: info.contentState,
            staleDate: info.event == .end ? nil : info.extensions?.staleDate,
            relevanceScore: info.extensions?.relevanceScore,
            dismissalDate: info.dismissalDate,
            alert: info.extensions?.alert ?? (application.copiesAlertToLiveActivity ? alert : nil),
            start: info.extensions?.start,
        )
        if info.extensions != nil {
            warnings += try extensionFindings(content)
        }
        if content.event != .start {
            content.start = nil
        }
        // An alert without text would be left out of the push; here already, so that nothing takes it for one.
        if content.alert?.isEmpty == true {
            content.alert = nil
        }
        if info.extensions?.priority == 5, content.event == .end || content.alert != nil {
            let message = "is 5: \(content.event == .end ? "an end" : "a push with an alert") goes with priority 10"
            let field = "OfflinePushInfo.ApnsInfo.LiveActivity.Priority"
            warnings.append(RequestWarning(field: field, code: .fieldIgnored, message: message))
        }
        let count = LiveActivityPayload.surelyFits(content) ? 0 : byteCount(of: content)
        guard count <= PayloadLimit.bytes else {
            throw TencentError(
                .offlinePushInfo,
                path: "OfflinePushInfo.ApnsInfo.LiveActivity",
                "the push has \(count) bytes, at most \(PayloadLimit.bytes) are allowed",
            )
        }
        return ActivityInstruction(
            laID: info.laID,
            content: content,
            defaultDismissal: .immediate,
            priority: info.extensions?.priority,
        )
    }

    /// What is to be said of alert and start. Dates and state were looked at as they were read.
    private func extensionFindings(_ content: ActivityContent) throws(TencentError) -> [RequestWarning] {
        var warnings: [RequestWarning] = []
        for finding in content.findings(now: time) {
            guard let name = LiveActivityExtensions.name(of: finding.field) else { continue }
            let field = "OfflinePushInfo.ApnsInfo.LiveActivity.\(name)"
            guard finding.severity == .warning else {
                throw TencentError(.offlinePushInfo, path: field + finding.path, finding.message)
            }
            warnings.append(RequestWarning(finding, field: field))
        }
        return warnings
    }

    private func byteCount(of content: ActivityContent) -> Int {
        let dismissal = DismissalDate.toSend(
            event: content.event,
            requested: content.dismissalDate,
            defaultIsImmediate: true,
            now: time,
        )
        return LiveActivityPayload.encode(content, timestamp: time, dismissalDate: dismissal).count
    }

    private var alert: ActivityAlert? {
        guard explicitTitle != nil || explicitText != nil else { return nil }
        return ActivityAlert(title: explicitTitle.map(AlertText.plain), body: explicitText.map(AlertText.plain))
    }

    // MARK: -

    private var suppression: PushOrder.Suppression? {
        if push?.isPushOff == true { return .pushFlag }
        if isOnlineOnly { return .onlineOnly }
        return lifetime == 0 ? .noLifetime : nil
    }
}

extension Optional<String> {
    /// Nil also for an empty text.
    fileprivate var nonEmpty: String? {
        flatMap { $0.isEmpty ? nil : $0 }
    }
}
