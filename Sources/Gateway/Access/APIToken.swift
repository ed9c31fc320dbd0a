import COpenSSL

/// An API token of Pushwoosh's API, as configured with `livepush app token`. What is stored is its digest: it is long and
/// random, so that nobody finds it by trying.
public struct APIToken: Sendable, Equatable {
    /// What a token is good for.
    public enum Scope: String, Sendable, CaseIterable {
        /// A backend's: it may send.
        case server
        /// A phone's: it may register, and nothing else, since everybody who has the app can read it there.
        case device
    }

    /// The app whose codes it opens.
    public var sdkAppID: Int64
    /// What it is good for.
    public var scope: Scope

    /// Makes a token.
    public init(sdkAppID: Int64, scope: Scope) {
        self.sdkAppID = sdkAppID
        self.scope = scope
    }

    /// What is stored of a token: the 32 bytes of its SHA-256.
    public static func digest(of token: String) -> [UInt8] {
        let bytes = Array(token.utf8)
        return [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            SHA256(bytes, bytes.count, digest.baseAddress)
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }
}
