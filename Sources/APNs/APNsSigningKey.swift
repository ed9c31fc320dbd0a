/// An APNs signing key: a P-256 private key (`AuthKey_<KEYID>.p8`) with the ids that Apple gave it.
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

    /// Tells keys apart that were given the same ids: 32 hexadecimal digits of the public key's SHA-256. Not secret.
    public var publicKeyFingerprint: String { privateKey.publicKeyFingerprint }

    /// Whether a provider token can be signed, and its signature verifies with the public key (RFC 7518, 3.4).
    public func verifiesItself() -> Bool {
        guard let token = try? ProviderToken.mint(self, issuedAt: 0) else { return false }
        let message = Array(token.utf8)
        return (try? privateKey.signature(of: message)).map { privateKey.verifies($0, of: message) } ?? false
    }

    /// The two ids, never the key.
    public var description: String { "APNs key \(keyID) of team \(teamID)" }

    /// Every push looks its connections up by the key: the two ids tell keys apart well enough for a hash.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(keyID)
        hasher.combine(teamID)
    }

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }
}
