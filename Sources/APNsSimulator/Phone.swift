/// What phones make of the pushes that APNs took: it answers 200 either way, and the phone tells nobody.
///
/// From Apple's "Starting and updating Live Activities with ActivityKit push notifications" and, for the bounds of the
/// timestamp, Apple Developer Forums 776165.
struct Phone {
    /// A push, or a part of one, without effect.
    struct Ignored: Equatable {
        /// What has no effect: `push`, or the key of the payload.
        let what: String
        /// A word for why.
        let reason: String
    }

    /// An activity as its token has heard of it.
    private struct Activity {
        var timestamp: Int64
        var hasEnded: Bool
    }

    private struct Key: Hashable {
        let environment: APNsEnvironment
        let token: DeviceToken
    }

    /// How late an update may be, in seconds. Reports call 10 s harmless and 50 s harmful.
    static let tolerance: Int64 = 15
    /// How far ahead a timestamp may be, in seconds; milliseconds are always further.
    static let horizon: Int64 = 8 * 60 * 60
    /// Activities remembered for certain; up to twice as many are.
    static let capacity = 50_000

    private var recent: [Key: Activity] = [:]
    private var older: [Key: Activity] = [:]

    /// Takes a push that APNs has accepted.
    ///
    /// - Returns: what of it has no effect; nil if all of it has.
    mutating func receive(_ push: AcceptedPush, environment: APNsEnvironment, time: UnixTime) -> Ignored? {
        let payload = push.payload
        switch push.pushType {
        case .liveactivity:
            return receiveActivity(payload, key: Key(environment: environment, token: push.token), time: time)
        case .alert:
            return payload.alerts || payload.wakes ? nil : Ignored(what: "push", reason: "nothing_to_show")
        case .background:
            return payload.wakes ? nil : Ignored(what: "push", reason: "content_available_missing")
        default:
            return nil
        }
    }

    private mutating func receiveActivity(_ payload: PushPayload, key: Key, time: UnixTime) -> Ignored? {
        func ignored(_ reason: String) -> Ignored { Ignored(what: "push", reason: reason) }
        guard let event = payload.event?.string, ["start", "update", "end"].contains(event) else {
            return ignored("event_unknown")
        }
        guard let timestamp = payload.timestamp else { return ignored("timestamp_missing") }
        let now = time.milliseconds / 1000
        guard timestamp <= now + Phone.horizon else { return ignored("timestamp_too_far_ahead") }
        guard event == "end" || timestamp >= now - Phone.tolerance else { return ignored("timestamp_in_the_past") }
        switch payload.contentState?.kind {
        case .object: break
        case nil where event == "end": break
        default: return ignored("content_state_missing")
        }
        if event == "start" {
            return payload.canStart ? unusedDismissalDate(payload) : ignored("start_incomplete")
        }
        if let known = recent[key] ?? older[key] {
            guard !known.hasEnded else { return ignored("activity_ended") }
            guard timestamp > known.timestamp else { return ignored("timestamp_not_newer") }
        }
        remember(Activity(timestamp: timestamp, hasEnded: event == "end"), as: key)
        return event == "end" ? nil : unusedDismissalDate(payload)
    }

    private func unusedDismissalDate(_ payload: PushPayload) -> Ignored? {
        payload.hasDismissalDate ? Ignored(what: "dismissal-date", reason: "only_an_end_is_dismissed") : nil
    }

    private mutating func remember(_ activity: Activity, as key: Key) {
        if recent.count >= Phone.capacity, recent[key] == nil {
            older = recent
            recent = [:]
        }
        recent[key] = activity
    }

    /// Forgets every activity.
    mutating func removeAll() {
        recent = [:]
        older = [:]
    }
}
