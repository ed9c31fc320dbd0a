/// A provider token that a client needs: for its first push with a key, or in place of one that gets old.
public struct ProviderTokenRequest: Sendable {
    /// The token that this process has already.
    public struct Known: Sendable, Equatable {
        /// Its `iat`, Unix seconds.
        public let issuedAt: Int64
        /// Its age by this process's monotonic clock, which no clock step changes.
        public let age: Duration
        /// Whether APNs called it expired.
        public let wasRefused: Bool

        /// Makes one.
        public init(issuedAt: Int64, age: Duration, wasRefused: Bool = false) {
            self.issuedAt = issuedAt
            self.age = age
            self.wasRefused = wasRefused
        }
    }

    /// Signs the token.
    public let key: APNsSigningKey
    /// Where it is used: each environment has a token of its own.
    public let environment: APNsEnvironment
    /// nil where the process has none.
    public let known: Known?

    /// Makes a request.
    public init(key: APNsSigningKey, environment: APNsEnvironment, known: Known? = nil) {
        self.key = key
        self.environment = environment
        self.known = known
    }
}

/// A provider token with its age.
public struct IssuedProviderToken: Sendable, Equatable {
    /// The JSON Web Token. A secret for an hour.
    public let text: String
    /// Its `iat`, Unix seconds.
    public let issuedAt: Int64
    /// How old it is.
    public let age: Duration

    /// Makes one.
    public init(text: String, issuedAt: Int64, age: Duration) {
        self.text = text
        self.issuedAt = issuedAt
        self.age = age
    }
}

/// Tells of the age, never of the token.
extension IssuedProviderToken: CustomStringConvertible, CustomReflectable {
    /// The age.
    public var description: String { "provider token, \(age.components.seconds) s old" }

    /// Has no children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Gets the token that all senders of a fleet use, or makes it. Called on the client's loop, as is the completion, which
/// must be called once.
public typealias ProviderTokenSource = (
    _ request: ProviderTokenRequest,
    _ completion: @escaping (Result<IssuedProviderToken, ProviderTokenError>) -> Void
) -> Void

/// Why there is no provider token. Holds no key.
public enum ProviderTokenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// OpenSSL could not sign.
    case notSigned
    /// The place where tokens are shared cannot be used now; to be tried again. With the cause, in words.
    case unavailable(String)

    /// What failed.
    public var description: String {
        switch self {
        case .notSigned: "the provider token could not be signed"
        case .unavailable(let cause): "the shared provider token is out of reach: \(cause)"
        }
    }
}
