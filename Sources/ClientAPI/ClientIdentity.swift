import Gateway
import HTTPServer

/// For which account of which app a request acts.
struct ClientIdentity: Equatable {
    let sdkAppID: Int64
    let account: String
    /// Whether the UserSig is an administrator's.
    let isAdministrator: Bool

    /// Takes app and account from the UserSig in `Authorization`; an administrator may name another account in the
    /// query parameter `account`.
    init(_ request: HTTPRequest, query: ClientQuery, gateway: any MessageGateway) throws(ClientError) {
        guard let text = ClientIdentity.bearerToken(in: request.headers.first(named: "Authorization")) else {
            throw ClientError(.unauthorized, "the header Authorization must be Bearer, a blank, and a UserSig")
        }
        let signature = try ClientIdentity.attempt { () throws(UserSigError) in try UserSig(decoding: text) }
        let known: Application?
        do throws(GatewayUnavailable) {
            known = try gateway.application(signature.sdkAppID)
        } catch {
            throw ClientError(error)
        }
        guard let application = known else {
            throw ClientError(.unknownApp, "there is no app with the SDKAppID of this UserSig")
        }
        try ClientIdentity.attempt { () throws(UserSigError) in
            try signature.verify(secretKey: application.secretKey, now: gateway.now().seconds)
        }

        self.sdkAppID = signature.sdkAppID
        let account = query["account"] ?? signature.identifier
        self.account = try ClientError.refusing { () throws(RegistrationFault) in
            try RegistrationRules.account(account)
        }
        // Accounts are bytes; Swift's == would hold canonically equivalent ones for the same.
        func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
        self.isAdministrator = application.administrators.contains { isSame($0, signature.identifier) }
        guard isAdministrator || isSame(account, signature.identifier) else {
            throw ClientError(.forbidden, "only an administrator may act for another account", field: "account")
        }
        do throws(RateLimitExceeded) {
            try application.rateLimiter?.countClientRequest(of: account)
        } catch {
            throw ClientError(error)
        }
    }

    private static func attempt<Value>(_ body: () throws(UserSigError) -> Value) throws(ClientError) -> Value {
        do throws(UserSigError) {
            return try body()
        } catch {
            throw ClientError(error)
        }
    }

    /// The scheme is case-insensitive (RFC 9110, 11.1).
    private static func bearerToken(in header: String?) -> String? {
        guard let header else { return nil }
        let parts = header.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}
