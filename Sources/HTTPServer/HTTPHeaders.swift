/// The header fields of a request, in their order, looked up without regard to case.
///
/// The fields stay in the bytes they came in; a `String` is made only of a value that somebody asks for, since a
/// request has many more headers than a handler reads.
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
    struct Field {
        var nameStart: Int
        var nameEnd: Int
        var valueStart: Int
        var valueEnd: Int
    }

    let bytes: [UInt8]
    let fields: [Field]

    init(bytes: [UInt8], fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }

    /// Makes headers of literal names and values; a name may occur more than once.
    public init(dictionaryLiteral elements: (String, String)...) {
        var bytes: [UInt8] = []
        var fields: [Field] = []
        for (name, value) in elements {
            let nameStart = bytes.count
            bytes.append(contentsOf: name.utf8)
            let valueStart = bytes.count
            bytes.append(contentsOf: value.utf8)
            fields.append(
                Field(nameStart: nameStart, nameEnd: valueStart, valueStart: valueStart, valueEnd: bytes.count)
            )
        }
        self.init(bytes: bytes, fields: fields)
    }

    /// The value of the first field of that name, without the blanks around it. Bytes that are not UTF-8 come as U+FFFD.
    public func first(named name: String) -> String? {
        fields.first { matches($0, name) }.map(value)
    }

    /// The values of all fields of that name, in their order.
    public func all(named name: String) -> [String] {
        fields.filter { matches($0, name) }.map(value)
    }

    private func value(of field: Field) -> String {
        String(decoding: bytes[field.valueStart..<field.valueEnd], as: UTF8.self)
    }

    func matches(_ field: Field, _ name: some StringProtocol) -> Bool {
        HTTPHeaders.equals(bytes[field.nameStart..<field.nameEnd], name)
    }

    /// Compares in ASCII, without regard to case.
    static func equals(_ bytes: ArraySlice<UInt8>, _ text: some StringProtocol) -> Bool {
        var index = bytes.startIndex
        for byte in text.utf8 {
            guard index < bytes.endIndex, lowercase(bytes[index]) == lowercase(byte) else { return false }
            index += 1
        }
        return index == bytes.endIndex
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
