import COpenSSL

/// A P-256 private key of OpenSSL.
///
/// Sendable: `key` is set once, OpenSSL only reads it, and `deinit` runs when no other reference is left.
final class PrivateKey: @unchecked Sendable, Equatable {
    /// PKCS#8 in PEM.
    let canonicalPEM: [UInt8]
    /// The first 16 bytes of the SHA-256 of the public key (SubjectPublicKeyInfo in DER), in hexadecimal.
    let publicKeyFingerprint: String

    private let key: OpaquePointer

    init(text: [UInt8]) throws(APNsSigningKeyError) {
        let der = try PrivateKey.der(in: text)
        defer { ERR_clear_error() }
        guard let parsed = PrivateKey.parse(der) else {
            throw PrivateKey.isCertificate(der) ? .certificate : .notPKCS8
        }
        guard
            PrivateKey.isP256(parsed), let pem = PrivateKey.pem(of: parsed),
            let fingerprint = PrivateKey.publicKeyFingerprint(of: parsed)
        else {
            let isRSA = EVP_PKEY_get_base_id(parsed) == EVP_PKEY_RSA
            EVP_PKEY_free(parsed)
            throw isRSA ? .rsa : .notP256
        }
        self.key = parsed
        self.canonicalPEM = pem
        self.publicKeyFingerprint = fingerprint
    }

    deinit {
        EVP_PKEY_free(key)
    }

    static func == (left: PrivateKey, right: PrivateKey) -> Bool {
        left === right || left.canonicalPEM == right.canonicalPEM
    }

    // MARK: - Signing

    /// Signs with ECDSA over SHA-256.
    ///
    /// - Returns: r and s, 32 bytes each, as JSON Web Signatures want it (RFC 7518, 3.4), not OpenSSL's DER.
    func signature(of message: [UInt8]) throws(ProviderTokenError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .notSigned }
        defer { EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = der.count
        guard
            EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &der, &count, message, message.count) == 1
        else { throw .notSigned }
        let parsed = der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &cursor, count)
        }
        guard let parsed else { throw .notSigned }
        defer { ECDSA_SIG_free(parsed) }
        // Padded: either number may begin with zero bytes, which DER leaves out.
        var raw = [UInt8](repeating: 0, count: 64)
        let isWhole = raw.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(parsed), start, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(parsed), start + 32, 32) == 32
        }
        guard isWhole else { throw .notSigned }
        return raw
    }

    /// Whether a signature, r and s of 32 bytes each, is this key's of the message.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == 64, let parsed = ECDSA_SIG_new() else { return false }
        defer { ECDSA_SIG_free(parsed) }
        let (r, s) = (BN_bin2bn(Array(signature.prefix(32)), 32, nil), BN_bin2bn(Array(signature.suffix(32)), 32, nil))
        guard ECDSA_SIG_set0(parsed, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return false
        }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: 80)
        let count = der.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return i2d_ECDSA_SIG(parsed, &cursor)
        }
        return count > 0 && EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, Int(count), message, message.count) == 1
    }

    // MARK: - Text

    private static func der(in text: [UInt8]) throws(APNsSigningKeyError) -> [UInt8] {
        // A DER file begins with the tag of a SEQUENCE, and base64 text never has bytes beyond ASCII.
        if text.first == 0x30, text.contains(where: { $0 >= 0x80 }) { return text }

        var scalars = String(decoding: text, as: UTF8.self)
        // An environment variable often holds the two characters \ and n for each line end.
        scalars = scalars.split(separator: "\\n").joined(separator: " ").split(separator: "\\r").joined(separator: " ")
        var body = String(
            String.UnicodeScalarView(scalars.unicodeScalars.filter { !$0.properties.isWhitespace && $0 != "\u{FEFF}" })
        )
        guard !body.isEmpty else { throw .empty }
        if let begin = body.firstRange(of: "-----BEGIN") {
            body = String(body[begin.upperBound...])
            guard let labelEnd = body.firstRange(of: "-----") else { throw .notPKCS8 }
            switch body[..<labelEnd.lowerBound] {
            case "PRIVATEKEY": break
            case "CERTIFICATE", "TRUSTEDCERTIFICATE": throw .certificate
            case "PUBLICKEY": throw .publicKey
            case "ENCRYPTEDPRIVATEKEY": throw .encrypted
            case "RSAPRIVATEKEY": throw .rsa
            default: throw .notPKCS8
            }
            guard let end = body.firstRange(of: "-----ENDPRIVATEKEY-----") else { throw .notPKCS8 }
            guard labelEnd.upperBound <= end.lowerBound else { throw .notPKCS8 }
            body = String(body[labelEnd.upperBound..<end.lowerBound])
        }
        guard let der = decodeBase64(Array(body.utf8)) else { throw .notPKCS8 }
        return der
    }

    private static func decodeBase64(_ text: [UInt8]) -> [UInt8]? {
        guard !text.isEmpty, text.count % 4 == 0, text.count <= 16_384 else { return nil }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        let count = EVP_DecodeBlock(&bytes, text, Int32(text.count))
        let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
        guard count >= 0, Int(count) >= padding else { return nil }
        return Array(bytes.prefix(Int(count) - padding))
    }

    // MARK: - OpenSSL

    private static func parse(_ der: [UInt8]) -> OpaquePointer? {
        der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            guard let info = d2i_PKCS8_PRIV_KEY_INFO(nil, &cursor, buffer.count) else { return nil }
            defer { PKCS8_PRIV_KEY_INFO_free(info) }
            return EVP_PKCS82PKEY(info)
        }
    }

    private static func isCertificate(_ der: [UInt8]) -> Bool {
        der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            guard let certificate = d2i_X509(nil, &cursor, buffer.count) else { return false }
            X509_free(certificate)
            return true
        }
    }

    private static func isP256(_ key: OpaquePointer) -> Bool {
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return false }
        var name = [UInt8](repeating: 0, count: 64)
        var length = 0
        let isNamed = name.withUnsafeMutableBytes { buffer in
            EVP_PKEY_get_group_name(key, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count, &length)
                == 1
        }
        return isNamed && String(decoding: name.prefix(length), as: UTF8.self) == "prime256v1"
    }

    private static func pem(of key: OpaquePointer) -> [UInt8]? {
        guard let memory = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(memory) }
        guard PEM_write_bio_PKCS8PrivateKey(memory, key, nil, nil, 0, nil, nil) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = BIO_read(memory, &bytes, Int32(bytes.count))
        guard count > 0 else { return nil }
        return Array(bytes.prefix(Int(count)))
    }

    private static func publicKeyFingerprint(of key: OpaquePointer) -> String? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &encoded)
        guard count > 0, let encoded else { return nil }
        defer { CRYPTO_free(encoded, #file, #line) }
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(encoded, Int(count), &digest)
        let digits = Array("0123456789abcdef".utf8)
        let text = digest.prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
