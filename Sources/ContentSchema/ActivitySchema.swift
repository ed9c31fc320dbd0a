/// What an `ActivityAttributes` type of an iOS app decodes: its `ContentState`, which every push carries, and the attributes
/// themselves, which a start carries.
public struct ActivitySchema: Sendable, Equatable {
    /// The name under which ActivityKit knows the type and phones register it, such as `AdventureAttributes`.
    public let attributesType: String
    /// What `attributes` of a start is decoded as.
    public let attributes: ContentType
    /// What `content-state` is decoded as.
    public let contentState: ContentType
    /// The structs and enums that those two name, by name.
    public let types: [String: TypeDefinition]

    /// Checks that the parts belong together.
    ///
    /// - Throws: a name without definition, two members of one name, a key type that a dictionary cannot have ...
    public init(
        attributesType: String,
        attributes: ContentType,
        contentState: ContentType,
        types: [String: TypeDefinition],
    ) throws(SchemaError) {
        self.attributesType = attributesType
        self.attributes = attributes
        self.contentState = contentState
        self.types = types
        guard !attributesType.isEmpty else { throw SchemaError("attributesType is empty") }
        try self.check(attributes, at: "attributes")
        try self.check(contentState, at: "contentState")
        for (name, definition) in types.sorted(by: { $0.key < $1.key }) {
            try self.check(definition, at: "types.\(name)")
        }
    }

    private func check(_ definition: TypeDefinition, at place: String) throws(SchemaError) {
        switch definition {
        case .structure(let fields):
            try self.check(fields, at: place)
        case .rawEnumeration(let rawType, let values, let isCodingKey):
            guard !values.isEmpty else { throw SchemaError("\(place): no raw values, so that nothing can be decoded") }
            for value in values where !value.belongs(to: rawType) {
                throw SchemaError("\(place): \(value) is no \(rawType.scalar.rawValue)")
            }
            if isCodingKey, rawType.scalar != .string, rawType.scalar != .int {
                throw SchemaError("\(place): only enums over String and Int can be coding keys")
            }
        case .rawStructure, .anything:
            break
        case .enumeration(let cases):
            guard !cases.isEmpty else { throw SchemaError("\(place): no cases, so that nothing can be decoded") }
            try Self.check(cases.map(\.key), at: place)
            for enumCase in cases {
                try self.check(enumCase.fields, at: "\(place).\(enumCase.key)")
            }
        }
    }

    private func check(_ fields: [ContentField], at place: String) throws(SchemaError) {
        try Self.check(fields.map(\.key), at: place)
        for field in fields {
            try self.check(field.type, at: "\(place).\(field.key)")
        }
    }

    private static func check(_ keys: [String], at place: String) throws(SchemaError) {
        var seen: Set<String> = []
        for key in keys where !seen.insert(key).inserted {
            throw SchemaError("\(place): \"\(key)\" is there twice")
        }
    }

    private func check(_ type: ContentType, at place: String) throws(SchemaError) {
        switch type {
        case .scalar, .range: break
        case .optional(let wrapped): try self.check(wrapped, at: place)
        case .array(let element), .set(let element): try self.check(element, at: place)
        case .dictionary(let key, let value):
            try self.check(key, at: place)
            try self.check(value, at: place)
        case .named(let name):
            guard self.types[name] != nil else { throw SchemaError("\(place): there is no type \(name)") }
        }
    }
}

extension RawValue {
    func belongs(to rawType: RawType) -> Bool {
        switch self {
        case .string: rawType.scalar == .string
        case .double: rawType.scalar == .double || rawType.scalar == .float
        case .integer(let value):
            rawType.scalar.integerRange.map { value >= $0.lower && (value < 0 || UInt128(value) <= $0.upper) } ?? false
        }
    }
}
