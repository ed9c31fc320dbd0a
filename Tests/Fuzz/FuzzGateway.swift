import Gateway
import LiveActivity

/// A gateway that takes every message and forgets it.
final class FuzzGateway: PushwooshGateway {
    static let sdkAppID: Int64 = 1_400_000_000
    static let secretKey = Array("secret key of the fuzzed app".utf8)
    static let time: Int64 = 1_796_007_172
    static let query =
        "sdkappid=\(sdkAppID)&identifier=administrator&usersig="
        + UserSig.make(identifier: "administrator", sdkAppID: sdkAppID, secretKey: secretKey, now: time)

    private(set) var accepted: Int64 = 0

    func application(_ sdkAppID: Int64) -> Application? {
        var application = Application(
            sdkAppID: sdkAppID,
            secretKey: FuzzGateway.secretKey,
            administrators: ["administrator"],
        )
        application.allowsExtensions = true
        return application
    }

    func applicationCode(_ code: String) -> ApplicationCode? {
        ApplicationCode(code: code, sdkAppID: FuzzGateway.sdkAppID, businessID: 1)
    }

    func apiToken(_ token: String) -> APIToken? {
        APIToken(sdkAppID: FuzzGateway.sdkAppID, scope: .server)
    }

    func time(of localTime: String, in zone: String) async throws(GatewayUnavailable) -> UnixTime? { now() }

    func deviceTokens(
        of installations: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [String: PushToken] {
        [:]
    }

    func activities(
        withTokens tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [PushToken: RegisteredActivity] {
        [:]
    }

    func registeredTokens(
        among tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Set<PushToken> {
        []
    }

    func hasActivity(
        _ laID: String,
        for event: ActivityEvent,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Bool {
        false
    }

    func hasCertificate(businessID: Int64, in sdkAppID: Int64) -> Bool { true }

    func now() -> UnixTime { UnixTime(seconds: FuzzGateway.time) }

    func review(_ order: PushOrder) async throws(GatewayUnavailable) -> ContentReview? { nil }

    func accept(_ order: PlannedOrder) async throws(GatewayUnavailable) -> Acceptance {
        accepted += 1
        return Acceptance(
            message: AcceptedMessage(id: accepted, acceptedAt: now()),
            messageKey: order.order.messageKey,
            isRepeat: false,
        )
    }

    func accept(_ orders: [PlannedOrder]) async throws(GatewayUnavailable) -> [Acceptance] {
        var acceptances: [Acceptance] = []
        for order in orders {
            acceptances.append(try await accept(order))
        }
        return acceptances
    }

    func hasSegment(_ name: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> Bool { true }

    func nickname(of account: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> String? { nil }

    func importAccounts(_ profiles: [AccountProfile], in sdkAppID: Int64) async throws(GatewayUnavailable) {}

    func importedAccounts(
        among names: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> AccountSet {
        []
    }

    func deleteAccounts(_ names: [String], in sdkAppID: Int64) async throws(GatewayUnavailable) -> AccountSet {
        []
    }
}
