/// One push as it goes to APNs. The sender has checked every limit before.
public struct APNsRequest: Sendable, Equatable {
    /// Token in lower-case hex; becomes the path `/3/device/<token>`. Never log it.
    public var deviceToken: String
    /// Bundle id, with the suffix that the push type demands.
    public var topic: String
    /// apns-push-type.
    public var pushType: APNsPushType
    /// apns-priority: 10 at once, 5 power-considerate.
    public var priority: Int
    /// apns-expiration in Unix seconds; 0: APNs tries once and stores nothing.
    public var expiration: Int64
    /// apns-id, a lower-case UUID; the same on every attempt of one push.
    public var apnsID: String
    /// apns-collapse-id, at most 64 bytes.
    public var collapseID: String?
    /// JSON, at most 4096 bytes.
    public var payload: [UInt8]

    /// Makes a request.
    public init(
        deviceToken: String,
        topic: String,
        pushType: APNsPushType,
        priority: Int,
        expiration: Int64,
        apnsID: String,
        collapseID: String?,
        payload: [UInt8],
    ) {
        self.deviceToken = deviceToken
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.apnsID = apnsID
        self.collapseID = collapseID
        self.payload = payload
    }
}

/// Value of the header apns-push-type, which must match topic and payload.
public enum APNsPushType: String, Sendable {
    case alert
    case background
    case liveActivity = "liveactivity"
}
