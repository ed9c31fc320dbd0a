public import LiveActivity

/// What Pushwoosh's API needs of the gateway beside what every dialect does.
public protocol PushwooshGateway: MessageGateway {
    /// What an application code means; nil if there is none.
    ///
    /// - Throws: ``GatewayUnavailable`` while it is not known what is configured.
    func applicationCode(_ code: String) throws(GatewayUnavailable) -> ApplicationCode?

    /// Which app an API token opens, and for what; nil if there is none.
    ///
    /// - Throws: ``GatewayUnavailable`` while it is not known what is configured.
    func apiToken(_ token: String) throws(GatewayUnavailable) -> APIToken?

    /// When the clocks of a time zone show a local time.
    ///
    /// A time that clocks skip in spring is taken as if they had not been put forward yet, so that 02:30 is 03:30; of a
    /// time that they show twice in autumn the second counts.
    ///
    /// - Parameters:
    ///   - localTime: as `2026-06-16 16:00`, a day that there is.
    ///   - zone: an IANA name, such as `Europe/Berlin`.
    /// - Returns: nil if there is no such zone.
    func time(of localTime: String, in zone: String) async throws(GatewayUnavailable) -> UnixTime?

    /// The device tokens of installations of an app; those that are not registered are left out.
    func deviceTokens(
        of installations: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [String: PushToken]

    /// Which of these device tokens phones of an app have registered.
    func registeredTokens(
        among tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Set<PushToken>

    /// Whether an update or an end finds a phone of the app on which the activity runs, ended a moment ago, or may still come up
    /// after a start that was sent.
    func hasActivity(
        _ laID: String,
        for event: ActivityEvent,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Bool

    /// The activities that run on phones of an app with these tokens; those that are not registered are left out.
    func activities(
        withTokens tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [PushToken: RegisteredActivity]
}

/// Whose a Live Activity's token is.
public struct RegisteredActivity: Sendable, Equatable {
    /// The account of the phone.
    public let account: String
    /// The activity.
    public let laID: String

    /// Makes an answer.
    public init(account: String, laID: String) {
        self.account = account
        self.laID = laID
    }
}
