import COpenSSL

/// HMAC-SHA256 (RFC 2104), the signature inside a UserSig.
enum UserSigHMAC {
    /// The 32 bytes for `text` under `key`.
    static func sign(_ text: [UInt8], key: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        var count: UInt32 = 0
        let result = HMAC(EVP_sha256(), key, Int32(clamping: key.count), text, text.count, &digest, &count)
        precondition(result != nil, "HMAC fails only without memory")
        return digest
    }

    /// Compares in a time that does not depend on where the first difference is.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
