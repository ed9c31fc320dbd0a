/// What the gateway holds of one registered token, without the token.
public struct RegistrationRecord: Sendable, Equatable {
    /// The last push that this registration was the target of.
    public struct LastPush: Sendable, Equatable {
        /// When it was last sent or settled; while it waits, when its message was accepted.
        public var at: UnixTime
        /// `start`, `update` or `end`; nil: a plain notification.
        public var event: String?
        /// The outcome of its delivery, or `retrying` while it waits.
        public var outcome: String
        /// HTTP status of APNs' last answer.
        public var apnsStatus: Int64?
        /// Reason in APNs' last answer, or why there was none, or why it waits.
        public var apnsReason: String?
        /// Why it was sent the way it was.
        public var routeReason: String?

        /// What stands for an outcome while the push waits.
        static let retrying = "retrying"
    }

    /// `device`, `activity` or `start`.
    public var kind: String
    /// The installation.
    public var installation: String
    /// The activity; nil for a device or a start token.
    public var laID: String?
    /// Name of the `ActivityAttributes` type.
    public var attributesType: String?
    /// The certificate that pushes to it.
    public var businessID: Int64
    /// Bundle id of the certificate; nil: there is no such certificate any more.
    public var bundleID: String?
    /// `sandbox` or `production`; nil until known.
    public var environment: String?
    /// What logs and views show in place of the token.
    public var tokenFingerprint: String
    /// `live`, `ended` or `expired`.
    public var state: String
    /// When this token was last registered.
    public var registeredAt: UnixTime
    /// The installation's counter of the last change.
    public var sequence: Int64?
    /// When the last update can go out; nil for a device or a start token.
    public var expiresAt: UnixTime?
    /// App version as reported.
    public var appVersion: String?
    /// iOS version as reported.
    public var osVersion: String?
    /// System language as reported.
    public var language: String?
    /// Until then the app is in front.
    public var foregroundUntil: UnixTime?
    /// The last push; nil: there was none.
    public var lastPush: LastPush?
}
