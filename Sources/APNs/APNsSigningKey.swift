import COpenSSL

/// An APNs signing key: a P-256 private key (`AuthKey_<KEYID>.p8`) with the ids that Apple gave it.
///
/// Sendable without copies: the OpenSSL key is never changed after `init`, and OpenSSL's reference counts are atomic.
public struct APNsSigningKey: Sendable, Hashable, CustomStringConvertible {
    /// Team id, 10 characters.
    public let teamID: String
    /// Key id, 10 characters.
    public let keyID: String

    let privateKey: PrivateKey

    /// Parses the text of a `.p8` file as people really paste it: with CRLF, with a literal `\n` from an environment
    /// variable, as one line, without header, with blanks or a byte order mark around it.
    ///
    /// - Parameters:
    ///   - text: PKCS#8, PEM or its bare base64.
    ///   - teamID: 10 characters of `A-Z0-9`.
    ///   - keyID: 10 characters of `A-Z0-9`.
    public init(privateKey text: [UInt8], teamID: String, keyID: String) throws(APNsSigningKeyError) {
        guard APNsSigningKey.isIdentifier(teamID) else { throw .teamID }
        guard APNsSigningKey.isIdentifier(keyID) else { throw .keyID }
        self.teamID = teamID
        self.keyID = keyID
        self.privateKey = try PrivateKey(text: text)
    }

    /// The key as PKCS#8 PEM, for storage. Never log it.
    public var canonicalPEM: [UInt8] { privateKey.canonicalPEM }

    public var description: String { "APNs key \(keyID) of team \(teamID)" }

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }
}

/// What is wrong with a signing key. The text names the field and never holds key bytes.
public enum APNsSigningKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    case teamID
    case keyID
    case empty
    case certificate
    case encrypted
    case notPKCS8
    case notP256

    public var description: String {
        switch self {
        case .teamID: "team id: expected 10 characters of A-Z and 0-9"
        case .keyID: "key id: expected 10 characters of A-Z and 0-9"
        case .empty: "key file: empty"
        case .certificate: "key file: a certificate, not the .p8 private key"
        case .encrypted: "key file: protected by a password; APNs keys are not"
        case .notPKCS8: "key file: not a PKCS#8 private key (BEGIN PRIVATE KEY)"
        case .notP256: "key file: not a P-256 (ES256) key; an RSA key or another curve cannot sign for APNs"
        }
    }
}

/// The OpenSSL key.
///
/// Sendable: `key` is set once, OpenSSL reads it only, and `deinit` runs when no other reference is left.
final class PrivateKey: @unchecked Sendable, Hashable {
    let key: OpaquePointer
    let canonicalPEM: [UInt8]

    init(text: [UInt8]) throws(APNsSigningKeyError) {
        let der = try PrivateKey.decode(text)
        let parsed = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let info = d2i_PKCS8_PRIV_KEY_INFO(nil, &cursor, buffer.count) else { return nil }
            defer { PKCS8_PRIV_KEY_INFO_free(info) }
            return EVP_PKCS82PKEY(info)
        }
        ERR_clear_error()
        guard let parsed else { throw .notPKCS8 }
        guard PrivateKey.isP256(parsed) else {
            EVP_PKEY_free(parsed)
            throw .notP256
        }
        guard let pem = PrivateKey.pem(of: parsed) else {
            EVP_PKEY_free(parsed)
            throw .notPKCS8
        }
        self.key = parsed
        self.canonicalPEM = pem
    }

    deinit {
        EVP_PKEY_free(key)
    }

    static func == (left: PrivateKey, right: PrivateKey) -> Bool {
        left === right || left.canonicalPEM == right.canonicalPEM
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(canonicalPEM)
    }

    // MARK: - Text

    private static func decode(_ text: [UInt8]) throws(APNsSigningKeyError) -> [UInt8] {
        var text = String(decoding: text, as: UTF8.self)
        if text.hasPrefix("\u{FEFF}") {
            text.removeFirst()
        }
        // An environment variable often holds the two characters \ and n for each line end.
        var lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }.map(String.init)
        lines = lines.flatMap { splitAtLiteralLineEnds($0) }
        let trimmed = lines.joined(separator: " ").split(separator: " ", omittingEmptySubsequences: true)
        var body = trimmed.joined(separator: " ")
        guard !body.isEmpty else { throw .empty }
        if body.contains("BEGIN CERTIFICATE") { throw .certificate }
        if body.contains("BEGIN ENCRYPTED") { throw .encrypted }
        if body.contains("-----BEGIN") {
            guard !body.contains("BEGIN RSA") else { throw .notP256 }
            guard let begin = body.firstRange(of: "-----BEGIN PRIVATE KEY-----"),
                let end = body.firstRange(of: "-----END PRIVATE KEY-----"), begin.upperBound <= end.lowerBound
            else { throw .notPKCS8 }
            body = String(body[begin.upperBound..<end.lowerBound])
        }
        let base64 = body.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard let der = decodeBase64(base64) else { throw .notPKCS8 }
        return der
    }

    private static func splitAtLiteralLineEnds(_ line: String) -> [String] {
        line.split(separator: "\\n", omittingEmptySubsequences: false).map(String.init)
    }

    private static func decodeBase64(_ text: [UInt8]) -> [UInt8]? {
        guard !text.isEmpty, text.count % 4 == 0, text.count <= 16_384 else { return nil }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        let count = EVP_DecodeBlock(&bytes, text, Int32(text.count))
        let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
        guard count >= 0, Int(count) >= padding else { return nil }
        return Array(bytes.prefix(Int(count) - padding))
    }

    private static func isP256(_ key: OpaquePointer) -> Bool {
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return false }
        return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) == "prime256v1"
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
}
