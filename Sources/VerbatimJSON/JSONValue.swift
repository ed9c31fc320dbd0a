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
        // At the bytes themselves: a message is asked for some fifty names, and each is compared with many.
        var key = key
        let value = key.withUTF8 { key in
            self.storage.bytes.withUnsafeBufferPointer { bytes in
                self.storage.nodes.withUnsafeBufferPointer { nodes -> Int? in
                    guard nodes[self.index].kind == .object else { return nil }
                    let end = Int(nodes[self.index].next)
                    var name = self.index + 1
                    while name < end {
                        if Self.isName(nodes[name], equalTo: key, in: bytes) { return name + 1 }
                        name = Int(nodes[name + 1].next)
                    }
                    return nil
                }
            }
        }
        return value.map { JSONValue(storage: self.storage, index: $0) }
    }

    private static func isName(
        _ node: JSONNode,
        equalTo key: UnsafeBufferPointer<UInt8>,
        in bytes: UnsafeBufferPointer<UInt8>,
    ) -> Bool {
        let range = node.contentRange
        guard node.kind != .escapedString else {
            return JSONEscape.decode(Array(bytes[range])[...]).elementsEqual(key)
        }
        guard range.count == key.count else { return false }
        for offset in key.indices where bytes[range.lowerBound + offset] != key[offset] {
            return false
        }
        return true
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

    /// The names of an object's members that are none of `known`, in the order of the text; empty for anything else.
    public func names(besides known: [String]) -> [String] {
        guard self.node.kind == .object else { return [] }
        let end = Int(self.node.next)
        var names: [String] = []
        var name = self.index + 1
        while name < end {
            let node = self.storage.nodes[name]
            let isKnown = self.storage.bytes.withUnsafeBufferPointer { bytes in
                known.contains { key in
                    var key = key
                    return key.withUTF8 { Self.isName(node, equalTo: $0, in: bytes) }
                }
            }
            if !isKnown { names.append(self.string(at: name)) }
            name = Int(self.storage.nodes[name + 1].next)
        }
        return names
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
}
