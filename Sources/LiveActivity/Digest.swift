import COpenSSL

/// Digests by OpenSSL.
enum Digest {
    /// Found once: OpenSSL 3 would look for it again at every call by name. Never freed, and safe to use from any thread.
    private static let sha256Method = Method(EVP_MD_fetch(nil, "SHA256", nil))

    /// Sendable without the compiler's proof: OpenSSL does not change a method after it was fetched.
    private struct Method: @unchecked Sendable {
        let pointer: OpaquePointer?

        init(_ pointer: OpaquePointer?) {
            self.pointer = pointer
        }
    }

    /// The 32 bytes of the SHA-256 (FIPS 180-4).
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            if EVP_Digest(bytes, bytes.count, digest.baseAddress, nil, sha256Method.pointer, nil) != 1 {
                SHA256(bytes, bytes.count, digest.baseAddress)
            }
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }

    /// The SHA-256 of several parts, each with its length before it, so that no two lists of parts share one text.
    static func sha256(parts: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + $1.utf8.count + 6 })
        for part in parts {
            bytes.append(contentsOf: String(part.utf8.count).utf8)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: part.utf8)
            bytes.append(UInt8(ascii: ","))
        }
        return sha256(bytes)
    }
}
