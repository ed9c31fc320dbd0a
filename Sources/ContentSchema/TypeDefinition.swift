/// How Swift decodes a struct or an enum: what its declaration says, as far as the synthesized `init(from:)` goes by it.
public enum TypeDefinition: Sendable, Hashable {
    /// A struct: an object with these members.
    case structure([ContentField])
    /// A struct without stored properties, which asks nothing of the decoder: any value at all.
    case anything
    /// An enum with a raw type: one of these values.
    ///
    /// - Parameter isCodingKey: it conforms to `CodingKeyRepresentable`: a dictionary with such keys is an object.
    case rawEnumeration(RawType, [RawValue], isCodingKey: Bool)
    /// A struct that only wraps a raw value, such as an `OptionSet`: any value of the raw type.
    case rawStructure(RawType)
    /// An enum without raw type: an object with one member, named after the case, whose value is an object with the
    /// associated values.
    case enumeration([ContentCase])
}

/// A property that is decoded.
public struct ContentField: Sendable, Hashable {
    /// The name in JSON: the property's, unless `CodingKeys` say otherwise; `_0`, `_1` ... for associated values without
    /// label.
    public let key: String
    /// The type; an optional one may be absent.
    public let type: ContentType

    /// - Parameters:
    ///   - key: the name in JSON.
    ///   - type: the declared type.
    public init(key: String, type: ContentType) {
        self.key = key
        self.type = type
    }

    /// Whether the member must be there.
    public var isRequired: Bool {
        if case .optional = self.type { false } else { true }
    }
}

/// A case of an enum without raw type.
public struct ContentCase: Sendable, Hashable {
    /// The name in JSON: the case's, unless `CodingKeys` say otherwise.
    public let key: String
    /// Its associated values.
    public let fields: [ContentField]

    /// - Parameters:
    ///   - key: the name in JSON.
    ///   - fields: the associated values.
    public init(key: String, fields: [ContentField]) {
        self.key = key
        self.fields = fields
    }
}

/// The types that an enum can have as raw type and that JSON can hold.
public struct RawType: Sendable, Hashable {
    /// The type: `String`, an integer or a floating-point type.
    public let scalar: ContentScalar

    /// - Parameter scalar: nil comes out for a type that cannot be a raw type.
    public init?(_ scalar: ContentScalar) {
        switch scalar {
        case .string, .float, .double: self.scalar = scalar
        default:
            guard scalar.integerRange != nil else { return nil }
            self.scalar = scalar
        }
    }
}

/// A raw value of an enum.
public enum RawValue: Sendable, Hashable, CustomStringConvertible {
    /// Of an enum over `String`.
    case string(String)
    /// Of an enum over an integer type.
    case integer(Int128)
    /// Of an enum over `Float` or `Double`.
    case double(Double)

    /// The value as Swift source has it.
    public var description: String {
        switch self {
        case .string(let text): "\"\(text)\""
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        }
    }
}

extension RawValue {
    /// Whether a decoded value is this one. A literal of an enum over Float is rounded as the number in JSON is.
    func matches(_ decoded: RawValue, _ rawType: RawType) -> Bool {
        if rawType.scalar == .float, case .double(let own) = self, case .double(let other) = decoded {
            return Float(own) == Float(other)
        }
        return self == decoded
    }
}
