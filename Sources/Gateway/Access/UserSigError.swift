/// Why a UserSig is not accepted. The raw value is Tencent's error code.
public enum UserSigError: Int, Error, Sendable, CaseIterable {
    /// Its time is over.
    case expired = 70001
    /// There is none.
    case empty = 70002
    /// It cannot be decoded, is cut short, or lacks a field.
    case malformed = 70003
    /// It was signed with another key.
    case wrongSignature = 70009
    /// It speaks for another account than the caller names.
    case otherIdentifier = 70013
    /// It was made for another app than the caller names.
    case otherApplication = 70014

    /// Tencent's error code.
    public var code: Int { rawValue }

    /// A sentence for the caller. Holds nothing of the UserSig.
    public var message: String {
        switch self {
        case .expired: "the UserSig has expired"
        case .empty: "the UserSig is empty"
        case .malformed: "the UserSig cannot be decoded"
        case .wrongSignature: "the UserSig was not signed with the secret key of this app"
        case .otherIdentifier: "the UserSig was made for another identifier"
        case .otherApplication: "the UserSig was made for another SDKAppID"
        }
    }
}
