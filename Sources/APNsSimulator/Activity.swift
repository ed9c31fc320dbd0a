import VerbatimJSON

/// A Live Activity on a phone, as far as pushes and declarations tell of it.
///
/// The rules are those of Apple's "Displaying live data with Live Activities" and "Starting and updating Live Activities
/// with ActivityKit push notifications".
struct Activity {
    /// What the person who holds the phone sees of it.
    enum State: String {
        /// It runs.
        case active
        /// It runs, and its stale date has passed.
        case stale
        /// A push ended it; its card is still on the lock screen.
        case ended
        /// The system ended it 8 h after its start; its card is still on the lock screen.
        case expired
        /// Its card is gone.
        case dismissed
    }

    private struct End {
        /// Seconds since 1970, as are all times here.
        var time: Int64
        var dismissalDate: Int64?
    }

    /// Where its pushes go; nil while an activity that a push started has no token of its own yet.
    var address: TokenAddress?
    /// What it is called, as declared: the gateway's LaId.
    var name: String?
    var bundleID: String?
    var attributesType: String?
    /// When it started, as declared, or else when the phone first heard of it.
    var startedAt: Int64
    /// Whether the user has swiped it away, as declared.
    var isDismissedByUser = false
    /// The broadcast channel that it follows, as declared or as its start said.
    var channel: String?
    /// The environment of that channel, where a start said it; nil where its token's declaration tells.
    var channelEnvironment: APNsEnvironment?

    /// Verbatim; nil before the first push unless declared.
    var contentState: [UInt8]?
    private(set) var timestamp: Int64?
    private(set) var staleDate: Int64?
    private(set) var relevanceScore: Double?
    private(set) var alert: PushAlert?
    private(set) var updates = 0
    private(set) var ignored = 0
    private var end: End?

    init(address: TokenAddress?, startedAt: Int64) {
        self.address = address
        self.startedAt = startedAt
    }

    /// Whether a broadcast reaches it although it has no token, since a push has started it with this channel.
    func follows(_ broadcast: ChannelRequestCheck.Broadcast, in environment: APNsEnvironment) -> Bool {
        address == nil && channel == broadcast.channelID && channelEnvironment == environment
            && bundleID == broadcast.bundleID
    }

    // MARK: - Time

    /// When its card goes, if nothing more comes.
    var leavesAt: Int64 {
        let latest = startedAt + PhoneRules.activeLife + PhoneRules.endedLife
        guard let end else { return latest }
        let asked = end.dismissalDate ?? Int64.max
        return min(max(asked, end.time), end.time + PhoneRules.endedLife, latest)
    }

    /// What is seen of it at a time.
    func state(at now: Int64) -> State {
        if isDismissedByUser || now >= leavesAt { return .dismissed }
        if end != nil { return .ended }
        if now >= startedAt + PhoneRules.activeLife { return .expired }
        if let staleDate, now >= staleDate { return .stale }
        return .active
    }

    // MARK: - Pushes

    /// Takes an update or an end that is sound in itself.
    ///
    /// The system's own end after 8 h leaves the card for up to 4 h more, and a push can still take it away: Apple does
    /// not say so, but an `end` is what the gateway sends then.
    ///
    /// - Returns: why nothing comes of it; nil if it is applied.
    mutating func receive(_ payload: PushPayload, timestamp: Int64, isEnd: Bool, now: Int64) -> IgnoredReason? {
        if let reason = reasonToIgnore(timestamp: timestamp, isEnd: isEnd, now: now) {
            ignored += 1
            return reason
        }
        apply(payload, timestamp: timestamp)
        if isEnd {
            end = End(time: now, dismissalDate: payload.dismissalDate.flatMap(PushPayload.seconds))
            staleDate = nil
        }
        return nil
    }

    private func reasonToIgnore(timestamp: Int64, isEnd: Bool, now: Int64) -> IgnoredReason? {
        if isDismissedByUser { return .activityDismissed }
        if end != nil { return .activityEnded }
        if let known = self.timestamp, timestamp <= known { return .timestampNotNewer }
        switch state(at: now) {
        case .dismissed: return .activityExpired
        case .expired where !isEnd: return .activityExpired
        default: return nil
        }
    }

    /// Counts a push that the phone did not get to.
    mutating func countIgnored() {
        ignored += 1
    }

    /// Takes over what a push says. What an update leaves out is gone, but for the state, which an end may leave out.
    mutating func apply(_ payload: PushPayload, timestamp: Int64) {
        updates += 1
        self.timestamp = timestamp
        if let state = payload.contentState {
            contentState = Array(state.verbatim)
        }
        staleDate = payload.staleDate.flatMap(PushPayload.seconds)
        relevanceScore = payload.relevanceScore
        alert = payload.alert.flatMap(PushAlert.init(liveActivity:))
        attributesType = payload.attributesType ?? attributesType
    }

    // MARK: - JSON

    /// Writes the activity as a JSON object. Times are seconds since 1970; `contentState` is byte for byte as it came.
    func write(to writer: inout JSONWriter, now: Int64) {
        writer.beginObject()
        writer.key("token")
        if let address {
            writer.string(address.token.fingerprint)
        } else {
            writer.null()
        }
        writer.member("environment", (address?.environment ?? channelEnvironment)?.rawValue)
        writer.member("channel", channel)
        writer.member("activity", name)
        writer.member("bundleId", bundleID)
        writer.member("state", state(at: now).rawValue)
        writer.member("startedAt", startedAt)
        writer.member("leavesAt", leavesAt)
        writer.member("endedAt", end?.time)
        writer.member("dismissalDate", end?.dismissalDate)
        writer.member("staleDate", staleDate)
        writer.member("timestamp", timestamp)
        if let relevanceScore {
            writer.key("relevanceScore")
            writer.double(relevanceScore)
        }
        writer.member("attributesType", attributesType)
        writer.key("contentState")
        if let contentState {
            writer.raw(contentState)
        } else {
            writer.null()
        }
        if let alert {
            writer.key("alert")
            writer.beginObject()
            alert.write(to: &writer)
            writer.endObject()
        }
        writer.member("updates", updates)
        writer.member("ignored", ignored)
        writer.endObject()
    }
}
