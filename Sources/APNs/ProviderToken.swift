import COpenSSL

/// The JSON Web Token that authenticates requests to APNs (Apple: "Establishing a token-based connection to APNs").
public enum ProviderToken {
    /// Signs a token with ES256.
    ///
    /// - Parameters:
    ///   - key: signs; its ids become `kid` and `iss`.
    ///   - issuedAt: Unix seconds; APNs takes tokens up to an hour old.
    /// - Throws: ``ProviderTokenError`` when OpenSSL cannot sign.
    public static func mint(_ key: APNsSigningKey, issuedAt: Int64) throws(ProviderTokenError) -> String {
        // Both ids are letters and digits: nothing to escape.
        let header = #"{"alg":"ES256","kid":"\#(key.keyID)"}"#
        let claims = #"{"iss":"\#(key.teamID)","iat":\#(issuedAt)}"#
        let input = base64URL(Array(header.utf8)) + "." + base64URL(Array(claims.utf8))
        return input + "." + base64URL(try key.privateKey.signature(of: Array(input.utf8)))
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        var encoded = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&encoded, bytes, Int32(bytes.count))
        let text = encoded.prefix(Int(count)).compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
