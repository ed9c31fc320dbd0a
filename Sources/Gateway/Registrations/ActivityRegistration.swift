public import APNs
public import LiveActivity

/// An activity's push token as a phone registers it: where Live Activity pushes go. A nil field leaves what is stored.
public struct ActivityRegistration: Sendable, Equatable {
    /// The app's id of the activity, 1 to 64 bytes.
    public var laID: String
    /// The ActivityKit push token.
    public var token: PushToken
    /// The certificate that pushes to it.
    public var businessID: Int64
    /// The environment the token belongs to; nil: as stored for this token, else found out with the first push.
    public var environment: APNsEnvironment?
    /// Name of the `ActivityAttributes` type, at most 128 bytes.
    public var attributesType: String?
    /// App version, at most 64 bytes.
    public var appVersion: String?
    /// When the activity began; nil: with its first registration. It never extends a life that is known to be older.
    public var startedAt: UnixTime?
    /// ActivityKit's `frequentPushesEnabled`; kept with the installation's device.
    public var frequentPushesEnabled: Bool?
    /// The installation's counter; nil: the order of arrival counts.
    public var sequence: Int64?

    /// Makes a registration. The dialect has checked every limit before.
    public init(
        laID: String,
        token: PushToken,
        businessID: Int64,
        environment: APNsEnvironment? = nil,
        attributesType: String? = nil,
        appVersion: String? = nil,
        startedAt: UnixTime? = nil,
        frequentPushesEnabled: Bool? = nil,
        sequence: Int64? = nil,
    ) {
        self.laID = laID
        self.token = token
        self.businessID = businessID
        self.environment = environment
        self.attributesType = attributesType
        self.appVersion = appVersion
        self.startedAt = startedAt
        self.frequentPushesEnabled = frequentPushesEnabled
        self.sequence = sequence
    }
}
