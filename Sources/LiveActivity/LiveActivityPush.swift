/// One Live Activity push as a request to APNs, apart from token and provider token, which are secrets: its body, its headers,
/// and what is wrong with it.
public struct LiveActivityPush: Sendable, Equatable {
    /// Whom it goes to.
    public enum Destination: Sendable, Equatable {
        /// One phone, by an activity's push token or a push-to-start token.
        case phone
        /// All that follow a broadcast channel, by its id in base64 (iOS 18).
        case channel(String, storage: ChannelStorage)
    }

    /// Bundle id of the app, without the topic's suffix.
    public var bundleID: String
    /// Whom it goes to.
    public var destination: Destination
    /// What it says.
    public var content: ActivityContent
    /// `aps.timestamp` in Unix seconds.
    public var timestamp: Int64
    /// apns-priority: 10 at once, 5 when it suits the phone.
    public var priority: Int
    /// apns-expiration in Unix seconds; 0: APNs tries once and stores nothing.
    public var expiration: Int64
    /// apns-collapse-id, at most 64 bytes; a broadcast has none.
    public var collapseID: String?
    /// apns-id, or apns-request-id of a broadcast: a UUID. APNs makes one if it is nil.
    public var id: String?

    /// Makes a push.
    ///
    /// - Parameters:
    ///   - priority: nil: 10, which is also what APNs takes an absent header for.
    ///   - expiration: nil: ``defaultExpiration(of:to:from:)``.
    public init(
        bundleID: String,
        destination: Destination = .phone,
        content: ActivityContent,
        timestamp: Int64,
        priority: Int? = nil,
        expiration: Int64? = nil,
        collapseID: String? = nil,
        id: String? = nil,
    ) {
        self.bundleID = bundleID
        self.destination = destination
        self.content = content
        self.timestamp = timestamp
        self.priority = priority ?? 10
        self.expiration =
            expiration ?? Self.defaultExpiration(of: content.event, to: destination, from: timestamp)
        self.collapseID = collapseID
        self.id = id
    }

    /// Until when a push is worth keeping: the life of an activity from the timestamp on, minutes for a start, and what a
    /// channel stores.
    public static func defaultExpiration(
        of event: ActivityEvent,
        to destination: Destination,
        from timestamp: Int64,
    ) -> Int64 {
        let life: Duration
        switch destination {
        case .phone: life = ActivityLife.duration(for: event)
        case .channel(_, .none): return 0
        case .channel(_, .mostRecent): life = ChannelStorage.longestLife
        }
        return timestamp.addingReportingOverflow(life.components.seconds).partialValue
    }

    // MARK: - The request

    /// The bytes of the body.
    public var payload: [UInt8] {
        LiveActivityPayload.encode(
            self.content,
            timestamp: self.timestamp,
            dismissalDate: DismissalDate.toSend(
                event: self.content.event,
                requested: self.content.dismissalDate,
                defaultIsImmediate: false,
                now: self.timestamp,
            ),
        )
    }

    /// How many bytes the body may have.
    public var limit: Int {
        switch self.destination {
        case .phone: PayloadLimit.bytes
        case .channel: PayloadLimit.broadcastBytes
        }
    }

    /// The `:path` (Apple: "Sending notification requests to APNs", "Sending broadcast push notification requests to APNs").
    ///
    /// - Parameter token: in hexadecimal; of no meaning to a broadcast.
    public func path(token: String) -> String {
        switch self.destination {
        case .phone: "/3/device/\(token)"
        // The bundle id stands there without the topic's suffix: APNs answers TopicDisallowed to it.
        case .channel: "/4/broadcasts/apps/\(self.bundleID)"
        }
    }

    /// The headers but `authorization`, names in lower case as HTTP/2 wants them.
    public var headers: [(name: String, value: String)] {
        let common = [
            (name: "apns-push-type", value: "liveactivity"), (name: "apns-priority", value: String(self.priority)),
            (name: "apns-expiration", value: String(self.expiration)),
        ]
        switch self.destination {
        case .phone:
            return [(name: "apns-topic", value: PushTopic.liveActivity(bundleID: self.bundleID))] + common
                + Self.header("apns-collapse-id", self.collapseID) + Self.header("apns-id", self.id)
        case .channel(let id, _):
            return [(name: "apns-channel-id", value: id)] + common + Self.header("apns-request-id", self.id)
        }
    }

    private static func header(_ name: String, _ value: String?) -> [(name: String, value: String)] {
        value.map { [(name: name, value: $0)] } ?? []
    }
}
