/// The limits of texts that come in paths, queries, bodies and files alike.
public enum RegistrationRules {
    /// What a sequence is.
    public static let sequence = "sequence is an integer from 0 to 9223372036854775807"

    /// An installation that keeps the rules.
    public static func installation(
        _ value: String,
        field: String = "installation",
    ) throws(RegistrationFault) -> String {
        let isValid = value.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isValid, (1...64).contains(value.utf8.count) else {
            throw RegistrationFault(.invalidValue, "an installation is 1 to 64 of A-Z a-z 0-9 . _ -", field: field)
        }
        // Clients and proxies take these out of a path, so that such an installation could not be logged out.
        guard value != ".", value != ".." else {
            throw RegistrationFault(.invalidValue, "an installation is not . or ..", field: field)
        }
        return value
    }

    /// An activity's id that keeps the rules.
    public static func laID(_ value: String, field: String = "LaId") throws(RegistrationFault) -> String {
        guard (1...64).contains(value.utf8.count) else {
            throw RegistrationFault(.invalidValue, "a LaId has 1 to 64 bytes", field: field)
        }
        return value
    }

    /// The longest name of an `ActivityAttributes` type in bytes.
    public static let longestAttributesType = 128

    /// The name of an `ActivityAttributes` type that keeps the rules.
    public static func attributesType(
        _ value: String,
        field: String = "attributesType",
    ) throws(RegistrationFault) -> String {
        guard (1...longestAttributesType).contains(value.utf8.count) else {
            throw RegistrationFault(.invalidValue, "an attributesType has 1 to 128 bytes", field: field)
        }
        return value
    }

    /// The same of a type that a start token is for: a name such as Swift's types have, since a start names the type, and no
    /// other name would ever be met.
    public static func startedType(
        _ value: String,
        field: String = "attributesType",
    ) throws(RegistrationFault) -> String {
        let value = try attributesType(value, field: field)
        let parts = value.split(separator: ".", omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            part.first?.isNumber == false && part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        }
        guard isName else {
            let message = "an attributesType is the name of a Swift type, such as OrderAttributes"
            throw RegistrationFault(.invalidValue, message, field: field)
        }
        return value
    }

    /// An account that keeps the rules.
    public static func account(_ value: String, field: String = "account") throws(RegistrationFault) -> String {
        guard (1...128).contains(value.utf8.count) else {
            throw RegistrationFault(.invalidValue, "an account has 1 to 128 bytes", field: field)
        }
        return value
    }
}
