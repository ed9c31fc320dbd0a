/// What is wrong with a signing key. The text names the field and never holds key bytes.
public enum APNsSigningKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The team id is not 10 characters of A-Z and 0-9.
    case teamID
    /// The key id is not 10 characters of A-Z and 0-9.
    case keyID
    /// There is no text.
    case empty
    /// It is an X.509 certificate.
    case certificate
    /// It is a public key.
    case publicKey
    /// It is encrypted with a password.
    case encrypted
    /// It is nothing that can be read as a private key in PKCS#8.
    case notPKCS8
    /// It is an RSA key.
    case rsa
    /// It is a private key of another kind or curve.
    case notP256

    /// The field and what is wrong with it.
    public var description: String {
        switch self {
        case .teamID: "team id: expected 10 characters of A-Z and 0-9"
        case .keyID: "key id: expected 10 characters of A-Z and 0-9"
        case .empty: "key file: empty"
        case .certificate: "key file: a certificate, not the .p8 private key"
        case .publicKey: "key file: a public key, not the .p8 private key"
        case .encrypted: "key file: protected by a password; APNs keys are not"
        case .notPKCS8: "key file: not a PKCS#8 private key (BEGIN PRIVATE KEY)"
        case .rsa: "key file: an RSA key; APNs takes only P-256 (ES256) keys"
        case .notP256: "key file: not a P-256 (ES256) key; no other curve can sign for APNs"
        }
    }
}
