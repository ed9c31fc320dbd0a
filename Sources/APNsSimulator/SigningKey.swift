import COpenSSL

/// The public half of a key that signs provider tokens, with what it is good for.
final class SigningKey {
    let keyID: String
    let teamID: String
    /// nil for a key that works in both environments, as keys made before 2025 do.
    let environment: APNsEnvironment?
    /// The bundle IDs of a topic-specific key; nil for all topics of the team.
    let bundleIDs: Set<String>?
    private let key: OpaquePointer

    /// - Parameter publicKey: a PEM `PUBLIC KEY` of the curve P-256.
    /// - Returns: nil for any other text.
    init?(
        keyID: String,
        teamID: String,
        publicKey: String,
        environment: APNsEnvironment? = nil,
        bundleIDs: Set<String>? = nil,
    ) {
        let text = Array(publicKey.utf8)
        guard let length = Int32(exactly: text.count), let source = BIO_new_mem_buf(text, length) else { return nil }
        defer { BIO_free(source) }
        guard let key = PEM_read_bio_PUBKEY(source, nil, nil, nil) else {
            ERR_clear_error()
            return nil
        }
        guard EVP_PKEY_is_a(key, "EC") == 1, SigningKey.groupName(of: key) == "prime256v1" else {
            EVP_PKEY_free(key)
            return nil
        }
        self.keyID = keyID
        self.teamID = teamID
        self.environment = environment
        self.bundleIDs = bundleIDs
        self.key = key
    }

    deinit {
        EVP_PKEY_free(key)
    }

    private static func groupName(of key: OpaquePointer) -> String {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return "" }
        return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether `signature`, r and s of 32 bytes each, is this key's ES256 signature of `text` (RFC 7518 section 3.4).
    func verifies(_ signature: [UInt8], of text: Substring) -> Bool {
        guard let encoded = SigningKey.derSignature(signature), let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        let message = Array(text.utf8)
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
    }

    private static func derSignature(_ signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64, let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let r = BN_bin2bn(Array(signature[..<32]), 32, nil)
        let s = BN_bin2bn(Array(signature[32...]), 32, nil)
        guard let r, let s, ECDSA_SIG_set0(pair, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        let length = Int(i2d_ECDSA_SIG(pair, nil))
        guard length > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            var end = buffer.baseAddress
            count = max(0, Int(i2d_ECDSA_SIG(pair, &end)))
        }
    }
}
