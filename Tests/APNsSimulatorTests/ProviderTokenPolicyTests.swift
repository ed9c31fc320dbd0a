import Testing

@testable import APNsSimulator

@Suite("ProviderTokenPolicy and keys", .timeLimit(.minutes(5)))
struct ProviderTokenPolicyTests {
    /// The answer to a push with that token, `seconds` after ``Fixture/issuedAt``, on the connection of `policy`.
    private func answer(
        _ token: String,
        seconds: Int64 = 0,
        keys: SigningKeyTable = SigningKeyTable(),
        policy: inout ProviderTokenPolicy,
    ) -> String? {
        let request = Fixture.request().with("authorization", "bearer " + token).later(seconds: seconds)
        return PushRequestCheckTests.answer(request, keys: keys, policy: &policy)
    }

    private func token(_ issuedAt: Int64, key: String = "ABC123DEFG", team: String = "DEF123GHIJ") -> String {
        Fixture.providerToken(
            header: #"{"alg":"ES256","kid":"\#(key)"}"#,
            claims: #"{"iss":"\#(team)","iat":\#(Fixture.issuedAt + issuedAt)}"#,
        )
    }

    @Test("another token sooner than 20 minutes is one too many, and the connection stays unusable until then")
    func tooManyUpdates() {
        var policy = ProviderTokenPolicy()
        #expect(answer(token(0), policy: &policy) == nil)
        #expect(answer(token(0), seconds: 1100, policy: &policy) == nil)
        #expect(answer(token(1199), seconds: 1199, policy: &policy) == "429 TooManyProviderTokenUpdates")
        #expect(answer(token(0), seconds: 1199, policy: &policy) == "429 TooManyProviderTokenUpdates")
        #expect(answer(token(1199), seconds: 1200, policy: &policy) == nil)
        #expect(answer(token(1201), seconds: 1201, policy: &policy) == "429 TooManyProviderTokenUpdates")
    }

    @Test("another token after 20 minutes is fine, and starts the time anew")
    func updateInTime() {
        var policy = ProviderTokenPolicy()
        #expect(answer(token(0), policy: &policy) == nil)
        #expect(answer(token(1200), seconds: 1200, policy: &policy) == nil)
        #expect(answer(token(2300), seconds: 2300, policy: &policy) == "429 TooManyProviderTokenUpdates")
    }

    @Test("after an expired token the connection refuses good ones too")
    func expiredSticks() {
        var policy = ProviderTokenPolicy()
        #expect(answer(token(-3601), policy: &policy) == "403 ExpiredProviderToken")
        #expect(answer(token(0), policy: &policy) == "403 ExpiredProviderToken")
        var another = ProviderTokenPolicy()
        #expect(answer(token(0), policy: &another) == nil)
    }

    @Test("one team and one key a connection")
    func oneTeam() {
        var policy = ProviderTokenPolicy()
        #expect(answer(token(0), policy: &policy) == nil)
        #expect(answer(token(0, team: "OTHERTEAM1"), policy: &policy) == "403 InvalidProviderToken")
        #expect(answer(token(0, key: "OTHERKEY12"), policy: &policy) == "403 UnrelatedKeyIdInToken")
        #expect(answer(token(0), policy: &policy) == nil)
    }

    // MARK: - Registered keys

    private func keys(
        keyID: String = "ABC123DEFG",
        teamID: String = "DEF123GHIJ",
        environment: APNsEnvironment? = nil,
        bundleIDs: Set<String>? = nil,
    ) throws -> SigningKeyTable {
        var keys = SigningKeyTable()
        let key = try #require(
            SigningKey(
                keyID: keyID,
                teamID: teamID,
                publicKey: Fixture.publicKey,
                environment: environment,
                bundleIDs: bundleIDs,
            )
        )
        let fits = keys.register(key)
        #expect(fits)
        return keys
    }

    private func answer(_ token: String, keys: SigningKeyTable) -> String? {
        var policy = ProviderTokenPolicy()
        return answer(token, keys: keys, policy: &policy)
    }

    @Test("with a registered key the signature decides")
    func signature() throws {
        let keys = try keys()
        #expect(answer(Fixture.signedToken, keys: keys) == nil)
        #expect(answer(token(0), keys: keys) == "403 InvalidProviderToken")
        #expect(answer(String(Fixture.signedToken.dropLast()) + "Q", keys: keys) == "403 InvalidProviderToken")
    }

    @Test("a registered key is good for its ID, team, environment and topics only")
    func boundKeys() throws {
        #expect(answer(Fixture.signedToken, keys: try keys(keyID: "OTHERKEY12")) == "403 InvalidProviderToken")
        #expect(answer(Fixture.signedToken, keys: try keys(teamID: "OTHERTEAM1")) == "403 InvalidProviderToken")
        #expect(answer(Fixture.signedToken, keys: try keys(environment: .production)) == nil)
        #expect(answer(Fixture.signedToken, keys: try keys(environment: .sandbox)) == "403 BadEnvironmentKeyInToken")
        #expect(answer(Fixture.signedToken, keys: try keys(bundleIDs: ["com.ex.app"])) == nil)
        #expect(answer(Fixture.signedToken, keys: try keys(bundleIDs: ["com.ex.other"])) == "400 TopicDisallowed")
    }

    @Test("only a public key of P-256 is a key", arguments: ["", "-----BEGIN PUBLIC KEY-----", Fixture.otherCurve])
    func notAKey(_ text: String) {
        #expect(SigningKey(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", publicKey: text) == nil)
    }
}
