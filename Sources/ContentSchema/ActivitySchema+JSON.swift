import VerbatimJSON

// The JSON form, version 1:
//
//     {
//       "format": 1,
//       "attributesType": "RideAttributes",
//       "attributes": "RideAttributes",
//       "contentState": "RideAttributes.ContentState",
//       "types": {
//         "RideAttributes": {"fields": [{"key": "rideNumber", "type": "Int"}]},
//         "RideAttributes.ContentState": {"fields": [
//           {"key": "eta", "type": "Date?"}, {"key": "phase", "type": "Phase"}, {"key": "leg", "type": "Leg"}
//         ]},
//         "Phase": {"rawType": "String", "rawValues": ["waiting", "driving"]},
//         "Leg": {"cases": [{"key": "walk"}, {"key": "train", "fields": [{"key": "_0", "type": "String"}]}]}
//       }
//     }
//
// A type is written as in Swift. `"codingKey": true` beside rawValues: the enum conforms to CodingKeyRepresentable. rawType
// without rawValues: a struct that wraps any raw value. `{"anything": true}`: a struct without stored properties. Unknown members are refused, so that a misspelt one is found.

extension ActivitySchema {
    /// The version of the JSON form that is written.
    public static let format: Int64 = 1

    /// Reads the JSON form.
    ///
    /// - Throws: ``SchemaError`` with the place in front, such as `types.Phase.rawValues[2]: ...`.
    public init(parsing json: [UInt8]) throws(SchemaError) {
        let document: JSONDocument
        do {
            document = try JSONDocument(parsing: json, maximumDepth: 32)
        } catch {
            throw SchemaError("\(error)")
        }
        try self.init(SchemaReader(document.root, at: ""))
    }

    private init(_ reader: SchemaReader) throws(SchemaError) {
        let format = try reader.member("format").integer()
        guard format == Self.format else {
            throw SchemaError("format: \(format) is not known here; this release reads \(Self.format)")
        }
        try reader.allowOnly(["format", "attributesType", "attributes", "contentState", "types"])
        var types: [String: TypeDefinition] = [:]
        for (name, definition) in try reader.member("types").members() {
            types[name] = try definition.definition()
        }
        try self.init(
            attributesType: reader.member("attributesType").string(),
            attributes: reader.member("attributes").type(),
            contentState: reader.member("contentState").type(),
            types: types,
        )
    }

    /// The JSON form, the types in order of their names. Equal schemas give equal bytes.
    public var json: [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        writer.beginObject()
        writer.member("format", Self.format)
        writer.member("attributesType", self.attributesType)
        writer.member("attributes", self.attributes.description)
        writer.member("contentState", self.contentState.description)
        writer.key("types")
        writer.beginObject()
        for (name, definition) in self.types.sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            writer.definition(definition)
        }
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func definition(_ definition: TypeDefinition) {
        self.beginObject()
        switch definition {
        case .structure(let fields):
            self.fields(fields)
        case .anything:
            self.member("anything", true)
        case .rawStructure(let rawType):
            self.member("rawType", rawType.scalar.rawValue)
        case .rawEnumeration(let rawType, let values, let isCodingKey):
            self.member("rawType", rawType.scalar.rawValue)
            self.key("rawValues")
            self.beginArray()
            for value in values {
                switch value {
                case .string(let text): self.string(text)
                case .integer(let number): self.integer(number)
                case .double(let number): self.double(number)
                }
            }
            self.endArray()
            if isCodingKey { self.member("codingKey", true) }
        case .enumeration(let cases):
            self.key("cases")
            self.beginArray()
            for enumCase in cases {
                self.beginObject()
                self.member("key", enumCase.key)
                if !enumCase.fields.isEmpty { self.fields(enumCase.fields) }
                self.endObject()
            }
            self.endArray()
        }
        self.endObject()
    }

    private mutating func fields(_ fields: [ContentField]) {
        self.key("fields")
        self.beginArray()
        for field in fields {
            self.beginObject()
            self.member("key", field.key)
            self.member("type", field.type.description)
            self.endObject()
        }
        self.endArray()
    }
}

/// A value of the JSON form, with its place for error texts.
private struct SchemaReader {
    private let value: JSONValue
    private let place: String

    init(_ value: JSONValue, at place: String) {
        self.value = value
        self.place = place
    }

    private func fault(_ problem: String) -> SchemaError {
        SchemaError(self.place.isEmpty ? problem : "\(self.place): \(problem)")
    }

    private func path(_ key: String) -> String {
        self.place.isEmpty ? key : "\(self.place).\(key)"
    }

    func optionalMember(_ key: String) -> SchemaReader? {
        self.value[key].map { SchemaReader($0, at: self.path(key)) }
    }

    func member(_ key: String) throws(SchemaError) -> SchemaReader {
        guard self.value.kind == .object else { throw self.fault("an object is expected") }
        guard let member = self.optionalMember(key) else { throw self.fault("\"\(key)\" is missing") }
        return member
    }

    func members() throws(SchemaError) -> [(String, SchemaReader)] {
        guard self.value.kind == .object else { throw self.fault("an object is expected") }
        return self.value.members.map { ($0.key, SchemaReader($0.value, at: self.path($0.key))) }
    }

    func elements() throws(SchemaError) -> [SchemaReader] {
        guard self.value.kind == .array else { throw self.fault("an array is expected") }
        return self.value.elements.enumerated().map { SchemaReader($1, at: "\(self.place)[\($0)]") }
    }

    func allowOnly(_ keys: [String]) throws(SchemaError) {
        for (key, _) in try self.members() where !keys.contains(key) {
            throw self.fault("unknown member \"\(key)\"; known are \(keys.joined(separator: ", "))")
        }
    }

    func string() throws(SchemaError) -> String {
        guard let string = self.value.string else { throw self.fault("a string is expected") }
        return string
    }

    func integer() throws(SchemaError) -> Int64 {
        guard let integer = self.value.integer else { throw self.fault("an integer is expected") }
        return integer
    }

    func type() throws(SchemaError) -> ContentType {
        let text = try self.string()
        do {
            return try ContentType(parsing: text)
        } catch {
            throw self.fault("\(error)")
        }
    }

    func definition() throws(SchemaError) -> TypeDefinition {
        if let fields = self.optionalMember("fields") {
            try self.allowOnly(["fields"])
            return .structure(try fields.fields())
        }
        if let cases = self.optionalMember("cases") {
            try self.allowOnly(["cases"])
            var enumCases: [ContentCase] = []
            for enumCase in try cases.elements() {
                try enumCase.allowOnly(["key", "fields"])
                let fields = try enumCase.optionalMember("fields")?.fields() ?? []
                enumCases.append(ContentCase(key: try enumCase.member("key").string(), fields: fields))
            }
            return .enumeration(enumCases)
        }
        if let anything = self.optionalMember("anything") {
            try self.allowOnly(["anything"])
            guard anything.value.boolean == true else { throw anything.fault("true is expected") }
            return .anything
        }
        guard let rawTypeMember = self.optionalMember("rawType") else {
            throw self.fault("\"fields\", \"rawType\" or \"cases\" is missing")
        }
        try self.allowOnly(["rawType", "rawValues", "codingKey"])
        guard case .scalar(let scalar) = try rawTypeMember.type(), let rawType = RawType(scalar) else {
            throw rawTypeMember.fault("a raw type is String, an integer type, Float or Double")
        }
        guard let rawValues = self.optionalMember("rawValues") else { return .rawStructure(rawType) }
        var values: [RawValue] = []
        for element in try rawValues.elements() {
            values.append(try element.rawValue(of: rawType))
        }
        var isCodingKey = false
        if let codingKey = self.optionalMember("codingKey") {
            guard let boolean = codingKey.value.boolean else { throw codingKey.fault("true or false is expected") }
            isCodingKey = boolean
        }
        return .rawEnumeration(rawType, values, isCodingKey: isCodingKey)
    }

    private func fields() throws(SchemaError) -> [ContentField] {
        var fields: [ContentField] = []
        for field in try self.elements() {
            try field.allowOnly(["key", "type"])
            fields.append(ContentField(key: try field.member("key").string(), type: try field.member("type").type()))
        }
        return fields
    }

    private func rawValue(of rawType: RawType) throws(SchemaError) -> RawValue {
        switch rawType.scalar {
        case .string:
            return .string(try self.string())
        case .float, .double:
            guard let double = self.value.double else { throw self.fault("a number is expected") }
            return .double(double)
        default:
            guard let text = self.value.numberText, let value = Int128(text) else {
                throw self.fault("a whole number is expected")
            }
            return .integer(value)
        }
    }
}
