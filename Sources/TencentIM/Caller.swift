import Gateway

/// The administrator who makes a server call, proven by the parameters in its URL.
struct Caller {
    /// The app that it acts for.
    let application: Application
    /// Its own account, the sender of messages that name none.
    let identifier: String

    /// Checks the parameters of a call. Their order is free; `random` may be anything, since clients send one number
    /// for ever, or none; a missing `contenttype` is let pass, since clients leave it out.
    ///
    /// - Parameters:
    ///   - parameters: the decoded query; nil if it is badly encoded. Of two with one name the first counts.
    ///   - application: looks up an app.
    ///   - signatures: the UserSigs known as good.
    ///   - now: seconds since 1970.
    init(
        parameters: [(name: String, value: String)]?,
        application: (Int64) throws(GatewayUnavailable) -> Application?,
        signatures: inout UserSigCache,
        now: Int64,
    ) throws(TencentError) {
        guard let parameters else {
            throw TencentError(.badParameter, "the query is badly encoded")
        }
        func parameter(_ name: String) -> String? {
            parameters.first { $0.name == name }?.value
        }
        guard let sdkAppIDText = parameter("sdkappid"), !sdkAppIDText.isEmpty else {
            throw TencentError(.sdkAppIDMissing, path: "sdkappid", "missing")
        }
        guard
            sdkAppIDText.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let sdkAppID = Int64(sdkAppIDText)
        else {
            throw TencentError(.badParameter, path: "sdkappid", "not an integer")
        }
        guard let identifier = parameter("identifier"), !identifier.isEmpty else {
            throw TencentError(.badParameter, path: "identifier", "missing")
        }
        guard let userSig = parameter("usersig") else {
            throw TencentError(.badParameter, path: "usersig", "missing")
        }
        guard (parameter("contenttype") ?? "json") == "json" else {
            throw TencentError(.badParameter, path: "contenttype", "must be json")
        }
        let known: Application?
        do throws(GatewayUnavailable) {
            known = try application(sdkAppID)
        } catch {
            throw TencentError(error)
        }
        guard let application = known else {
            throw TencentError(.unknownApplication, path: "sdkappid", "there is no such app")
        }
        do {
            try signatures.verify(
                userSig,
                identifier: identifier,
                sdkAppID: sdkAppID,
                secretKey: application.secretKey,
                now: now,
            )
        } catch {
            throw Caller.refusal(of: identifier, application, error)
        }
        // By bytes: Swift's `==` would take an account that only looks like an administrator for one.
        guard application.administrators.contains(where: { $0.utf8.elementsEqual(identifier.utf8) }) else {
            throw TencentError(.administratorRequired, path: "identifier", "not an administrator of this app")
        }
        self.application = application
        self.identifier = identifier
    }
}
