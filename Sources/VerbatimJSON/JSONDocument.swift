/// A checked JSON text that keeps its bytes, so that every value can leave exactly as it came.
///
/// Strict RFC 8259, and stricter where decoders disagree: duplicate names in one object and U+0000 are refused as well.
public struct JSONDocument: Sendable {
    let storage: JSONStorage

    /// Checks a text and indexes its values in one pass, without decoding any of them.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8 without a byte order mark.
    ///   - maximumDepth: how many arrays and objects may stand inside each other; `[]` is 1 deep. The pass keeps its own
    ///     stack, so no depth can overflow the thread's.
    /// - Throws: the first fault found. A duplicate name is found when its object ends.
    public init(parsing bytes: [UInt8], maximumDepth: Int = 512) throws(JSONError) {
        var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth)
        try parser.parse()
        self.storage = JSONStorage(bytes: bytes, nodes: parser.nodes)
    }

    /// The value that the text consists of.
    public var root: JSONValue {
        JSONValue(storage: self.storage, index: 0)
    }
}

/// What the cursors of one document share.
final class JSONStorage: Sendable {
    let bytes: [UInt8]
    /// In text order; an object's children are name, value, name, value ...; an object or array is followed by its children.
    let nodes: [JSONNode]

    init(bytes: [UInt8], nodes: [JSONNode]) {
        self.bytes = bytes
        self.nodes = nodes
    }
}

/// The place of one value, or of a member's name, in the text.
struct JSONNode {
    enum Kind: UInt8 {
        case object
        case array
        case string
        case escapedString
        case number
        case literalTrue
        case literalFalse
        case literalNull
    }

    var kind: Kind
    var start: UInt32
    /// The byte behind the value.
    var end: UInt32
    /// The node behind this one and all it contains.
    var next: UInt32

    var range: Range<Int> {
        Int(self.start)..<Int(self.end)
    }

    /// The bytes between the quotation marks. Only for strings.
    var contentRange: Range<Int> {
        Int(self.start) + 1..<Int(self.end) - 1
    }
}
