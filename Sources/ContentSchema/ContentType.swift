/// A type as a property's declaration names it.
public indirect enum ContentType: Sendable, Hashable {
    /// `Int`, `Date`, `URL` ...
    case scalar(ContentScalar)
    /// `T?`: null and, as a property, absence are allowed.
    case optional(ContentType)
    /// `[T]`
    case array(ContentType)
    /// `Set<T>`; written as an array, in which equal elements may come twice.
    case set(ContentType)
    /// `[Key: Value]`. An object if the key is `String`, `Int` or a type that conforms to `CodingKeyRepresentable`; an
    /// array of key, value, key, value ... for any other key.
    case dictionary(key: ContentType, value: ContentType)
    /// `Range<T>`, `ClosedRange<T>`: an array with the two bounds; the partial ones: an array with one.
    case range(ContentRange, of: ContentScalar)
    /// A struct or an enum of the schema.
    case named(String)
}

/// The ranges of the standard library.
public enum ContentRange: String, Sendable, CaseIterable {
    case range = "Range"
    case closedRange = "ClosedRange"
    case partialRangeFrom = "PartialRangeFrom"
    case partialRangeThrough = "PartialRangeThrough"
    case partialRangeUpTo = "PartialRangeUpTo"

    /// How many numbers stand in its array.
    var bounds: Int {
        switch self {
        case .range, .closedRange: 2
        case .partialRangeFrom, .partialRangeThrough, .partialRangeUpTo: 1
        }
    }
}

extension ContentType: CustomStringConvertible {
    /// The type as Swift source has it, such as `[String: Int?]`.
    public var description: String {
        switch self {
        case .scalar(let scalar): scalar.rawValue
        case .optional(let wrapped): "\(wrapped)?"
        case .array(let element): "[\(element)]"
        case .set(let element): "Set<\(element)>"
        case .dictionary(let key, let value): "[\(key): \(value)]"
        case .range(let range, let bound): "\(range.rawValue)<\(bound.rawValue)>"
        case .named(let name): name
        }
    }
}

extension ContentType {
    /// Reads a type from its Swift source: names, `T?`, `[T]`, `[Key: Value]` and the generic types of the standard library
    /// that are understood. Names that are no known type are taken for types of the schema.
    ///
    /// - Throws: what is wrong with the text.
    public init(parsing text: String) throws(SchemaError) {
        var parser = ContentTypeParser(text)
        self = try parser.parse()
    }
}

/// Recursive descent over a type's source.
private struct ContentTypeParser {
    private static let maximumDepth = 64

    private let text: String
    private var rest: Substring
    private var depth = 0

    init(_ text: String) {
        self.text = text
        self.rest = text[...]
    }

    mutating func parse() throws(SchemaError) -> ContentType {
        let type = try self.type()
        self.skipSpaces()
        guard self.rest.isEmpty else { throw self.fault("unexpected '\(self.rest.prefix(1))'") }
        return type
    }

    private mutating func type() throws(SchemaError) -> ContentType {
        guard self.depth < Self.maximumDepth else { throw self.fault("nested too deep") }
        self.depth += 1
        defer { self.depth -= 1 }
        var type: ContentType
        if self.take("[") {
            let first = try self.type()
            if self.take(":") {
                type = .dictionary(key: first, value: try self.type())
            } else {
                type = .array(first)
            }
            try self.expect("]")
        } else {
            type = try self.nominal()
        }
        while self.take("?") { type = .optional(type) }
        return type
    }

    private mutating func nominal() throws(SchemaError) -> ContentType {
        let name = try self.name()
        guard self.take("<") else {
            return ContentScalar(swiftName: name).map { .scalar($0) } ?? .named(name)
        }
        var arguments = [try self.type()]
        while self.take(",") { arguments.append(try self.type()) }
        try self.expect(">")
        return try ContentType(generic: name, arguments: arguments)
    }

    private mutating func name() throws(SchemaError) -> String {
        self.skipSpaces()
        let name = self.rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        guard let first = name.first, first.isLetter || first == "_" else {
            throw self.fault(self.rest.isEmpty ? "a type is missing" : "unexpected '\(self.rest.prefix(1))'")
        }
        self.rest = self.rest.dropFirst(name.count)
        return String(name)
    }

    private mutating func skipSpaces() {
        self.rest = self.rest.drop { $0 == " " }
    }

    private mutating func take(_ character: Character) -> Bool {
        self.skipSpaces()
        guard self.rest.first == character else { return false }
        self.rest = self.rest.dropFirst()
        return true
    }

    private mutating func expect(_ character: Character) throws(SchemaError) {
        guard self.take(character) else { throw self.fault("expected '\(character)'") }
    }

    private func fault(_ problem: String) -> SchemaError {
        SchemaError("the type \"\(self.text)\" cannot be read: \(problem)")
    }
}

extension ContentType {
    /// A generic type of the standard library by its name.
    ///
    /// - Throws: if it is none that can be checked, or not with these arguments.
    public init(generic name: some StringProtocol, arguments: [ContentType]) throws(SchemaError) {
        let name = name.hasPrefix("Swift.") ? String(name.dropFirst("Swift.".count)) : String(name)
        switch (name, arguments.count) {
        case ("Optional", 1): self = .optional(arguments[0])
        case ("Array", 1), ("ContiguousArray", 1), ("ArraySlice", 1): self = .array(arguments[0])
        case ("Set", 1): self = .set(arguments[0])
        case ("Dictionary", 2): self = .dictionary(key: arguments[0], value: arguments[1])
        case (_, 1):
            guard let range = ContentRange(rawValue: name) else {
                throw SchemaError("\(name)<...> is not a type that can be checked")
            }
            guard case .scalar(let bound) = arguments[0], bound.isOrdered else {
                throw SchemaError("\(name)<\(arguments[0])> is not a range that can be checked")
            }
            self = .range(range, of: bound)
        default:
            throw SchemaError("\(name)<...> is not a type that can be checked")
        }
    }
}
