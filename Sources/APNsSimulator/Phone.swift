import VerbatimJSON

/// A phone: what it makes of the pushes that APNs took, and what is to be seen on its lock screen. APNs answers 200
/// either way, and a real phone tells nobody.
///
/// From Apple's "Starting and updating Live Activities with ActivityKit push notifications", "Generating a remote
/// notification" and, for the bounds of the timestamp, Apple Developer Forums 776165.
struct Phone {
    /// A push, or a part of one, without effect.
    struct Ignored: Equatable {
        /// What has no effect: `push`, or the key of the payload.
        let what: String
        let reason: IgnoredReason

        static func push(_ reason: IgnoredReason) -> Ignored { Ignored(what: "push", reason: reason) }

        /// Writes `{"what", "reason", "explanation"}`.
        func write(to writer: inout JSONWriter) {
            writer.beginObject()
            writer.member("what", what)
            writer.member("reason", reason.rawValue)
            writer.member("explanation", reason.explanation)
            writer.endObject()
        }
    }

    /// What the phone keeps for an app.
    private struct App {
        let bundleID: String
        var badge: Int32 = 0
        var wakes = 0
        var priority10 = HourlyBudget()
        var starts = HourlyBudget()
        var backgrounds = HourlyBudget()
    }

    /// What is kept of each kind; the oldest goes first, of activities one whose card is gone.
    static let activityCapacity = 16
    static let notificationCapacity = 20
    static let eventCapacity = 50
    static let appCapacity = 16

    /// As declared, or the fingerprint of the only token known of it.
    let name: String
    /// Whether somebody has declared it.
    let isDeclared: Bool
    private let rules: PhoneRules
    /// Whether the user allows frequent updates and the app asks for them, as declared.
    var allowsFrequentPushes = false

    private var apps: [App] = []
    var activities: [Activity] = []
    /// Newest last.
    private var notifications: [PhoneNotification] = []
    /// Newest last.
    private var events: [PhoneEvent] = []
    private var notificationCount = 0

    init(name: String, isDeclared: Bool, rules: PhoneRules) {
        self.name = name
        self.isDeclared = isDeclared
        self.rules = rules
    }

    // MARK: - Pushes

    /// Takes a push that APNs has accepted.
    ///
    /// - Parameter declaration: what was said about its token.
    /// - Returns: what of it has no effect; nil if all of it has.
    mutating func receive(
        _ push: AcceptedPush,
        environment: APNsEnvironment,
        declaration: DeclaredToken?,
        time: UnixTime,
    ) -> Ignored? {
        let outcome: PhoneEvent.Outcome
        var kind = push.pushType.rawValue
        switch push.pushType {
        case .liveactivity:
            let address = TokenAddress(environment: declaration == nil ? environment : nil, token: push.token)
            let ignored = receiveActivity(
                push,
                address: address,
                environment: environment,
                declaration: declaration,
                now: time.wholeSeconds,
            )
            outcome = Phone.outcome(ignoring: ignored)
            kind = push.payload.event?.string ?? kind
        case .alert: outcome = receiveAlert(push, time: time)
        case .background: outcome = receiveBackground(push, now: time.wholeSeconds)
        default: outcome = .woke
        }
        remember(outcome, kind: kind, activity: declaration?.activity, token: push.token, time: time)
        switch outcome {
        case .shown(let ignored): return ignored
        case .ignored(let ignored): return ignored
        case .woke, .refused: return nil
        }
    }

    static func outcome(ignoring ignored: Ignored?) -> PhoneEvent.Outcome {
        guard let ignored, ignored.what == "push" else { return .shown(ignored) }
        return .ignored(ignored)
    }

    /// Notes a push to it that APNs refused.
    mutating func remember(
        _ refusal: Refusal,
        kind: String,
        declaration: DeclaredToken,
        token: DeviceToken,
        time: UnixTime
    ) {
        remember(.refused(refusal), kind: kind, activity: declaration.activity, token: token, time: time)
    }

    mutating func remember(
        _ outcome: PhoneEvent.Outcome,
        kind: String,
        activity: String?,
        token: DeviceToken?,
        time: UnixTime,
    ) {
        if events.count >= Phone.eventCapacity {
            events.removeFirst()
        }
        let kind = String(kind.prefix(32))
        events.append(
            PhoneEvent(receivedAt: time, kind: kind, activity: activity, token: token, outcome: outcome)
        )
    }

    /// The app's place; that of the app that was seen first goes to a new one where there are too many.
    private mutating func index(ofApp bundleID: String) -> Int {
        if let index = apps.firstIndex(where: { $0.bundleID == bundleID }) { return index }
        if apps.count >= Phone.appCapacity {
            apps.removeFirst()
        }
        apps.append(App(bundleID: bundleID))
        return apps.endIndex - 1
    }

    private var priority10Budget: Int {
        allowsFrequentPushes ? rules.frequentPriority10Budget : rules.priority10Budget
    }

    // MARK: - Notifications

    private mutating func receiveAlert(_ push: AcceptedPush, time: UnixTime) -> PhoneEvent.Outcome {
        let payload = push.payload
        guard payload.alerts || payload.wakes else { return .ignored(.push(.nothingToShow)) }
        let app = index(ofApp: push.topic.bundleID)
        let isAwake =
            payload.wakes && apps[app].backgrounds.take(limit: rules.backgroundBudget, now: time.wholeSeconds)
        if isAwake {
            apps[app].wakes += 1
        }
        if let badge = payload.badge {
            apps[app].badge = badge
        }
        let hasBadBadge = payload.hasBadge && payload.badge == nil
        let alert = payload.notificationAlert
        guard alert.hasText else {
            if payload.badge != nil || alert.sound != nil { return .shown(hasBadBadge ? Phone.badBadge : nil) }
            if isAwake { return .woke }
            if payload.wakes { return .ignored(.push(.backgroundBudgetSpent)) }
            return .ignored(.push(hasBadBadge ? .badgeNotANumber : .nothingToShow))
        }
        notificationCount += 1
        let notification = PhoneNotification(
            id: push.id ?? String(notificationCount),
            collapseID: push.collapseID,
            bundleID: push.topic.bundleID,
            alert: alert,
            badge: payload.badge,
            threadID: payload.threadID,
            interruptionLevel: payload.interruptionLevel,
            receivedAt: time,
        )
        // Without a collapse ID each push is a notification of its own, even the repeat of one: the `apns-id` is APNs' business.
        if let collapseID = notification.collapseID {
            notifications.removeAll { $0.collapseID == collapseID && $0.bundleID == notification.bundleID }
        }
        if notifications.count >= Phone.notificationCapacity {
            notifications.removeFirst()
        }
        notifications.append(notification)
        return .shown(hasBadBadge ? Phone.badBadge : nil)
    }

    private static let badBadge = Ignored(what: "badge", reason: .badgeNotANumber)

    private mutating func receiveBackground(_ push: AcceptedPush, now: Int64) -> PhoneEvent.Outcome {
        guard push.payload.wakes else { return .ignored(.push(.contentAvailableMissing)) }
        let app = index(ofApp: push.topic.bundleID)
        guard apps[app].backgrounds.take(limit: rules.backgroundBudget, now: now) else {
            return .ignored(.push(.backgroundBudgetSpent))
        }
        apps[app].wakes += 1
        return .woke
    }

    // MARK: - Activities

    /// Faults of the payload come first, then the budget, which a push spends whatever the activity makes of it.
    private mutating func receiveActivity(
        _ push: AcceptedPush,
        address: TokenAddress,
        environment: APNsEnvironment,
        declaration: DeclaredToken?,
        now: Int64,
    ) -> Ignored? {
        let payload = push.payload
        let event: String
        let timestamp: Int64
        do throws(PayloadFault) {
            (event, timestamp) = try Phone.check(payload, isStored: push.isStored, now: now)
        } catch {
            activities.firstIndex { $0.address == address }.map { activities[$0].countIgnored() }
            return .push(error.reason)
        }
        if event == "start" {
            return start(push, environment, declaration: declaration, timestamp: timestamp, now: now)
        }
        guard declaration?.kind != .start else { return .push(.startTokenOnlyStarts) }
        let index = index(ofActivity: address, declaration: declaration, bundleID: push.topic.bundleID, now: now)
        return change(
            index,
            payload,
            isEnd: event == "end",
            timestamp: timestamp,
            priority: push.priority,
            bundleID: push.topic.bundleID,
            now: now,
        )
    }

    /// Brings an update or an end to an activity.
    mutating func change(
        _ index: Int,
        _ payload: PushPayload,
        isEnd: Bool,
        timestamp: Int64,
        priority: Int,
        bundleID: String,
        now: Int64,
    ) -> Ignored? {
        let app = self.index(ofApp: bundleID)
        guard priority < 10 || apps[app].priority10.take(limit: priority10Budget, now: now) else {
            activities[index].countIgnored()
            return .push(.priority10BudgetSpent)
        }
        if let reason = activities[index].receive(payload, timestamp: timestamp, isEnd: isEnd, now: now) {
            return .push(reason)
        }
        return Phone.unusedPart(of: payload, isEnd: isEnd)
    }

    /// Why nothing comes of a push, whatever activity it is for.
    struct PayloadFault: Error {
        let reason: IgnoredReason
    }

    /// - Parameter isStored: what a channel has stored may be as old as it likes.
    static func check(
        _ payload: PushPayload,
        isStored: Bool,
        now: Int64,
    ) throws(PayloadFault) -> (event: String, Int64) {
        func fault(_ reason: IgnoredReason) -> PayloadFault { PayloadFault(reason: reason) }
        guard let event = payload.event?.string, ["start", "update", "end"].contains(event) else {
            throw fault(.eventUnknown)
        }
        guard let timestamp = payload.timestamp else { throw fault(.timestampMissing) }
        guard timestamp <= now + PhoneRules.horizon else { throw fault(.timestampTooFarAhead) }
        guard isStored || event == "end" || timestamp >= now - PhoneRules.tolerance else {
            throw fault(.timestampInThePast)
        }
        switch payload.contentState?.kind {
        case .object: break
        case nil where event == "end": break
        default: throw fault(.contentStateMissing)
        }
        return (event, timestamp)
    }

    private mutating func start(
        _ push: AcceptedPush,
        _ environment: APNsEnvironment,
        declaration: DeclaredToken?,
        timestamp: Int64,
        now: Int64,
    ) -> Ignored? {
        guard declaration?.kind != .activity else { return .push(.startNeedsStartToken) }
        guard push.payload.canStart else { return .push(.startIncomplete) }
        let app = index(ofApp: push.topic.bundleID)
        guard apps[app].starts.take(limit: rules.startBudget, now: now) else { return .push(.startBudgetSpent) }
        var activity = Activity(address: nil, startedAt: now)
        activity.bundleID = push.topic.bundleID
        activity.apply(push.payload, timestamp: timestamp)
        let named = push.payload.inputPushChannel
        if let channel = named?.string, !push.namesUnknownChannel {
            activity.channel = channel
            activity.channelEnvironment = environment
        }
        add(activity, now: now)
        if named != nil, activity.channel == nil {
            return Ignored(what: "input-push-channel", reason: .channelUnknown)
        }
        return Phone.unusedPart(of: push.payload, isEnd: false)
    }

    private static func unusedPart(of payload: PushPayload, isEnd: Bool) -> Ignored? {
        if let date = payload.dismissalDate {
            if !isEnd { return Ignored(what: "dismissal-date", reason: .onlyAnEndIsDismissed) }
            if date.kind != .number { return Ignored(what: "dismissal-date", reason: .dateNotANumber) }
        }
        if let date = payload.staleDate, date.kind != .number {
            return Ignored(what: "stale-date", reason: .dateNotANumber)
        }
        if let alert = payload.alert, PushAlert(liveActivity: alert) == nil {
            return Ignored(what: "alert", reason: .alertWithoutText)
        }
        return payload.hasSound ? Ignored(what: "sound", reason: .soundBelongsInAlert) : nil
    }

    private mutating func index(
        ofActivity address: TokenAddress,
        declaration: DeclaredToken?,
        bundleID: String,
        now: Int64,
    ) -> Int {
        if let index = activities.firstIndex(where: { $0.address == address }) {
            activities[index].bundleID = bundleID
            return index
        }
        var activity = Activity(address: address, startedAt: declaration?.startedAt ?? now)
        activity.bundleID = bundleID
        if let declaration {
            activity.name = declaration.activity
            activity.attributesType = declaration.attributesType
            activity.channel = declaration.channel
        }
        return add(activity, now: now)
    }

    @discardableResult
    private mutating func add(_ activity: Activity, now: Int64) -> Int {
        if activities.count >= Phone.activityCapacity {
            activities.remove(at: activities.firstIndex { $0.state(at: now) == .dismissed } ?? 0)
        }
        activities.append(activity)
        return activities.endIndex - 1
    }

    /// Takes over what was declared of an activity's token: its card is on the lock screen from now on, as the app put it
    /// there. A token for the attributes of an activity that a push has started is that activity's own, unless it follows
    /// a channel in a token's place.
    mutating func declare(_ declaration: DeclaredToken, token: DeviceToken, now: Int64) {
        allowsFrequentPushes = declaration.allowsFrequentPushes ?? allowsFrequentPushes
        guard declaration.kind == .activity else { return }
        let address = TokenAddress(environment: nil, token: token)
        let index: Int
        if let known = activities.firstIndex(where: { $0.address == address }) {
            index = known
        } else if let type = declaration.attributesType,
            let started = activities.firstIndex(where: {
                $0.address == nil && $0.attributesType == type
                    && ($0.channel == nil || $0.channel == declaration.channel)
            })
        {
            index = started
            activities[index].address = address
        } else {
            index = add(Activity(address: address, startedAt: now), now: now)
        }
        activities[index].startedAt = declaration.startedAt ?? activities[index].startedAt
        activities[index].name = declaration.activity
        activities[index].attributesType = declaration.attributesType ?? activities[index].attributesType
        activities[index].contentState = activities[index].contentState ?? declaration.contentState
        activities[index].isDismissedByUser = declaration.isDismissedByUser
        activities[index].channel = declaration.channel
    }

    /// Forgets the activity of a token that is declared anew.
    mutating func withdraw(_ token: DeviceToken) {
        activities.removeAll { $0.address == TokenAddress(environment: nil, token: token) }
    }

    // MARK: - JSON

    /// Writes the phone as a JSON object, as it is at a time: activities in the order they came, notifications and events
    /// newest first.
    func write(to writer: inout JSONWriter, time: UnixTime) {
        let now = time.wholeSeconds
        writer.beginObject()
        writer.member("name", name)
        writer.member("declared", isDeclared)
        writer.member("badge", apps.reduce(Int64(0)) { $0 + Int64($1.badge) })
        writer.key("apps")
        writer.beginArray()
        for app in apps {
            writer.beginObject()
            writer.member("bundleId", app.bundleID)
            writer.member("badge", app.badge)
            writer.member("wakes", app.wakes)
            writer.key("budget")
            app.priority10.write(to: &writer, limit: priority10Budget, now: now)
            writer.key("startBudget")
            app.starts.write(to: &writer, limit: rules.startBudget, now: now)
            writer.key("backgroundBudget")
            app.backgrounds.write(to: &writer, limit: rules.backgroundBudget, now: now)
            writer.endObject()
        }
        writer.endArray()
        writer.key("activities")
        writer.beginArray()
        for activity in activities {
            activity.write(to: &writer, now: now)
        }
        writer.endArray()
        writer.key("notifications")
        writer.beginArray()
        for notification in notifications.reversed() {
            notification.write(to: &writer)
        }
        writer.endArray()
        writer.key("events")
        writer.beginArray()
        for event in events.reversed() {
            event.write(to: &writer)
        }
        writer.endArray()
        writer.endObject()
    }
}
