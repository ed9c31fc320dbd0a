import Gateway
import LiveActivity

/// A gateway that keeps what it is given. It stands in for the real one in tests of the dialect only.
final class InMemoryGateway: PushwooshGateway {
    static let sdkAppID: Int64 = 1_400_000_000
    static let code = ApplicationCode(code: "XXXXX-XXXXX", sdkAppID: sdkAppID, businessID: 5)
    /// 2026-06-02T12:00:00Z.
    static let time: Int64 = 1_780_401_600

    var app = Application(sdkAppID: InMemoryGateway.sdkAppID, secretKey: [], administrators: ["administrator"])
    var codes = ["XXXXX-XXXXX": code, "OTHER-APP": ApplicationCode(code: "OTHER-APP", sdkAppID: 2, businessID: 1)]
    var tokens: [String: PushToken] = [:]
    /// What is registered of each activity's token.
    var activities: [PushToken: RegisteredActivity] = [:]
    /// Segments with somebody in them.
    var segments: Set<String> = ["F", "FILTER_NAME_1"]
    /// Activities that run on a phone.
    var running: Set<String> = ["ride-7", "FIRST_LIVE_ACTIVITY"]
    var planned: [PlannedOrder] = []
    var unavailable: GatewayUnavailable?

    func applicationCode(_ code: String) throws(GatewayUnavailable) -> ApplicationCode? {
        if let unavailable, unavailable.reason == .databaseAway { throw unavailable }
        return codes[code]
    }

    func apiToken(_ token: String) throws(GatewayUnavailable) -> APIToken? {
        switch token {
        case "SECRET_API_TOKEN": APIToken(sdkAppID: Self.sdkAppID, scope: .server)
        case "PHONE_API_TOKEN": APIToken(sdkAppID: Self.sdkAppID, scope: .device)
        default: nil
        }
    }

    func time(of localTime: String, in zone: String) async throws(GatewayUnavailable) -> UnixTime? {
        guard zone == "Europe/Berlin", let asUTC = CalendarTime(iso8601: localTime, assumingUTC: true) else {
            return nil
        }
        return UnixTime(seconds: asUTC.seconds - 7200)
    }

    func deviceTokens(
        of installations: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [String: PushToken] {
        tokens.filter { installations.contains($0.key) }
    }

    func activities(
        withTokens tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [PushToken: RegisteredActivity] {
        activities.filter { tokens.contains($0.key) }
    }

    func registeredTokens(
        among tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Set<PushToken> {
        Set(tokens).intersection(self.tokens.values)
    }

    func hasActivity(
        _ laID: String,
        for event: ActivityEvent,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Bool {
        running.contains(laID)
    }

    func application(_ sdkAppID: Int64) throws(GatewayUnavailable) -> Application? {
        sdkAppID == app.sdkAppID ? app : nil
    }

    func hasCertificate(businessID: Int64, in sdkAppID: Int64) -> Bool { true }

    func now() -> UnixTime { UnixTime(seconds: Self.time) }

    func review(_ order: PushOrder) async throws(GatewayUnavailable) -> ContentReview? {
        guard let schemas = app.contentSchemas, let content = order.activity?.content else { return nil }
        let phone = ContentReview.PhoneVersion(attributesType: "Ride", appVersion: nil)
        return ContentReview(content, for: [phone], by: schemas, now: Self.time)
    }

    func accept(_ order: PlannedOrder) async throws(GatewayUnavailable) -> Acceptance {
        throw GatewayUnavailable(.databaseRefused)
    }

    func accept(_ orders: [PlannedOrder]) async throws(GatewayUnavailable) -> [Acceptance] {
        if let unavailable { throw unavailable }
        planned += orders
        return orders.map { order in
            let message = AcceptedMessage(id: 1, acceptedAt: now())
            return Acceptance(message: message, messageKey: order.order.messageKey, isRepeat: false)
        }
    }

    func hasSegment(_ name: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> Bool {
        segments.contains(name)
    }

    func nickname(of account: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> String? { nil }

    func importAccounts(_ profiles: [AccountProfile], in sdkAppID: Int64) async throws(GatewayUnavailable) {}

    func importedAccounts(
        among accounts: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> AccountSet {
        []
    }

    func deleteAccounts(_ accounts: [String], in sdkAppID: Int64) async throws(GatewayUnavailable) -> AccountSet { [] }
}
