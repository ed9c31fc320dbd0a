/// A value of a document: a cursor, cheap to copy, that keeps the document alive.
public struct JSONValue: Sendable {
    /// What a value is.
    public enum Kind: Sendable, Equatable {
        /// `{...}`
        case object
        /// `[...]`
        case array
        /// `"..."`
        case string
        /// A number of any size and precision.
        case number
        /// `true` or `false`
        case boolean
        /// `null`
        case null
    }

    private let storage: JSONStorage
    private let index: Int

    init(storage: JSONStorage, index: Int) {
        self.storage = storage
        self.index = index
    }

    private var node: JSONNode {
        self.storage.nodes[self.index]
    }

    /// Calls `body` with the document's bytes and nodes, valid only during the call, and this value's place among them.
    func withNodes(_ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<JSONNode>, Int) -> Void) {
        self.storage.bytes.withUnsafeBufferPointer { bytes in
            self.storage.nodes.withUnsafeBufferPointer { nodes in
                body(bytes, nodes, self.index)
            }
        }
    }

    /// What the value is.
    public var kind: Kind {
        switch self.node.kind {
        case .object: .object
        case .array: .array
        case .string, .escapedString: .string
        case .number: .number
        case .literalTrue, .literalFalse: .boolean
        case .literalNull: .null
        }
    }

    /// The exact bytes of the value in the text, white space inside included, white space around left out.
    public var verbatim: ArraySlice<UInt8> {
        self.storage.bytes[self.node.range]
    }

    // MARK: - Containers

    /// The value of an object's member; nil if there is none of that name, or this is no object.
    ///
    /// Names are compared scalar by scalar after decoding: `é` in one piece and in two are different names.
    public subscript(key: String) -> JSONValue? {
        guard self.node.kind == .object else { return nil }
        let end = Int(self.node.next)
        var name = self.index + 1
        while name < end {
            if self.isString(at: name, equalTo: key) { return JSONValue(storage: self.storage, index: name + 1) }
            name = Int(self.storage.nodes[name + 1].next)
        }
        return nil
    }

    /// The members of an object in the order of the text; empty for anything else.
    public var members: [(key: String, value: JSONValue)] {
        guard self.node.kind == .object else { return [] }
        let end = Int(self.node.next)
        var members: [(key: String, value: JSONValue)] = []
        members.reserveCapacity((end - self.index) / 2)
        var name = self.index + 1
        while name < end {
            members.append((self.string(at: name), JSONValue(storage: self.storage, index: name + 1)))
            name = Int(self.storage.nodes[name + 1].next)
        }
        return members
    }

    /// The elements of an array in order; empty for anything else.
    public var elements: [JSONValue] {
        guard self.node.kind == .array else { return [] }
        let end = Int(self.node.next)
        var elements: [JSONValue] = []
        var element = self.index + 1
        while element < end {
            elements.append(JSONValue(storage: self.storage, index: element))
            element = Int(self.storage.nodes[element].next)
        }
        return elements
    }

    /// Where the value stands in its document: names from the root on, with dots, and positions in brackets, such as
    /// `aps.alert.loc-args[0]`; empty for the root. Looked for, not kept: only a fault needs it.
    public var path: String {
        var path = ""
        var parent = 0
        while parent < self.index {
            let isObject = self.storage.nodes[parent].kind == .object
            var (child, position) = (parent + (isObject ? 2 : 1), 0)
            while self.storage.nodes[child].next <= self.index {
                child = Int(self.storage.nodes[child].next) + (isObject ? 1 : 0)
                position += 1
            }
            if isObject {
                path += (path.isEmpty ? "" : ".") + self.string(at: child - 1)
            } else {
                path += "[\(position)]"
            }
            parent = child
        }
        return path
    }

    // MARK: - Scalars

    /// The decoded text of a string; nil for anything else.
    public var string: String? {
        switch self.node.kind {
        case .string, .escapedString: self.string(at: self.index)
        default: nil
        }
    }

    /// The value of `true` and `false`; nil for anything else, numbers included.
    public var boolean: Bool? {
        switch self.node.kind {
        case .literalTrue: true
        case .literalFalse: false
        default: nil
        }
    }

    /// The value of an integral number that fits, however written (`1`, `1.0`, `1e2`, `-0`); nil for `1.5`, for a larger
    /// one and for anything else. Exact, never by way of a floating-point number.
    public var integer: Int64? {
        self.node.kind == .number ? JSONNumber.integer(self.verbatim) : nil
    }

    /// As `integer`, and also for a string that holds nothing but such a number: Tencent's clients send `"1"` for 1.
    public var integerOrNumericString: Int64? {
        switch self.node.kind {
        case .number:
            return JSONNumber.integer(self.verbatim)
        case .string, .escapedString:
            let text = self.content(at: self.index)
            guard case .success(text.endIndex) = JSONNumber.scan(text) else { return nil }
            return JSONNumber.integer(text)
        default:
            return nil
        }
    }

    /// The double nearest to a number; nil if it is too large for one (`1e400`), and for anything else.
    public var double: Double? {
        guard self.node.kind == .number, let value = Double(String(decoding: self.verbatim, as: UTF8.self)),
            value.isFinite
        else { return nil }
        return value
    }

    // MARK: - Text

    private func content(at index: Int) -> ArraySlice<UInt8> {
        let node = self.storage.nodes[index]
        let content = self.storage.bytes[node.contentRange]
        return node.kind == .escapedString ? JSONEscape.decode(content)[...] : content
    }

    private func string(at index: Int) -> String {
        String(decoding: self.content(at: index), as: UTF8.self)
    }

    private func isString(at index: Int, equalTo text: String) -> Bool {
        let node = self.storage.nodes[index]
        guard node.kind != .escapedString else { return text.utf8.elementsEqual(self.content(at: index)) }
        let range = node.contentRange
        guard range.count == text.utf8.count else { return false }
        // At the bytes themselves: an object's members are compared one after the other at every look-up.
        var text = text
        return text.withUTF8 { text in
            self.storage.bytes.withUnsafeBufferPointer { bytes in
                for offset in text.indices where bytes[range.lowerBound + offset] != text[offset] {
                    return false
                }
                return true
            }
        }
    }
}
