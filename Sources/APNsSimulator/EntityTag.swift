import COpenSSL

/// A strong entity tag (RFC 9110, section 8.8.3), the same for the same bytes.
struct EntityTag {
    /// With its quotation marks.
    let text: String

    init(of bytes: [UInt8]) {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(bytes, bytes.count, &digest)
        text = "\"" + digest.prefix(12).map { String($0 / 16, radix: 16) + String($0 % 16, radix: 16) }.joined() + "\""
    }
}
