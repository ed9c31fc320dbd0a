/// What a test has said about a token: where it is known, for which topic, and how pushes to it end.
struct DeclaredToken {
    /// How a push that passed every check ends all the same.
    struct Behaviour {
        var outcome: Outcome
        /// How many pushes end so before they are accepted again; nil for all.
        var remaining: Int64?
    }

    /// The end of a push.
    enum Outcome {
        case refuse(Refusal)
        case drop(Drop)
    }

    /// A push that arrives, reaches the phone, and whose answer the sender never sees.
    enum Drop: String, CaseIterable {
        /// The stream stays open without an answer.
        case answer
        /// The stream is reset with INTERNAL_ERROR.
        case stream
        /// The TCP connection is closed.
        case connection
    }

    /// The environments that know the token; the other one answers BadDeviceToken.
    var environments: Set<APNsEnvironment>
    /// The topic or bundle ID the token belongs to; nil for any.
    var topic: String?
    var behaviour: Behaviour?

    /// What the token is for.
    enum Kind: String {
        /// Notifications.
        case device
        /// Updates and the end of one activity.
        case activity
        /// Starts of activities.
        case start
    }

    /// The name of the phone whose token it is; nil for a phone of its own.
    var phone: String?
    /// nil for a token whose kind the pushes to it tell.
    var kind: Kind?
    /// What the activity is called.
    var activity: String?
    /// The broadcast channel that the activity follows.
    var channel: String?
    /// When the activity was started, in seconds since 1970; nil for the time of the declaration or first push.
    var startedAt: Int64?
    /// The name of the activity's attributes.
    var attributesType: String?
    /// What the app itself showed first: a JSON object, verbatim.
    var contentState: [UInt8]?
    /// Whether the user has swiped the activity away.
    var isDismissedByUser = false
    /// Whether the phone and its apps have frequent updates on; nil leaves that as it was.
    var allowsFrequentPushes: Bool?

    /// Whether the token belongs to `topic`: a bundle ID alone stands for every kind of push of that app, a bundle ID
    /// with a suffix for that kind only. The token of an activity is of no use for notifications, nor the other way round.
    func belongs(to topic: PushTopic) -> Bool {
        let isOfLiveActivity = topic.suffix == PushType.liveactivity.topicSuffix
        if let kind, isOfLiveActivity != (kind != .device) { return false }
        return self.topic == nil || self.topic == topic.text || self.topic == topic.bundleID
    }
}
