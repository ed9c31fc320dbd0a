/// One message in a lane's memory.
final class MessageTask {
    let underWay: MessageUnderWay
    /// Whether it came as the whole message, so that its row goes with its last recipient.
    let isWhole: Bool
    /// Whether it is some of an audience: then the row stays all the same.
    let isChunk: Bool
    /// Called when no recipient is left in memory.
    let isDone: () -> Void
    var composer: PushComposer
    var contentChecks = ContentChecks()
    /// Tells the state of its update apart from others; nil where it brings none.
    let stateDigest: Int64?
    /// Recipients that are not settled.
    var remaining = 0
    /// Whether recipients have, had or get pending rows of their own.
    var isShared: Bool

    /// - Parameter isShared: the message comes from the queue, so that recipients may have rows of their own already.
    init(
        _ underWay: MessageUnderWay,
        isWhole: Bool,
        isShared: Bool,
        isChunk: Bool = false,
        isDone: @escaping () -> Void = {},
    ) {
        self.underWay = underWay
        self.isWhole = isWhole
        self.isChunk = isChunk
        self.isShared = isShared
        self.isDone = isDone
        self.composer = PushComposer(underWay)
        let content = underWay.order.activity?.content
        self.stateDigest = content?.event == .update ? content?.stateDigest : nil
    }
}

/// One recipient of one message in a lane's memory.
final class RecipientTask {
    let account: String
    let message: MessageTask
    /// The id of the instance under which it was begun; under another it is not this process's work any more.
    let owner: Int64
    var delivery: RecipientDelivery
    /// Whether it has a pending row of its own.
    var hasRow: Bool
    /// The line at whose front it stood: see ``PushLines``.
    let line: String?
    /// The newest push of it.
    var sent: SentPush?
    /// Where the message has no text in the phone's language, or does not go to, and so is not counted; nil while nobody
    /// has looked.
    var installationsNotCounted: [String]?

    init(
        _ account: String,
        _ message: MessageTask,
        _ delivery: RecipientDelivery,
        _ owner: Int64,
        from line: String? = nil,
    ) {
        self.account = account
        self.message = message
        self.delivery = delivery
        self.owner = owner
        self.line = line
        self.hasRow = !message.isWhole
    }

    /// What it asks of the claim.
    var claim: DeliveryStore.Claim? {
        let stateDigest = message.stateDigest
        let message = message.underWay
        guard let activity = message.order.activity else { return nil }
        let priority = ActivityPriority(activity, for: message.application)
        return DeliveryStore.Claim(
            sdkAppID: message.order.sdkAppID,
            account: account,
            laID: activity.laID,
            messageID: message.receipt.id,
            // The minute in which what follows an end is told so is not for a start: it begins another life.
            acceptedAt: activity.content.event == .start
                ? message.receipt.acceptedAt + .seconds(60) : message.receipt.acceptedAt,
            isEnd: activity.content.event == .end,
            hasAlert: activity.content.alert.map { !$0.isEmpty } ?? false,
            mayHaveBeenSent: delivery.progress.mayHaveReachedAnActivity,
            stateDigest: stateDigest,
            spendsBudget: priority.spendsBudget,
            followsBudget: priority == .budget,
            installations: delivery.progress.installations,
        )
    }
}

// MARK: - The check of the content

extension RecipientTask {
    /// By what its content is still to be checked; nil: by nothing.
    var uncheckedSchemas: ContentSchemas? {
        guard let schemas = message.underWay.application.contentSchemas, schemas != message.underWay.order.fitsAll
        else {
            return nil
        }
        return schemas
    }

    /// What was claimed, with what the check by a schema changes for each phone.
    ///
    /// - Parameter now: tells dates from dates.
    func checkingContent(of found: [ClaimedActivity], at now: UnixTime) -> [ClaimedActivity] {
        guard let schemas = uncheckedSchemas, let content = message.underWay.order.activity?.content else {
            return found
        }
        return found.map { activity in
            guard activity.verdict == .claimed else { return activity }
            var checked = activity
            checked.checkedContent = message.contentChecks.check(
                content,
                attributesType: activity.attributesType,
                appVersion: activity.appVersion,
                by: schemas,
                now: now.seconds,
            )
            return checked
        }
    }

    /// The same of the starts that were claimed.
    func checkingContent(of found: [FoundStart], at now: UnixTime) -> [FoundStart] {
        guard let schemas = uncheckedSchemas, let content = message.underWay.order.activity?.content else {
            return found
        }
        return found.map { start in
            var checked = start
            checked.push?.checkedContent = message.contentChecks.check(
                content,
                attributesType: content.start?.attributesType,
                appVersion: start.push?.appVersion,
                by: schemas,
                now: now.seconds,
            )
            return checked
        }
    }
}

// MARK: - Alerts

extension RecipientTask {
    /// Whether updates of its activity have alerts: this one's, or others' of the app.
    var mayMeetAlerts: Bool {
        let message = message.underWay
        return message.application.copiesAlertToLiveActivity || message.application.mayStartActivities
            || message.order.activity?.content.alert?.isEmpty == false
    }

    /// What to ask about alerts after the claim of an installation; nil: nothing.
    func alertQuestion(on activity: ClaimedActivity) -> DeliveryStore.AlertQuestion? {
        let message = message.underWay
        guard let instruction = message.order.activity else { return nil }
        let own = instruction.content.alert.flatMap { $0.isEmpty ? nil : $0 }
        var isKnown = false
        var state: [UInt8]?
        switch activity.verdict {
        case .claimed:
            // Nothing is sent, so that its alert is not under way.
            if activity.checkedContent?.misfit != nil { return nil }
            if own == nil, instruction.content.event != .end {
                state = SentState.encode(activity.checkedContent?.converted ?? instruction.content)
            }
        case .superseded where own != nil:
            // Of one that was begun before, the alert is known already, and may have gone along with a newer state.
            let known = delivery.progress.targets.last {
                $0.kind == .activity && $0.installation == activity.installation
            }
            if let known, !known.isWaiting { return nil }
            isKnown = known != nil
        default: return nil
        }
        return DeliveryStore.AlertQuestion(
            sdkAppID: message.order.sdkAppID,
            account: account,
            laID: instruction.laID,
            installation: activity.installation,
            messageID: message.receipt.id,
            alert: isKnown ? nil : own,
            deadline: message.deadline,
            isClaimed: activity.verdict == .claimed,
            state: state,
        )
    }
}

extension RecipientTask {
    /// Which row of `live_activity` it claims, on any installation.
    struct ActivityKey: Hashable {
        let sdkAppID: Int64
        let account: String
        let laID: String
    }

    /// Which rows of `device` it counts a badge in.
    struct AccountKey: Hashable {
        let sdkAppID: Int64
        let account: String
    }

    var activityKey: ActivityKey {
        let order = message.underWay.order
        return ActivityKey(sdkAppID: order.sdkAppID, account: account, laID: order.activity?.laID ?? "")
    }

    /// What it asks about starts.
    func startQuestion(at now: UnixTime) -> DeliveryStore.StartQuestion? {
        let message = message.underWay
        guard let activity = message.order.activity else { return nil }
        return DeliveryStore.StartQuestion(
            sdkAppID: message.order.sdkAppID,
            account: account,
            laID: activity.laID,
            messageID: message.receipt.id,
            isEnd: activity.content.event == .end,
            attributesType: delivery.claimsStart(of: message) ? activity.content.start?.attributesType : nil,
            alert: activity.content.alert,
            deadline: message.deadline,
            mayHaveBeenSent: delivery.progress.mayHaveStartedAnActivity,
            excepted: delivery.exceptedStarts(of: message, at: now),
            installations: delivery.progress.installations,
        )
    }

    var accountKey: AccountKey {
        AccountKey(sdkAppID: message.underWay.order.sdkAppID, account: account)
    }

    /// What it asks of the count of badges.
    var count: DeliveryStore.BadgeCount {
        let message = message.underWay
        return DeliveryStore.BadgeCount(
            sdkAppID: message.order.sdkAppID,
            account: account,
            messageID: message.receipt.id,
            change: message.order.notification.badge,
            excepted: delivery.progress.targets.filter(\.isCountedOrDone).map(\.installation)
                + (installationsNotCounted ?? []),
        )
    }

    /// What follows from its devices, which are looked up once more to be counted where that was not known before.
    ///
    /// - Parameter shown: the pushes that the message replaces, where it does: it goes nowhere else.
    func devicesLookedUp(
        _ devices: [FoundDevice],
        replacing shown: ReplacedPushes?,
        schedule: RetrySchedule,
        at now: UnixTime,
    ) -> RecipientDelivery.Action {
        if let shown {
            if shown.areUnderWay { return delivery.waitForReplacedPushes(at: now) }
            delivery.go(onlyTo: shown.installations)
        }
        let notification = message.underWay.order.notification
        guard notification.badge == .unchanged else {
            installationsNotCounted = devices.filter { device in
                !delivery.goes(to: device.installation)
                    || notification.translated(by: notification.translation(for: device.language)).isEmpty
            }.map(\.installation)
            return .lookUpDevices
        }
        return delivery.devicesFound(devices, of: message.underWay, schedule: schedule, at: now)
    }

    /// Whether the next look-up of its devices counts the message. Where only translations have a text, or it goes to some
    /// installations only, or replaces what was shown, the devices are looked up once before: SQL cannot tell which of
    /// them are left out.
    var isToBeCounted: Bool {
        let order = message.underWay.order
        let notification = order.notification
        return notification.badge != .unchanged
            && (!notification.isEmpty && delivery.progress.installations == nil && order.replaced == nil
                || installationsNotCounted != nil)
    }
}

extension DeliveryTarget {
    /// Whether the message must not be counted there: it was before, or nothing will be sent there any more, as with an
    /// app that was in front at the first attempt. A registration that went away and came back starts afresh.
    fileprivate var isCountedOrDone: Bool {
        guard kind == .device else { return false }
        return switch state {
        case .settled(let outcome): outcome != .cancelled
        case .pushing, .waiting: badge != nil
        }
    }
}

/// A push as its delivery row will name it.
struct SentPush: Sendable {
    let kind: DeliveryTarget.Kind
    let installation: String
    let apnsID: String
}

extension Array {
    /// Removes and returns the first elements, at most so many. Where that is all, nothing is copied.
    mutating func removePrefix(_ limit: Int) -> [Element] {
        if count <= limit {
            defer { self = [] }
            return self
        }
        let prefix = Array(self[..<limit])
        removeFirst(limit)
        return prefix
    }
}

/// Recipients that wait for a statement, first in, first out.
struct WorkQueue {
    private var tasks: [RecipientTask] = []

    mutating func append(_ task: RecipientTask) {
        tasks.append(task)
    }

    /// The first `limit` tasks, nil if there are none.
    mutating func take(limit: Int) -> [RecipientTask]? {
        guard !tasks.isEmpty else { return nil }
        return tasks.removePrefix(limit)
    }

    /// The first tasks, no two of which have one key: one statement changes a row once, and the second of two messages
    /// has to see what the first did.
    mutating func takeDistinct<Key: Hashable>(limit: Int, by key: (RecipientTask) -> Key) -> [RecipientTask]? {
        guard !tasks.isEmpty else { return nil }
        var keys: Set<Key> = []
        var batch: [RecipientTask] = []
        var left: [RecipientTask] = []
        var scanned = 0
        for task in tasks {
            guard batch.count < limit else { break }
            scanned += 1
            if keys.insert(key(task)).inserted {
                batch.append(task)
            } else {
                left.append(task)
            }
        }
        tasks.replaceSubrange(..<scanned, with: left)
        return batch
    }
}
