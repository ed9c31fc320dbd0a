/// Why a registration is refused, whichever way it came. Holds nothing of what was sent but numbers.
public struct RegistrationFault: Error, Equatable, Sendable {
    /// What is wrong with the field.
    public enum Kind: Sendable {
        /// It must be there.
        case missing
        /// It has another type than it must have.
        case wrongType
        /// It has a value that it cannot have.
        case invalidValue
        /// It is neither hex nor base64, or not 32 to 256 bytes.
        case invalidToken
        /// The app has no such certificate.
        case unknownBusinessID
    }

    /// What is wrong.
    public let kind: Kind
    /// The same in words, a whole sentence.
    public let message: String
    /// The name of the field, as its source spells it.
    public let field: String

    /// Makes a fault.
    public init(_ kind: Kind, _ message: String, field: String) {
        self.kind = kind
        self.message = message
        self.field = field
    }
}
