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

    /// Whether the token belongs to `topic`: a bundle ID alone stands for every kind of push of that app, a bundle ID
    /// with a suffix for that kind only.
    func belongs(to topic: PushTopic) -> Bool {
        self.topic == nil || self.topic == topic.text || self.topic == topic.bundleID
    }
}
