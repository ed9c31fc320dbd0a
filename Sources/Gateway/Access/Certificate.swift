public import APNs
import LiveActivity

/// A signing key with the bundle and the environments it is for: what a businessId means.
public struct Certificate: Sendable, Equatable {
    /// The environments that tokens registered with this certificate can belong to.
    public enum Scope: String, Sendable {
        case sandbox
        case production
        case both

        func covers(_ environment: APNsEnvironment) -> Bool {
            switch self {
            case .both: true
            case .sandbox: environment == .sandbox
            case .production: environment == .production
            }
        }
    }

    /// The number that phones register with.
    public let businessID: Int64
    /// Bundle id of the iOS app.
    public let bundleID: String
    /// The `apns-topic` of the app's Live Activities, made once rather than for each push.
    let liveActivityTopic: String
    /// The `.p8` key.
    public let key: APNsSigningKey
    /// The environments of its tokens.
    public let scope: Scope

    /// Makes a certificate.
    public init(businessID: Int64, bundleID: String, key: APNsSigningKey, scope: Scope) {
        self.businessID = businessID
        self.bundleID = bundleID
        self.liveActivityTopic = PushTopic.liveActivity(bundleID: bundleID)
        self.key = key
        self.scope = scope
    }

    func covers(_ environment: APNsEnvironment) -> Bool { scope.covers(environment) }
}

/// Where one attempt goes: an environment and the certificate that signs for it.
public struct PushDestination: Sendable, Equatable {
    /// Signs the provider token and names the bundle.
    public let certificate: Certificate
    /// The APNs environment.
    public let environment: APNsEnvironment

    /// The destinations to try for a token, best first, at most one for each environment.
    ///
    /// - Parameters:
    ///   - businessID: the certificate that the token was registered with.
    ///   - known: the environment that the phone named or in which a push was accepted.
    ///   - certificates: all of the app, by businessId.
    /// - Returns: empty if the certificate was removed.
    static func candidates(
        businessID: Int64,
        known: APNsEnvironment?,
        in certificates: [Int64: Certificate],
    ) -> [PushDestination] {
        guard let own = certificates[businessID] else { return [] }
        let preferred = known ?? (own.covers(.production) ? .production : .sandbox)
        return [preferred, preferred.other].compactMap { environment in
            let certificate = own.covers(environment) ? own : sibling(of: own, for: environment, in: certificates)
            return certificate.map { PushDestination(certificate: $0, environment: environment) }
        }
    }

    private static func sibling(
        of own: Certificate,
        for environment: APNsEnvironment,
        in certificates: [Int64: Certificate],
    ) -> Certificate? {
        certificates.values
            .filter { $0.bundleID == own.bundleID && $0.covers(environment) }
            .min { $0.businessID < $1.businessID }
    }
}

extension APNsEnvironment {
    var other: APNsEnvironment { self == .production ? .sandbox : .production }
}
