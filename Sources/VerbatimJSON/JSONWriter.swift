/// Appends JSON to a buffer: UTF-8, no white space, and only those escapes that RFC 8259 section 7 demands (`"`, `\` and
/// control characters), so that a text takes no more bytes of a 4096-byte push than it must.
///
/// The writer puts the commas and colons; that objects and arrays are closed, and each name gets one value, is up to the caller.
public struct JSONWriter: Sendable {
    /// What was written so far.
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// A writer with nothing written.
    ///
    /// - Parameter capacity: bytes to make room for at once, where it is known about how many there will be.
    public init(capacity: Int = 256) {
        self.bytes.reserveCapacity(capacity)
    }

    // MARK: - Structure

    /// Writes `{`.
    public mutating func beginObject() {
        self.separate()
        self.bytes.append(UInt8(ascii: "{"))
        self.needsComma = false
    }

    /// Writes `}`.
    public mutating func endObject() {
        self.bytes.append(UInt8(ascii: "}"))
        self.needsComma = true
    }

    /// Writes `[`.
    public mutating func beginArray() {
        self.separate()
        self.bytes.append(UInt8(ascii: "["))
        self.needsComma = false
    }

    /// Writes `]`.
    public mutating func endArray() {
        self.bytes.append(UInt8(ascii: "]"))
        self.needsComma = true
    }

    /// Writes the name of a member, whose value must follow.
    public mutating func key(_ name: String) {
        self.quoted(name, isKey: true)
        self.needsComma = false
    }

    // MARK: - Values

    /// Writes a string.
    public mutating func string(_ value: String) {
        self.quoted(value, isKey: false)
    }

    /// Writes an integer.
    ///
    /// Inlinable: made for any kind of integer, it costs ten times as much.
    @inlinable
    public mutating func integer(_ value: some BinaryInteger) {
        if let value = Int64(exactly: value) {
            self.decimal(value)
        } else {
            self.raw(String(value).utf8)
        }
    }

    @usableFromInline
    mutating func decimal(_ value: Int64) {
        self.separate()
        self.bytes.append(addingCapacity: DecimalText.maximumCount) { output in
            output.withUnsafeMutableBufferPointer { buffer, count in
                count += DecimalText.write(value, to: UnsafeMutableBufferPointer(rebasing: buffer[count...]))
            }
        }
    }

    /// Writes a number in its shortest form that reads back as the same double; `null` if it is not finite, for which
    /// JSON has no number.
    public mutating func double(_ value: Double) {
        self.separate()
        self.bytes.append(contentsOf: (value.isFinite ? value.description : "null").utf8)
    }

    /// Writes `true` or `false`.
    public mutating func boolean(_ value: Bool) {
        self.separate()
        self.bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Writes `null`.
    public mutating func null() {
        self.separate()
        self.bytes.append(contentsOf: "null".utf8)
    }

    /// Writes a value that is JSON already, byte for byte; for example `JSONValue.verbatim`.
    public mutating func raw(_ json: some Sequence<UInt8>) {
        self.separate()
        self.bytes.append(contentsOf: json)
    }

    // MARK: - Members

    /// Writes a member with a string; nothing if it is nil.
    public mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        self.key(name)
        self.string(value)
    }

    /// Writes a member with an integer; nothing if it is nil.
    public mutating func member(_ name: String, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        self.key(name)
        self.integer(value)
    }

    /// Writes a member with a boolean; nothing if it is nil.
    public mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        self.key(name)
        self.boolean(value)
    }

    /// Writes a member with a value that is JSON already, byte for byte; nothing if it is nil.
    public mutating func member(_ name: String, raw json: (some Sequence<UInt8>)?) {
        guard let json else { return }
        self.key(name)
        self.raw(json)
    }

    // MARK: - Text

    /// In one step with the comma before it and the colon after it: every append of its own asks again for the array's
    /// owner and its room, and a message's names and texts are some forty.
    private mutating func quoted(_ text: String, isKey: Bool) {
        let comma = self.needsComma ? 1 : 0
        self.needsComma = true
        // At the bytes themselves, not by way of the view, which is some times slower.
        var text = text
        text.withUTF8 { text in
            guard text.allSatisfy(Self.isPlain) else {
                self.bytes.append(contentsOf: comma == 0 ? "\"".utf8 : ",\"".utf8)
                for byte in text { self.appendEscaped(byte) }
                self.bytes.append(contentsOf: isKey ? "\":".utf8 : "\"".utf8)
                return
            }
            self.bytes.append(addingCapacity: text.count + 4) { output in
                if comma == 1 { output.append(UInt8(ascii: ",")) }
                output.append(UInt8(ascii: "\""))
                output.withUnsafeMutableBufferPointer { buffer, count in
                    count = buffer[count...].initialize(fromContentsOf: text)
                }
                output.append(UInt8(ascii: "\""))
                if isKey { output.append(UInt8(ascii: ":")) }
            }
        }
    }

    // MARK: - Escapes

    /// How many bytes a text takes inside a string as this writer writes it, without the quotation marks.
    public static func escapedCount(of text: some StringProtocol) -> Int {
        text.utf8.reduce(0) { $0 + Self.escapedCount(of: $1) }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func escapedCount(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): 2
        case 0x08, 0x09, 0x0A, 0x0C, 0x0D: 2
        case 0x00..<0x20: 6
        default: 1
        }
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): self.appendEscape(byte)
        case 0x08: self.appendEscape(UInt8(ascii: "b"))
        case 0x09: self.appendEscape(UInt8(ascii: "t"))
        case 0x0A: self.appendEscape(UInt8(ascii: "n"))
        case 0x0C: self.appendEscape(UInt8(ascii: "f"))
        case 0x0D: self.appendEscape(UInt8(ascii: "r"))
        case 0x00..<0x20:
            self.bytes.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u00").utf8)
            self.bytes.append(contentsOf: String(byte, radix: 16).utf8)
        default: self.bytes.append(byte)
        }
    }

    private mutating func appendEscape(_ letter: UInt8) {
        self.bytes.append(UInt8(ascii: "\\"))
        self.bytes.append(letter)
    }

    private mutating func separate() {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        self.needsComma = true
    }
}
