import Gateway
import Glibc

/// Apps and certificates for tests of what phones ask; it takes no messages.
final class FakeGateway: MessageGateway {
    static let secretKey = Array("secret key of the test app".utf8)

    var rateLimiter: RateLimiter?
    /// False: a process that just began.
    var knowsApplications = true
    private let sdkAppID: Int64

    init(sdkAppID: Int64) {
        self.sdkAppID = sdkAppID
    }

    func application(_ sdkAppID: Int64) throws(GatewayUnavailable) -> Application? {
        guard knowsApplications else { throw GatewayUnavailable(.databaseAway) }
        guard sdkAppID == self.sdkAppID else { return nil }
        return Application(
            sdkAppID: sdkAppID,
            secretKey: FakeGateway.secretKey,
            administrators: ["administrator"],
            rateLimiter: rateLimiter,
        )
    }

    func hasCertificate(businessID: Int64, in sdkAppID: Int64) -> Bool {
        sdkAppID == self.sdkAppID && businessID == 5
    }

    func now() -> UnixTime {
        UnixTime(seconds: Int64(time(nil)))
    }

    func review(_ order: PushOrder) async throws(GatewayUnavailable) -> ContentReview? {
        throw GatewayUnavailable(.overloaded)
    }

    func accept(_ order: PlannedOrder) async throws(GatewayUnavailable) -> Acceptance {
        throw GatewayUnavailable(.overloaded)
    }

    func accept(_ orders: [PlannedOrder]) async throws(GatewayUnavailable) -> [Acceptance] {
        throw GatewayUnavailable(.overloaded)
    }

    func hasSegment(_ name: String, in sdkAppID: Int64) -> Bool { false }

    func nickname(of account: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> String? {
        throw GatewayUnavailable(.overloaded)
    }

    func importAccounts(_ profiles: [AccountProfile], in sdkAppID: Int64) async throws(GatewayUnavailable) {
        throw GatewayUnavailable(.overloaded)
    }

    func importedAccounts(
        among accounts: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> AccountSet {
        throw GatewayUnavailable(.overloaded)
    }

    func deleteAccounts(_ accounts: [String], in sdkAppID: Int64) async throws(GatewayUnavailable) -> AccountSet {
        throw GatewayUnavailable(.overloaded)
    }
}
