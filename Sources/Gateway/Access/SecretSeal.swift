import COpenSSL

/// A key that seals secrets at rest: 32 bytes, never shown.
public struct MasterKey: Sendable, Equatable {
    fileprivate let bytes: [UInt8]

    /// - Parameters:
    ///   - base64: 32 bytes in base64 as `openssl rand -base64 32` prints them.
    ///   - variable: the environment variable it came in, for the error.
    public init(base64: String, variable: StaticString = "LIVEPUSH_MASTER_KEY") throws(SecretSealError) {
        let text = base64.utf8.filter { !($0 == 0x20 || (0x09...0x0D).contains($0)) }
        guard text.count == 44 else { throw .masterKey(variable: "\(variable)") }
        var bytes = [UInt8](repeating: 0, count: 33)
        // OpenSSL takes padding anywhere for zeros: it may only be the last byte.
        guard text.firstIndex(of: UInt8(ascii: "=")) == 43, EVP_DecodeBlock(&bytes, Array(text), 44) == 33 else {
            throw .masterKey(variable: "\(variable)")
        }
        self.bytes = Array(bytes.prefix(32))
    }
}

/// Names no byte of the key.
extension MasterKey: CustomStringConvertible, CustomReflectable {
    /// The type, without the key.
    public var description: String { "master key" }

    /// Has no children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Seals secrets at rest with AES-256-GCM under the master key, and opens also what a former one sealed.
///
/// A sealed secret is one byte of version (1), 12 bytes of nonce, the ciphertext, 16 bytes of tag. What the secret
/// belongs to is authenticated with it, so that a row's secret cannot be moved to another row unnoticed.
public struct SecretSeal: Sendable {
    private static let version: UInt8 = 1
    private static let nonceBytes = 12
    private static let tagBytes = 16

    private let masterKey: MasterKey
    private let previousKey: MasterKey?

    /// - Parameters:
    ///   - masterKey: seals and opens.
    ///   - previous: only opens; given while the secrets are being sealed anew.
    public init(masterKey: MasterKey, previous: MasterKey? = nil) {
        self.masterKey = masterKey
        self.previousKey = previous
    }

    /// Seals `secret` for `owner`, such as `app/1400000000`.
    public func seal(_ secret: [UInt8], for owner: String) throws(SecretSealError) -> [UInt8] {
        var nonce = [UInt8](repeating: 0, count: SecretSeal.nonceBytes)
        guard RAND_bytes(&nonce, Int32(nonce.count)) == 1, let context = EVP_CIPHER_CTX_new() else { throw .cipher }
        defer { EVP_CIPHER_CTX_free(context) }
        var sealed = [UInt8](repeating: 0, count: secret.count)
        var tag = [UInt8](repeating: 0, count: SecretSeal.tagBytes)
        var count: Int32 = 0
        let owner = Array(owner.utf8)
        guard EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, masterKey.bytes, nonce) == 1,
            EVP_EncryptUpdate(context, nil, &count, owner, Int32(owner.count)) == 1,
            EVP_EncryptUpdate(context, &sealed, &count, secret, Int32(secret.count)) == 1,
            EVP_EncryptFinal_ex(context, nil, &count) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        else { throw .cipher }
        return [SecretSeal.version] + nonce + sealed + tag
    }

    /// Opens what ``seal(_:for:)`` made for the same owner under either key.
    public func open(_ sealed: [UInt8], for owner: String) throws(SecretSealError) -> [UInt8] {
        do throws(SecretSealError) {
            return try SecretSeal.open(sealed, for: owner, under: masterKey)
        } catch .sealed {
            guard let previousKey else { throw .sealed }
            return try SecretSeal.open(sealed, for: owner, under: previousKey)
        }
    }

    /// Seals under the master key what the previous one sealed.
    ///
    /// - Returns: nil where the master key opens it already.
    public func resealed(_ sealed: [UInt8], for owner: String) throws(SecretSealError) -> [UInt8]? {
        do throws(SecretSealError) {
            _ = try SecretSeal.open(sealed, for: owner, under: masterKey)
            return nil
        } catch .sealed {
            return try seal(try open(sealed, for: owner), for: owner)
        }
    }

    private static func open(
        _ sealed: [UInt8],
        for owner: String,
        under key: MasterKey,
    ) throws(SecretSealError) -> [UInt8] {
        let overhead = 1 + SecretSeal.nonceBytes + SecretSeal.tagBytes
        guard sealed.count >= overhead, sealed[0] == SecretSeal.version else { throw .sealed }
        guard let context = EVP_CIPHER_CTX_new() else { throw .cipher }
        defer { EVP_CIPHER_CTX_free(context) }
        let nonce = Array(sealed[1...SecretSeal.nonceBytes])
        let body = Array(sealed[(1 + SecretSeal.nonceBytes)..<(sealed.count - SecretSeal.tagBytes)])
        var tag = Array(sealed.suffix(SecretSeal.tagBytes))
        var secret = [UInt8](repeating: 0, count: body.count)
        var count: Int32 = 0
        let owner = Array(owner.utf8)
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce) == 1,
            EVP_DecryptUpdate(context, nil, &count, owner, Int32(owner.count)) == 1,
            EVP_DecryptUpdate(context, &secret, &count, body, Int32(body.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
        else { throw .cipher }
        guard EVP_DecryptFinal_ex(context, nil, &count) == 1 else { throw .sealed }
        return secret
    }
}

/// Why a secret could not be sealed or opened. Holds no byte of it.
public enum SecretSealError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text in this environment variable is no key.
    case masterKey(variable: String)
    /// It was sealed under another key or for another owner, or it is damaged.
    case sealed
    /// OpenSSL failed.
    case cipher

    /// What is wrong, naming the variable.
    public var description: String {
        switch self {
        case .masterKey(let variable):
            "\(variable): expected 32 bytes in base64 (make one with: openssl rand -base64 32)"
        case .sealed: "LIVEPUSH_MASTER_KEY: does not open the secrets in this database; they were sealed with another"
        case .cipher: "OpenSSL failed"
        }
    }
}
