import COpenSSL

/// Digests by OpenSSL.
enum Digest {
    /// The 32 bytes of the SHA-256 (FIPS 180-4).
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            SHA256(bytes, bytes.count, digest.baseAddress)
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }

    /// The SHA-256 of several parts, each with its length before it, so that no two lists of parts share one text.
    static func sha256(parts: [String]) -> [UInt8] {
        Self.sha256(parts.flatMap { Array("\($0.utf8.count):\($0),".utf8) })
    }
}
