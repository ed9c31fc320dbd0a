public import APNs

/// What would become of a push to a broadcast channel that were sent now, and why.
public struct ChannelExplanation: Sendable {
    /// Whether it goes out: not to a channel that is known to be gone.
    public var isSent: Bool
    /// Bundle id of the iOS app.
    public var bundleID: String
    /// Which APNs.
    public var environment: APNsEnvironment
    /// The certificate that signs.
    public var businessID: Int64
    /// What is decided about it, as the answer to sending has it.
    public var message: SentChannelMessage
    /// The header fields, lower case, the provider token and the request id described rather than given.
    public var headers: [(name: String, value: String)]
    /// The body, byte for byte.
    public var payload: [UInt8]
    /// How many bytes the body may have.
    public var payloadLimit: Int
    /// Why that priority: `caller` or `default`.
    public var priorityReason: String
    /// What each version of the types says of the content; nil: the app has no schema.
    public var content: [RecipientExplanation.ContentVerdict]?
    /// The channel's id in base64.
    public var channelID: String
    /// What is known of the channel.
    public var channel: ChannelState
    /// What a person should know besides.
    public var notes: [RecipientExplanation.Note]

    /// What ``priorityReason`` means.
    public var priorityMeans: String {
        priorityReason == "caller" ? "as the request demands" : "10 unless the request says otherwise"
    }
}

/// Says what would become of a push to a broadcast channel, by the code that sends, and neither asks APNs nor writes
/// anything down. One object per lane, used on that lane's thread.
public protocol ChannelExplainer: AnyObject {
    /// Explains a push.
    ///
    /// - Parameter order: asks for the push of `message`.
    /// - Throws: why it would be refused before anything goes out.
    func explain(_ order: ChannelOrder, sending message: ChannelMessage) async throws(ChannelFault)
        -> ChannelExplanation
}
