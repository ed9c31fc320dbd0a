public import APNs
public import LiveActivity

/// A push-to-start token as a phone registers it: where pushes go that bring up a Live Activity (iOS 17.2). A nil field
/// leaves what is stored.
public struct StartTokenRegistration: Sendable, Equatable {
    /// Name of the `ActivityAttributes` type whose activities it starts, 1 to 128 bytes.
    public var attributesType: String
    /// The ActivityKit push-to-start token.
    public var token: PushToken
    /// The certificate that pushes to it.
    public var businessID: Int64
    /// The environment the token belongs to; nil: as stored for this token, else found out with the first push.
    public var environment: APNsEnvironment?
    /// iOS version, at most 64 bytes: which keys of a start the phone understands. nil: as its device says.
    public var osVersion: String?
    /// App version, at most 64 bytes.
    public var appVersion: String?
    /// The installation's counter; nil: the order of arrival counts.
    public var sequence: Int64?

    /// Makes a registration. The dialect has checked every limit before.
    public init(
        attributesType: String,
        token: PushToken,
        businessID: Int64,
        environment: APNsEnvironment? = nil,
        osVersion: String? = nil,
        appVersion: String? = nil,
        sequence: Int64? = nil,
    ) {
        self.attributesType = attributesType
        self.token = token
        self.businessID = businessID
        self.environment = environment
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.sequence = sequence
    }
}
