import APNs
import Testing

@testable import Gateway

@Suite("The place of a channel", .timeLimit(.minutes(5)))
struct ChannelTargetTests {
    private func target(
        _ scope: Certificate.Scope,
        _ environment: APNsEnvironment?,
        businessID: Int64 = 1,
    ) throws -> Result<APNsEnvironment, RegistrationFault> {
        let certificate = Certificate(
            businessID: 1,
            bundleID: "com.ex.app",
            key: try Fixture.key(),
            scope: scope
        )
        let order = ChannelOrder(
            sdkAppID: 1,
            businessID: businessID,
            environment: environment,
            requestedBy: "administrator",
            operation: .list,
        )
        return Result { () throws(RegistrationFault) in try ChannelTarget(of: order, in: [1: certificate]).environment }
    }

    @Test(
        "the environment is the certificate's, or the one that is named of two",
        arguments: [
            (.sandbox, nil, .sandbox), (.production, nil, .production), (.sandbox, .sandbox, .sandbox),
            (.both, .sandbox, .sandbox), (.both, .production, .production),
        ] as [(Certificate.Scope, APNsEnvironment?, APNsEnvironment)]
    )
    func environments(_ scope: Certificate.Scope, _ named: APNsEnvironment?, _ expected: APNsEnvironment) throws {
        #expect(try target(scope, named).get() == expected)
    }

    @Test("one that has to be named, or that the certificate is not for, is a fault of the environment")
    func faults() throws {
        func fault(_ result: Result<APNsEnvironment, RegistrationFault>) -> RegistrationFault? {
            guard case .failure(let fault) = result else { return nil }
            return fault
        }
        let missing = try #require(fault(target(.both, nil)))
        #expect(missing.kind == .missing && missing.field == "environment")
        let other = try #require(fault(target(.sandbox, .production)))
        #expect(other.kind == .invalidValue && other.field == "environment")
        let unknown = try #require(fault(target(.sandbox, nil, businessID: 2)))
        #expect(unknown.kind == .unknownBusinessID && unknown.field == "businessId")
    }
}
