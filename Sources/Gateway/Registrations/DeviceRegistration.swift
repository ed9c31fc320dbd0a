public import APNs
public import LiveActivity

/// A device token as a phone registers it: where normal notifications go. A nil field leaves what is stored.
public struct DeviceRegistration: Sendable, Equatable {
    /// The person's answer to the permission request (`UNAuthorizationStatus`).
    public enum NotificationPermission: String, Sendable, CaseIterable {
        case authorized
        /// No notification is sent, only recorded.
        case denied
        case provisional
        case ephemeral
        case notDetermined
    }

    /// The APNs device token.
    public var token: PushToken
    /// The certificate that pushes to it.
    public var businessID: Int64
    /// The environment the token belongs to; nil: as stored for this token, else found out with the first push.
    public var environment: APNsEnvironment?
    /// iOS version, at most 64 bytes.
    public var osVersion: String?
    /// App version, at most 64 bytes.
    public var appVersion: String?
    /// System language such as `zh-Hant`, at most 64 bytes.
    public var language: String?
    /// The person's answer to the permission request.
    public var notificationPermission: NotificationPermission?
    /// ActivityKit's `frequentPushesEnabled`: the size of the hourly budget.
    public var frequentPushesEnabled: Bool?
    /// The installation's counter; nil: the order of arrival counts.
    public var sequence: Int64?

    /// Makes a registration. The dialect has checked every limit before.
    public init(
        token: PushToken,
        businessID: Int64,
        environment: APNsEnvironment? = nil,
        osVersion: String? = nil,
        appVersion: String? = nil,
        language: String? = nil,
        notificationPermission: NotificationPermission? = nil,
        frequentPushesEnabled: Bool? = nil,
        sequence: Int64? = nil,
    ) {
        self.token = token
        self.businessID = businessID
        self.environment = environment
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.language = language
        self.notificationPermission = notificationPermission
        self.frequentPushesEnabled = frequentPushesEnabled
        self.sequence = sequence
    }
}
