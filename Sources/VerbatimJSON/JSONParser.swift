/// One pass over a text: checks it and notes where each value stands.
struct JSONParser {
    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var offset = 0
    private var open: [OpenContainer] = []
    private(set) var nodes: [JSONNode] = []

    private struct OpenContainer {
        let node: Int
        let isObject: Bool
    }

    init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    mutating func parse() throws(JSONError) {
        guard self.bytes.count < Int(UInt32.max) else { throw JSONError(offset: 0, reason: .tooLong) }
        if self.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { throw JSONError(offset: 0, reason: .byteOrderMark) }
        self.nodes.reserveCapacity(self.bytes.count / 8 + 1)
        self.open.reserveCapacity(8)
        self.skipWhitespace()
        guard self.offset < self.bytes.count else { throw JSONError(offset: self.offset, reason: .empty) }
        repeat {
            let containerHasContent = try self.value()
            if containerHasContent { continue }
            try self.closeAndSeparate()
        } while !self.open.isEmpty
        self.skipWhitespace()
        guard self.offset == self.bytes.count else {
            throw JSONError(
                offset: self.offset,
                reason: self.bytes[self.offset] == 0 ? .nulCharacter : .trailingContent
            )
        }
    }

    // MARK: - Structure

    /// Reads one scalar, or opens one container. True if a container was opened and its first value comes next.
    private mutating func value() throws(JSONError) -> Bool {
        guard self.offset < self.bytes.count else { throw self.unexpected() }
        switch self.bytes[self.offset] {
        case UInt8(ascii: "{"):
            return try self.openContainer(isObject: true, closing: UInt8(ascii: "}"))
        case UInt8(ascii: "["):
            return try self.openContainer(isObject: false, closing: UInt8(ascii: "]"))
        case UInt8(ascii: "\""):
            try self.string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try self.number()
        case UInt8(ascii: "t"):
            try self.literal("true", .literalTrue)
        case UInt8(ascii: "f"):
            try self.literal("false", .literalFalse)
        case UInt8(ascii: "n"):
            try self.literal("null", .literalNull)
        case UInt8(ascii: "+"), UInt8(ascii: "."):
            throw JSONError(offset: self.offset, reason: .invalidNumber)
        default:
            throw self.unexpected()
        }
        return false
    }

    private mutating func openContainer(isObject: Bool, closing: UInt8) throws(JSONError) -> Bool {
        guard self.open.count < self.maximumDepth else { throw JSONError(offset: self.offset, reason: .tooDeep) }
        self.open.append(OpenContainer(node: self.nodes.count, isObject: isObject))
        self.append(isObject ? .object : .array, from: self.offset, to: self.offset)
        self.offset += 1
        self.skipWhitespace()
        if self.offset < self.bytes.count, self.bytes[self.offset] == closing {
            try self.closeContainer()
            return false
        }
        if isObject { try self.name() }
        return true
    }

    /// After a value: closes what ends here, up to the comma behind which the next value stands.
    private mutating func closeAndSeparate() throws(JSONError) {
        while let container = self.open.last {
            self.skipWhitespace()
            guard self.offset < self.bytes.count else { throw self.unexpected() }
            switch self.bytes[self.offset] {
            case UInt8(ascii: ","):
                self.offset += 1
                self.skipWhitespace()
                if container.isObject { try self.name() }
                return
            case container.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"):
                try self.closeContainer()
            default:
                throw self.unexpected()
            }
        }
    }

    private mutating func closeContainer() throws(JSONError) {
        self.offset += 1
        guard let container = self.open.popLast() else { return }
        self.nodes[container.node].end = UInt32(self.offset)
        self.nodes[container.node].next = UInt32(self.nodes.count)
        if container.isObject, let duplicate = self.duplicateName(of: container.node) {
            throw JSONError(offset: Int(self.nodes[duplicate].start), reason: .duplicateKey)
        }
    }

    /// A member's name and the colon, up to its value.
    private mutating func name() throws(JSONError) {
        guard self.offset < self.bytes.count, self.bytes[self.offset] == UInt8(ascii: "\"") else {
            throw self.unexpected()
        }
        try self.string()
        self.skipWhitespace()
        guard self.offset < self.bytes.count, self.bytes[self.offset] == UInt8(ascii: ":") else {
            throw self.unexpected()
        }
        self.offset += 1
        self.skipWhitespace()
    }

    private mutating func skipWhitespace() {
        while self.offset < self.bytes.count {
            switch self.bytes[self.offset] {
            case 0x20, 0x0A, 0x0D, 0x09: self.offset += 1
            default: return
            }
        }
    }

    private mutating func append(_ kind: JSONNode.Kind, from start: Int, to end: Int) {
        // Less than 2^32, since `parse` refuses longer texts and no value is shorter than a byte.
        let next = UInt32(self.nodes.count + 1)
        self.nodes.append(JSONNode(kind: kind, start: UInt32(start), end: UInt32(end), next: next))
    }

    private func unexpected() -> JSONError {
        guard self.offset < self.bytes.count else { return JSONError(offset: self.offset, reason: .unexpectedEnd) }
        let isNul = self.bytes[self.offset] == 0
        return JSONError(offset: self.offset, reason: isNul ? .nulCharacter : .unexpectedCharacter)
    }

    // MARK: - Scalars

    private mutating func literal(_ word: StaticString, _ kind: JSONNode.Kind) throws(JSONError) {
        let start = self.offset
        for index in 0..<word.utf8CodeUnitCount {
            guard self.offset < self.bytes.count, self.bytes[self.offset] == word.utf8Start[index] else {
                throw self.unexpected()
            }
            self.offset += 1
        }
        self.append(kind, from: start, to: self.offset)
    }

    private mutating func number() throws(JSONError) {
        let start = self.offset
        switch JSONNumber.scan(self.bytes[start...]) {
        case .success(let end):
            self.offset = end
            self.append(.number, from: start, to: end)
        case .failure(let fault):
            let atEnd = fault.offset == self.bytes.count
            throw JSONError(offset: fault.offset, reason: atEnd ? .unexpectedEnd : .invalidNumber)
        }
    }

    private mutating func string() throws(JSONError) {
        let start = self.offset
        self.offset += 1
        var kind = JSONNode.Kind.string
        while self.offset < self.bytes.count {
            let byte = self.bytes[self.offset]
            switch byte {
            case UInt8(ascii: "\""):
                self.offset += 1
                self.append(kind, from: start, to: self.offset)
                return
            case UInt8(ascii: "\\"):
                kind = .escapedString
                try self.escape()
            case 0x20..<0x80:
                self.offset += 1
            case 0:
                throw JSONError(offset: self.offset, reason: .nulCharacter)
            case 0x01..<0x20:
                throw JSONError(offset: self.offset, reason: .controlCharacter)
            default:
                try self.multibyteScalar(leading: byte)
            }
        }
        throw self.unexpected()
    }

    private mutating func escape() throws(JSONError) {
        let start = self.offset
        guard start + 1 < self.bytes.count else { throw JSONError(offset: self.bytes.count, reason: .unexpectedEnd) }
        guard self.bytes[start + 1] == UInt8(ascii: "u") else {
            guard JSONEscape.character(self.bytes[start + 1]) != nil else {
                throw JSONError(offset: start, reason: .invalidEscape)
            }
            self.offset += 2
            return
        }
        let unit = try self.hexadecimalUnit(escapeAt: start)
        self.offset = start + 6
        switch unit {
        case 0:
            throw JSONError(offset: start, reason: .nulCharacter)
        case 0xD800..<0xDC00:
            let second = start + 6
            guard second + 1 < self.bytes.count, self.bytes[second] == UInt8(ascii: "\\"),
                self.bytes[second + 1] == UInt8(ascii: "u"),
                case 0xDC00..<0xE000 = try self.hexadecimalUnit(escapeAt: second)
            else { throw JSONError(offset: start, reason: .loneSurrogate) }
            self.offset = second + 6
        case 0xDC00..<0xE000:
            throw JSONError(offset: start, reason: .loneSurrogate)
        default:
            break
        }
    }

    private func hexadecimalUnit(escapeAt start: Int) throws(JSONError) -> UInt16 {
        guard start + 6 <= self.bytes.count else {
            throw JSONError(offset: self.bytes.count, reason: .unexpectedEnd)
        }
        guard let unit = JSONEscape.unit(self.bytes[start + 2..<start + 6]) else {
            throw JSONError(offset: start, reason: .invalidEscape)
        }
        return unit
    }

    /// One scalar of two to four bytes, by the table of RFC 3629 section 4: nothing overlong, no surrogates, no more than
    /// U+10FFFF.
    private mutating func multibyteScalar(leading: UInt8) throws(JSONError) {
        let length: Int
        let second: ClosedRange<UInt8>
        switch leading {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xE1...0xEC, 0xEE...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw JSONError(offset: self.offset, reason: .invalidUTF8)
        }
        guard self.offset + length <= self.bytes.count, second.contains(self.bytes[self.offset + 1]) else {
            throw JSONError(offset: self.offset, reason: .invalidUTF8)
        }
        for index in self.offset + 2..<self.offset + length where self.bytes[index] & 0xC0 != 0x80 {
            throw JSONError(offset: self.offset, reason: .invalidUTF8)
        }
        self.offset += length
    }

    // MARK: - Duplicate names

    /// The second of two equal names, as node index. Names are compared after decoding, scalar by scalar.
    ///
    /// A few plain names are compared each with each, which takes half the time of hashing them. Many are hashed, and so are
    /// escaped ones, which would otherwise be decoded for each comparison: neither may make a request expensive.
    private func duplicateName(of object: Int) -> Int? {
        let first = object + 1
        let end = Int(self.nodes[object].next)
        var name = first
        var count = 0
        while name < end {
            if count == 16 || self.nodes[name].kind == .escapedString {
                return self.duplicateNameByHash(from: first, to: end)
            }
            var earlier = first
            while earlier < name {
                if self.plainNamesAreEqual(self.nodes[earlier], self.nodes[name]) { return name }
                earlier = Int(self.nodes[earlier + 1].next)
            }
            count += 1
            name = Int(self.nodes[name + 1].next)
        }
        return nil
    }

    private func duplicateNameByHash(from first: Int, to end: Int) -> Int? {
        var seen = Set<MemberName>()
        var name = first
        while name < end {
            guard seen.insert(MemberName(self.nodes[name], in: self.bytes)).inserted else { return name }
            name = Int(self.nodes[name + 1].next)
        }
        return nil
    }

    private func plainNamesAreEqual(_ left: JSONNode, _ right: JSONNode) -> Bool {
        guard left.end - left.start == right.end - right.start else { return false }
        return self.bytes[left.contentRange].elementsEqual(self.bytes[right.contentRange])
    }
}

/// A name for comparison. Hashed with the standard library's seeded hash, so that chosen names cannot collide.
private struct MemberName: Hashable {
    let bytes: ArraySlice<UInt8>

    init(_ node: JSONNode, in text: [UInt8]) {
        let content = text[node.contentRange]
        self.bytes = node.kind == .escapedString ? JSONEscape.decode(content)[...] : content
    }

    static func == (left: MemberName, right: MemberName) -> Bool {
        left.bytes.elementsEqual(right.bytes)
    }

    func hash(into hasher: inout Hasher) {
        self.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
