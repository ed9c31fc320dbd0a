import Testing

@testable import APNsSimulator

@Suite("PushRequestCheck", .timeLimit(.minutes(5)))
struct PushRequestCheckTests {
    static func answer(
        _ request: PushRequest,
        keys: SigningKeyTable = SigningKeyTable(),
        tokens: TokenTable = TokenTable(),
    ) -> String? {
        var policy = ProviderTokenPolicy()
        return answer(request, keys: keys, tokens: tokens, policy: &policy)
    }

    static func answer(
        _ request: PushRequest,
        keys: SigningKeyTable = SigningKeyTable(),
        tokens: TokenTable = TokenTable(),
        policy: inout ProviderTokenPolicy,
    ) -> String? {
        let providerToken = Result<ProviderToken, Refusal> { () throws(Refusal) in
            try ProviderToken(authorization: request.header("authorization"))
        }
        do throws(Refusal) {
            let check = PushRequestCheck(keys: keys, tokens: tokens)
            _ = try check.check(request, providerToken: providerToken, connection: &policy)
            return nil
        } catch {
            return "\(error.status) \(error.reason)"
        }
    }

    @Test(
        "a request with one thing broken is answered with Apple's word",
        arguments: PushCase.requestLine + PushCase.headers
    )
    func headers(_ given: PushCase) {
        #expect(PushRequestCheckTests.answer(given.request()) == given.expected)
    }

    @Test("topic, push type and payload have to fit each other", arguments: PushCase.topics + PushCase.payloads)
    func contents(_ given: PushCase) {
        #expect(PushRequestCheckTests.answer(given.request()) == given.expected)
    }

    @Test("a provider token with one thing broken is refused", arguments: PushCase.providerTokens)
    func providerToken(_ given: PushCase) {
        #expect(PushRequestCheckTests.answer(given.request()) == given.expected)
    }

    // MARK: - Declared tokens

    @Test("C42: a sandbox token is bad in production")
    func sandboxToken() throws {
        let tokens = try declared(DeclaredToken(environments: [.sandbox]))
        #expect(PushRequestCheckTests.answer(Fixture.request(environment: .sandbox), tokens: tokens) == nil)
        #expect(PushRequestCheckTests.answer(Fixture.request(), tokens: tokens) == "400 BadDeviceToken")
    }

    @Test(
        "a token belongs to its topic",
        arguments: [
            ("com.ex.app", nil), ("com.ex.other", "400 DeviceTokenNotForTopic"),
            ("com.ex.app.push-type.liveactivity", "400 DeviceTokenNotForTopic"),
        ]
    )
    func tokenOfTopic(_ topic: String, _ expected: String?) throws {
        let tokens = try declared(DeclaredToken(environments: [.production], topic: topic))
        #expect(PushRequestCheckTests.answer(Fixture.request(), tokens: tokens) == expected)
    }

    private func declared(_ declaration: DeclaredToken) throws -> TokenTable {
        var tokens = TokenTable()
        let token = try #require(DeviceToken(Fixture.deviceToken))
        let fits = tokens.declare(token, declaration)
        #expect(fits)
        return tokens
    }
}
