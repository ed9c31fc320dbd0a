public import APNs
public import LiveActivity

/// One request about broadcast channels, as a caller makes it.
public struct ChannelOrder: Sendable, Equatable {
    /// What is asked for.
    public enum Operation: Sendable, Equatable {
        /// A new channel.
        case create(ChannelStorage)
        /// What APNs knows of a channel.
        case read(channelID: String)
        /// All channels of the app's bundle id.
        case list
        /// The end of a channel.
        case delete(channelID: String)
        /// A push to all that follow a channel.
        case send(ChannelMessage)
    }

    /// The app.
    public var sdkAppID: Int64
    /// Names the certificate, and so the bundle id.
    public var businessID: Int64
    /// Which APNs; nil: the certificate's.
    public var environment: APNsEnvironment?
    /// The account that asks, for the record.
    public var requestedBy: String
    /// What is asked for.
    public var operation: Operation

    /// Makes an order.
    public init(
        sdkAppID: Int64,
        businessID: Int64,
        environment: APNsEnvironment?,
        requestedBy: String,
        operation: Operation,
    ) {
        self.sdkAppID = sdkAppID
        self.businessID = businessID
        self.environment = environment
        self.requestedBy = requestedBy
        self.operation = operation
    }
}

/// A push to all that follow a channel, without what the gateway decides.
public struct ChannelMessage: Sendable, Equatable {
    /// The channel's id in base64.
    public var channelID: String
    /// What the push says; update or end.
    public var content: ActivityContent
    /// apns-priority, 5 or 10; nil: 10.
    public var priority: Int?
    /// Name of the `ActivityAttributes` type of the activities that follow the channel, by whose schema the state is checked;
    /// nil: that of the app's only one warns, where it has one only.
    public var attributesType: String?
    /// For how many seconds APNs may keep the push for phones that are away; 0: it tries once. nil: 8 hours where the channel
    /// stores pushes. A channel that stores none takes only 0.
    public var timeToLive: Int64?

    /// Makes a message.
    public init(
        channelID: String,
        content: ActivityContent,
        priority: Int? = nil,
        attributesType: String? = nil,
        timeToLive: Int64? = nil,
    ) {
        self.channelID = channelID
        self.attributesType = attributesType
        self.content = content
        self.priority = priority
        self.timeToLive = timeToLive
    }
}

/// What APNs granted.
public struct ChannelAnswer: Sendable, Equatable {
    /// By operation.
    public enum Outcome: Sendable, Equatable {
        /// The channel that was created or read.
        case channel(id: String, storage: ChannelStorage)
        /// All there are; the storage only of those that were made or used through this database.
        case channels([ListedChannel])
        /// It is gone; false: APNs had no such channel before.
        case deleted(wasRegistered: Bool)
        /// APNs took the push, which proves no display.
        case sent(SentChannelMessage)
    }

    /// Bundle id of the iOS app.
    public var bundleID: String
    /// Which APNs.
    public var environment: APNsEnvironment
    /// apns-request-id, by which the record is found, and by which Apple finds the request.
    public var requestID: String
    /// By operation.
    public var outcome: Outcome

    /// Makes an answer.
    public init(bundleID: String, environment: APNsEnvironment, requestID: String, outcome: Outcome) {
        self.bundleID = bundleID
        self.environment = environment
        self.requestID = requestID
        self.outcome = outcome
    }
}

/// One channel of a list.
public struct ListedChannel: Sendable, Equatable {
    /// Its id in base64.
    public var id: String
    /// nil: not known here; reading the channel tells.
    public var storage: ChannelStorage?

    /// Makes one.
    public init(id: String, storage: ChannelStorage?) {
        self.id = id
        self.storage = storage
    }
}

/// What was decided about a push to a channel, and sent.
public struct SentChannelMessage: Sendable, Equatable {
    /// `aps.timestamp`.
    public var timestamp: Int64
    /// apns-priority.
    public var priority: Int
    /// apns-expiration in Unix seconds.
    public var expiration: Int64
    /// Size of the body.
    public var payloadBytes: Int
    /// What the caller should know of it.
    public var warnings: [PayloadFinding]

    /// Makes one.
    public init(
        timestamp: Int64,
        priority: Int,
        expiration: Int64,
        payloadBytes: Int,
        warnings: [PayloadFinding],
    ) {
        self.timestamp = timestamp
        self.priority = priority
        self.expiration = expiration
        self.payloadBytes = payloadBytes
        self.warnings = warnings
    }
}
