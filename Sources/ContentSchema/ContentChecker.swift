import VerbatimJSON

/// Walks through a value along its type, as the synthesized `init(from:)` does.
struct ContentChecker {
    private let schema: ActivitySchema
    private let start: Int
    private let root: String
    private let dates: DateReading
    /// From the root to the value at hand.
    private var path: [PathElement] = []
    private(set) var verdict = ContentVerdict()

    private enum PathElement {
        case member(String)
        case element(Int)
        /// A key of a dictionary: the sender's text, not the type's.
        case key(String)
    }

    init(schema: ActivitySchema, value: JSONValue, root: String, now: Int64) {
        self.schema = schema
        self.start = value.verbatim.startIndex
        self.root = root
        self.dates = DateReading(now: now)
    }

    // MARK: - Types

    mutating func check(_ value: JSONValue, _ type: ContentType) {
        switch type {
        case .scalar(let scalar):
            self.check(value, scalar)
        case .optional(let wrapped):
            if value.kind != .null { self.check(value, wrapped) }
        case .array(let element), .set(let element):
            guard self.isArray(value, "\(type)") else { return }
            for (index, item) in value.elements.enumerated() {
                self.inside(.element(index)) { $0.check(item, element) }
            }
        case .dictionary(let key, let content):
            self.checkDictionary(value, key: key, content: content)
        case .range(let range, let bound):
            self.check(value, range, of: bound)
        case .named(let name):
            guard let definition = self.schema.types[name] else { return }
            self.check(value, definition, name)
        }
    }

    private mutating func check(_ value: JSONValue, _ definition: TypeDefinition, _ name: String) {
        switch definition {
        case .structure(let fields):
            guard self.isObject(value, name) else { return }
            self.check(value, fields)
        case .anything:
            break
        case .rawStructure(let rawType):
            self.check(value, rawType.scalar)
        case .rawEnumeration(let rawType, let values, _):
            guard let raw = self.rawValue(of: value, rawType) else { return }
            guard !values.contains(where: { $0.matches(raw, rawType) }) else { return }
            let known = values.prefix(12).map(\.description).joined(separator: ", ")
            self.fault(.invalid, "\(name) is one of \(known)\(values.count > 12 ? " ..." : "")", value)
        case .enumeration(let cases):
            self.check(value, cases, name)
        }
    }

    /// The members of a struct or of a case, in the order in which they are declared, which is that of decoding.
    private mutating func check(_ value: JSONValue, _ fields: [ContentField]) {
        let members = MemberTable(value)
        for field in fields {
            guard let member = members[field.key] else {
                if field.isRequired { self.missing(field, among: members) }
                continue
            }
            if case .optional(let wrapped) = field.type {
                if member.kind != .null { self.inside(.member(field.key)) { $0.check(member, wrapped) } }
            } else {
                self.inside(.member(field.key)) { $0.check(member, field.type) }
            }
        }
        for key in members.keys where !fields.contains(where: { $0.key == key }) {
            self.unknown(key)
        }
    }

    private mutating func check(_ value: JSONValue, _ cases: [ContentCase], _ name: String) {
        let known = cases.prefix(12).map { "\"\($0.key)\"" }.joined(separator: ", ")
        guard self.isObject(value, "\(name), as an object with one member of \(known),") else { return }
        let members = MemberTable(value)
        let chosen = cases.filter { members[$0.key] != nil }
        guard chosen.count == 1, let enumCase = chosen.first, let payload = members[enumCase.key] else {
            let count = chosen.isEmpty ? "none" : chosen.map { "\"\($0.key)\"" }.joined(separator: " and ")
            self.fault(.wrongType, "\(name) wants exactly one member of \(known)", found: count)
            return
        }
        self.inside(.member(enumCase.key)) { checker in
            guard checker.isObject(payload, "\(name).\(enumCase.key), its values in an object,") else { return }
            checker.check(payload, enumCase.fields)
        }
        for key in members.keys where key != enumCase.key {
            self.unknown(key)
        }
    }

    private mutating func checkDictionary(_ value: JSONValue, key: ContentType, content: ContentType) {
        let type = ContentType.dictionary(key: key, value: content)
        guard let names = self.dictionaryKeys(key) else {
            guard self.isArray(value, "\(type), as an array of key, value, key, value ...,") else { return }
            let elements = value.elements
            guard elements.count.isMultiple(of: 2) else {
                self.fault(
                    .invalid,
                    "\(type) wants an even number of elements: key, value, key, value ...",
                    found: "\(elements.count)",
                )
                return
            }
            for (index, element) in elements.enumerated() {
                self.inside(.element(index)) { $0.check(element, index.isMultiple(of: 2) ? key : content) }
            }
            return
        }
        guard self.isObject(value, "\(type)") else { return }
        let members = MemberTable(value)
        for name in members.keys {
            guard let member = members[name] else { continue }
            switch names {
            case .any: break
            case .integers where Int(name) == nil:
                self.inside(.key(name)) { $0.fault(.wrongType, "the key is an Int", found: "\"\(name)\"") }
            case .integers: break
            case .values(let values, let enumName):
                let isKnown = values.contains { known in
                    switch known {
                    case .string(let text): text == name
                    case .integer(let number): Int(name).map { Int128($0) == number } ?? false
                    case .double: false
                    }
                }
                if !isKnown {
                    self.inside(.key(name)) { checker in
                        checker.fault(.invalid, "the key is one of \(enumName)", found: "\"\(name)\"")
                    }
                }
            }
            self.inside(.key(name)) { $0.check(member, content) }
        }
    }

    private enum DictionaryKeys {
        case any
        case integers
        case values([RawValue], String)
    }

    /// What the names of an object's members are; nil if a dictionary with such keys is an array.
    private func dictionaryKeys(_ key: ContentType) -> DictionaryKeys? {
        switch key {
        case .scalar(.string): return .any
        case .scalar(.int): return .integers
        case .named(let name):
            guard case .rawEnumeration(_, let values, isCodingKey: true)? = self.schema.types[name] else { return nil }
            return .values(values, name)
        default: return nil
        }
    }

    private mutating func check(_ value: JSONValue, _ range: ContentRange, of bound: ContentScalar) {
        let type = ContentType.range(range, of: bound)
        guard self.isArray(value, "\(type), as an array of \(range.bounds),") else { return }
        let elements = value.elements
        let faults = self.verdict.faults.count
        for index in 0..<range.bounds {
            guard index < elements.count else {
                self.inside(.element(index)) { $0.fault(.missing, "\(bound.rawValue) is missing", found: nil) }
                return
            }
            self.inside(.element(index)) { $0.check(elements[index], bound) }
        }
        guard range.bounds == 2, self.verdict.faults.count == faults else { return }
        if ScalarOrder.isDescending(elements[0], elements[1], bound) {
            self.fault(.invalid, "the lower bound of \(type) is above the upper one", found: nil)
        }
    }

    // MARK: - Scalars

    private mutating func check(_ value: JSONValue, _ scalar: ContentScalar) {
        switch scalar {
        case .bool:
            if value.kind != .boolean { self.mismatch(scalar.rawValue, value) }
        case .string:
            if value.kind != .string { self.mismatch(scalar.rawValue, value) }
        case .data:
            self.checkText(value, scalar, "base64, in groups of four and padded with =", TextForms.isBase64)
        case .uuid:
            self.checkText(value, scalar, "8-4-4-4-12 hexadecimal digits", TextForms.isUUID)
        case .url:
            self.checkText(value, scalar, "an address that URL(string:) accepts", URLText.isAccepted)
        case .date:
            self.checkDate(value)
        case .float:
            self.checkNumber(value, scalar) { $0.float != nil }
        case .double, .cgFloat:
            self.checkNumber(value, scalar) { $0.double != nil }
        case .decimal:
            self.checkNumber(value, scalar) { DecimalNumber($0.text) != nil }
        case .duration:
            self.checkParts(value, scalar, [.int64, .uint64])
        case .cgPoint, .cgSize:
            self.checkParts(value, scalar, [.cgFloat, .cgFloat])
        case .cgRect:
            self.checkParts(value, scalar, [.cgPoint, .cgSize])
        case .int, .int8, .int16, .int32, .int64, .int128, .uint, .uint8, .uint16, .uint32, .uint64, .uint128:
            guard let range = scalar.integerRange else { return }
            self.checkNumber(value, scalar) { $0.integer(in: range) != nil }
        }
    }

    private mutating func checkText(
        _ value: JSONValue,
        _ scalar: ContentScalar,
        _ form: String,
        _ isAccepted: (String) -> Bool,
    ) {
        guard let text = value.string else { return self.mismatch("\(scalar.rawValue) (\(form))", value) }
        if !isAccepted(text) { self.fault(.invalid, "\(scalar.rawValue) is \(form)", value) }
    }

    private mutating func checkNumber(_ value: JSONValue, _ scalar: ContentScalar, _ isAccepted: (NumberText) -> Bool) {
        guard let text = value.numberText else { return self.mismatch(scalar.rawValue, value) }
        guard !isAccepted(NumberText(text)) else { return }
        guard let range = scalar.integerRange else {
            self.fault(.invalid, "\(scalar.rawValue) cannot hold so large, so small or so long a number", value)
            return
        }
        self.fault(.invalid, "\(scalar.rawValue) holds whole numbers \(range.lower)...\(range.upper)", value)
    }

    private mutating func checkDate(_ value: JSONValue) {
        let form = "Date (a number: seconds since 2001-01-01T00:00:00Z)"
        guard let text = value.numberText else {
            self.mismatch(form, value, likelyDate: value.string.flatMap(self.dates.number(of:)))
            return
        }
        guard NumberText(text).double != nil else { return self.fault(.invalid, "a Date cannot be so far away", value) }
        guard let (form, right) = self.dates.misreading(of: text), !right.isEmpty else { return }
        let bytes = value.verbatim
        self.verdict.misreadDates.append(
            MisreadDate(
                path: self.pathText(),
                place: self.pathText(hidesKeys: true),
                form: form,
                found: text,
                right: right,
                range: bytes.startIndex - self.start..<bytes.endIndex - self.start,
            )
        )
    }

    private mutating func checkParts(_ value: JSONValue, _ scalar: ContentScalar, _ parts: [ContentScalar]) {
        guard self.isArray(value, "\(scalar.rawValue), as an array of \(parts.count),") else { return }
        let elements = value.elements
        for (index, part) in parts.enumerated() {
            guard index < elements.count else {
                self.inside(.element(index)) { $0.fault(.missing, "\(part.rawValue) is missing", found: nil) }
                return
            }
            self.inside(.element(index)) { $0.check(elements[index], part) }
        }
    }

    /// The raw value in a form that can be compared; nil, with a fault noted, if there is none.
    private mutating func rawValue(of value: JSONValue, _ rawType: RawType) -> RawValue? {
        let faults = self.verdict.faults.count
        self.check(value, rawType.scalar)
        guard self.verdict.faults.count == faults else { return nil }
        if let text = value.string { return .string(text) }
        let number = NumberText(value.numberText ?? "")
        switch rawType.scalar {
        case .double: return number.double.map { .double($0) }
        case .float: return number.float.map { .double(Double($0)) }
        default:
            guard let range = rawType.scalar.integerRange, let whole = number.integer(in: range) else { return nil }
            return whole.int128.map { .integer($0) }
        }
    }

    // MARK: - Notes

    private mutating func isObject(_ value: JSONValue, _ type: String) -> Bool {
        if value.kind == .object { return true }
        self.mismatch(type, value)
        return false
    }

    private mutating func isArray(_ value: JSONValue, _ type: String) -> Bool {
        if value.kind == .array { return true }
        self.mismatch(type, value)
        return false
    }

    private mutating func mismatch(_ type: String, _ value: JSONValue, likelyDate: String? = nil) {
        if value.kind == .null {
            self.fault(.null, "\(type) is expected", value)
        } else {
            self.fault(.wrongType, "\(type) is expected", value, likelyDate: likelyDate)
        }
    }

    private mutating func missing(_ field: ContentField, among members: MemberTable) {
        let plainKey = Self.plain(field.key)
        let similar = members.keys.first { Self.plain($0) == plainKey }
        self.inside(.member(field.key)) { checker in
            checker.fault(.missing, "\(field.type) is missing", found: similar.map { "\"\($0)\", spelt otherwise" })
        }
    }

    private static func plain(_ key: String) -> String {
        key.lowercased().filter { $0.isLetter || $0.isNumber }
    }

    private mutating func fault(
        _ kind: ContentFault.Kind,
        _ problem: String,
        _ value: JSONValue,
        likelyDate: String? = nil,
    ) {
        self.fault(kind, problem, found: Self.words(for: value), likelyDate: likelyDate)
    }

    private mutating func fault(
        _ kind: ContentFault.Kind,
        _ problem: String,
        found: String?,
        likelyDate: String? = nil,
    ) {
        guard self.verdict.faults.count < ContentVerdict.maximumFaults else { return }
        self.verdict.faults.append(
            ContentFault(
                kind: kind,
                path: self.pathText(),
                place: self.pathText(hidesKeys: true),
                problem: problem,
                found: found,
                likelyDate: likelyDate,
            )
        )
    }

    private mutating func unknown(_ key: String) {
        guard self.verdict.unknownMembers.count < ContentVerdict.maximumFaults else { return }
        self.inside(.member(key)) { $0.verdict.unknownMembers.append($0.pathText()) }
    }

    /// What a value is, in a few words.
    private static func words(for value: JSONValue) -> String {
        let longest = 40
        switch value.kind {
        case .object: return "an object"
        case .array: return "an array"
        case .null: return "null"
        case .boolean: return value.boolean == true ? "true" : "false"
        case .number:
            let text = value.numberText ?? ""
            return "the number \(text.prefix(longest))\(text.count > longest ? "..." : "")"
        case .string:
            let text = value.string ?? ""
            return "the text \"\(text.prefix(longest))\(text.count > longest ? "..." : "")\""
        }
    }

    // MARK: - Path

    private mutating func inside(_ element: PathElement, _ body: (inout ContentChecker) -> Void) {
        self.path.append(element)
        body(&self)
        self.path.removeLast()
    }

    /// - Parameter hidesKeys: whether `{}` stands for each key of a dictionary.
    private func pathText(hidesKeys: Bool = false) -> String {
        var text = self.root
        for element in self.path {
            switch element {
            case .element(let index): text += "[\(index)]"
            case .key where hidesKeys: text += "{}"
            case .member(let key), .key(let key): text += Self.isPlain(key) ? ".\(key)" : "[\"\(key)\"]"
            }
        }
        return text
    }

    private static func isPlain(_ key: String) -> Bool {
        !key.isEmpty
            && key.utf8.allSatisfy { byte in
                byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
                    || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            }
    }
}
