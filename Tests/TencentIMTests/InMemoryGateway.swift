import Gateway

/// A gateway that keeps what it is given. It stands in for the real one in tests of the dialect only.
final class InMemoryGateway: MessageGateway {
    static let sdkAppID: Int64 = 1_400_000_000
    static let secretKey = Array(String(repeating: "0123456789abcdef", count: 4).utf8)
    static let time: Int64 = 1_796_007_172

    /// Seconds since 1970.
    var seconds = InMemoryGateway.time

    var app = Application(
        sdkAppID: InMemoryGateway.sdkAppID,
        secretKey: InMemoryGateway.secretKey,
        administrators: ["administrator"],
    )
    var orders: [PushOrder] = []
    /// Those of them that came with a time, or count as pushes to all.
    var planned: [PlannedOrder] = []
    /// Segments with somebody in them.
    var segments: Set<String> = ["team", "vip", "london", "paris"]
    var profiles: [String: AccountProfile] = [:]
    var unavailable: GatewayUnavailable?
    /// What is registered for the activity, as far as a schema asks.
    var phones: [ContentReview.PhoneVersion] = []
    /// False: a process that just began.
    var knowsApplications = true
    private(set) var nicknameLookups = 0
    private var accepted: [RequestDigest: Acceptance] = [:]

    func application(_ sdkAppID: Int64) throws(GatewayUnavailable) -> Application? {
        guard knowsApplications else { throw GatewayUnavailable(.databaseAway) }
        return sdkAppID == app.sdkAppID ? app : nil
    }

    func hasCertificate(businessID: Int64, in sdkAppID: Int64) -> Bool {
        false
    }

    func now() -> UnixTime {
        UnixTime(seconds: seconds)
    }

    func review(_ order: PushOrder) async throws(GatewayUnavailable) -> ContentReview? {
        try checkAvailable()
        guard let schemas = app.contentSchemas, let content = order.activity?.content else { return nil }
        return ContentReview(content, for: phones, by: schemas, now: seconds)
    }

    func accept(_ order: PlannedOrder) async throws(GatewayUnavailable) -> Acceptance {
        try checkAvailable()
        if order.sendAt != nil || order.isPushToAll {
            planned.append(order)
        }
        let (order, digest) = (order.order, order.digest)
        if let digest, let first = accepted[digest] {
            return Acceptance(message: first.message, messageKey: first.messageKey, isRepeat: true)
        }
        orders.append(order)
        let message = AcceptedMessage(id: Int64(orders.count), acceptedAt: now())
        let acceptance = Acceptance(message: message, messageKey: order.messageKey, isRepeat: false)
        if let digest {
            accepted[digest] = acceptance
        }
        return acceptance
    }

    func accept(_ orders: [PlannedOrder]) async throws(GatewayUnavailable) -> [Acceptance] {
        var acceptances: [Acceptance] = []
        for order in orders {
            acceptances.append(try await accept(order))
        }
        return acceptances
    }

    func hasSegment(_ name: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> Bool {
        try checkAvailable()
        return segments.contains(name)
    }

    func nickname(of account: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> String? {
        try checkAvailable()
        nicknameLookups += 1
        return profiles[account]?.nickname
    }

    func importAccounts(_ profiles: [AccountProfile], in sdkAppID: Int64) async throws(GatewayUnavailable) {
        try checkAvailable()
        for profile in profiles {
            self.profiles[profile.account] = profile
        }
    }

    func importedAccounts(
        among accounts: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> AccountSet {
        try checkAvailable()
        return imported(accounts)
    }

    func deleteAccounts(_ accounts: [String], in sdkAppID: Int64) async throws(GatewayUnavailable) -> AccountSet {
        try checkAvailable()
        let deleted = imported(accounts)
        for account in profiles.keys where deleted.contains(account) {
            profiles[account] = nil
        }
        return deleted
    }

    private func imported(_ accounts: [String]) -> AccountSet {
        let known = AccountSet(profiles.keys)
        return AccountSet(accounts.filter(known.contains))
    }

    private func checkAvailable() throws(GatewayUnavailable) {
        if let unavailable { throw unavailable }
    }
}
