import APNs
import Testing

@testable import Gateway

@Suite("Where a token is tried", .timeLimit(.minutes(5)))
struct PushDestinationTests {
    private static func candidates(
        _ certificates: [Certificate],
        businessID: Int64 = 1,
        known: APNsEnvironment? = nil,
    ) -> [String] {
        PushDestination.candidates(
            businessID: businessID,
            known: known,
            in: Dictionary(uniqueKeysWithValues: certificates.map { ($0.businessID, $0) }),
        ).map { "\($0.environment.rawValue) by \($0.certificate.businessID)" }
    }

    @Test(
        "a certificate for both tries what is known first, else production",
        arguments: [
            (nil, ["production by 1", "sandbox by 1"]), (.production, ["production by 1", "sandbox by 1"]),
            (.sandbox, ["sandbox by 1", "production by 1"]),
        ] as [(APNsEnvironment?, [String])],
    )
    func both(known: APNsEnvironment?, expected: [String]) throws {
        #expect(try Self.candidates([Fixture.certificate()], known: known) == expected)
    }

    @Test(
        "a certificate for one environment has no second try",
        arguments: [(Certificate.Scope.sandbox, "sandbox by 1"), (.production, "production by 1")],
    )
    func one(scope: Certificate.Scope, expected: String) throws {
        #expect(try Self.candidates([Fixture.certificate(1, scope)]) == [expected])
    }

    @Test("the other environment is that of another certificate of the bundle, the one with the lowest number")
    func sibling() throws {
        let certificates = try [
            Fixture.certificate(1, .sandbox), Fixture.certificate(4, .production), Fixture.certificate(3, .production),
            Fixture.certificate(2, .production, bundleID: "com.example.other"),
        ]
        #expect(Self.candidates(certificates) == ["sandbox by 1", "production by 3"])
        #expect(Self.candidates(certificates, known: .production) == ["production by 3", "sandbox by 1"])
    }

    @Test("an environment known to the phone but to no certificate leaves the certificate's own")
    func knownWithoutCertificate() throws {
        #expect(try Self.candidates([Fixture.certificate(1, .production)], known: .sandbox) == ["production by 1"])
    }

    @Test("a certificate that was removed leaves nothing, even if the bundle has another")
    func removed() throws {
        #expect(try Self.candidates([Fixture.certificate(2)], businessID: 1) == [])
    }
}
