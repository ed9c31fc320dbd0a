import VerbatimJSON

/// The JWT of an `authorization` header, taken apart but not yet trusted (Apple: "Establishing a token-based
/// connection to APNs"; RFC 7519).
struct ProviderToken {
    /// The whole token; two tokens are the same only if every character is.
    let text: String
    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Double
    /// What the signature signs: header and claims as they were sent.
    let signedText: Substring
    /// r and s, 32 bytes each (RFC 7518 section 3.4). Apple's own samples show the DER form too; it is refused here,
    /// since every strict verifier refuses it and nothing documents that APNs takes it.
    let signature: [UInt8]

    /// - Throws: 403 MissingProviderToken without a bearer token, 403 InvalidProviderToken for one of a wrong shape.
    init(authorization: String?) throws(Refusal) {
        guard let authorization else { throw Refusal(403, "MissingProviderToken") }
        let words = authorization.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw Refusal(403, words.count < 2 ? "MissingProviderToken" : "InvalidProviderToken")
        }
        guard let token = ProviderToken(text: words[1]) else { throw Refusal(403, "InvalidProviderToken") }
        self = token
    }

    private init?(text: Substring) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard
            parts.count == 3,
            let header = ProviderToken.object(parts[0]), let claims = ProviderToken.object(parts[1]),
            header["alg"]?.string == "ES256",
            let keyID = header["kid"]?.string, ProviderToken.isIdentifier(keyID),
            let teamID = claims["iss"]?.string, ProviderToken.isIdentifier(teamID),
            let issuedAt = claims["iat"]?.double,
            let signature = Base64URL.decode(parts[2]), signature.count == 64
        else { return nil }
        self.text = String(text)
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
        self.signedText = text[..<parts[1].endIndex]
        self.signature = signature
    }

    private static func object(_ part: Substring) -> JSONValue? {
        guard
            let bytes = Base64URL.decode(part),
            let document = try? JSONDocument(parsing: bytes),
            document.root.kind == .object
        else { return nil }
        return document.root
    }

    /// Key IDs and team IDs are ten characters, capital letters and digits.
    static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { character in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(character)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
            }
    }
}
