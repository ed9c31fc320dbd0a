/// Why a text is not strict JSON, and where. It never holds a part of the text, so it may be logged and answered.
public struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was wrong.
    public enum Reason: Sendable, Equatable {
        /// There is nothing but white space.
        case empty
        /// The text is longer than the 4 GiB that positions can count.
        case tooLong
        /// The text starts with U+FEFF, which RFC 8259 section 8.1 forbids to send.
        case byteOrderMark
        /// The text ended inside a value.
        case unexpectedEnd
        /// A byte that the grammar does not allow here: a trailing comma, a comment, a bare word.
        case unexpectedCharacter
        /// A number with a leading zero or plus, or without digits where the grammar wants one.
        case invalidNumber
        /// A backslash that is not followed by one of the escapes of RFC 8259 section 7.
        case invalidEscape
        /// A `\u` escape names half of a surrogate pair.
        case loneSurrogate
        /// A control character stands unescaped in a string.
        case controlCharacter
        /// U+0000, raw or as `\u0000`, which no text column of PostgreSQL can hold.
        case nulCharacter
        /// The bytes are not UTF-8 (RFC 3629).
        case invalidUTF8
        /// An object has the same name twice; decoders disagree on which one counts.
        case duplicateKey
        /// Arrays and objects are nested deeper than the limit.
        case tooDeep
        /// Something follows the value.
        case trailingContent
    }

    /// The position of the fault in bytes, from 0.
    public let offset: Int
    /// What was wrong there.
    public let reason: Reason

    /// - Parameter offset: in bytes, from 0.
    public init(offset: Int, reason: Reason) {
        self.offset = offset
        self.reason = reason
    }

    /// The reason in words and the position, without any content.
    public var description: String {
        "invalid JSON at byte \(self.offset): \(self.reason.words)"
    }
}

extension JSONError.Reason {
    fileprivate var words: String {
        switch self {
        case .empty: "there is no value"
        case .tooLong: "the text is too long"
        case .byteOrderMark: "a byte order mark is not allowed"
        case .unexpectedEnd: "the text ends inside a value"
        case .unexpectedCharacter: "unexpected character"
        case .invalidNumber: "a number is not written as JSON wants it"
        case .invalidEscape: "unknown escape in a string"
        case .loneSurrogate: "an escape names half of a surrogate pair"
        case .controlCharacter: "a control character must be escaped"
        case .nulCharacter: "the NUL character is not allowed"
        case .invalidUTF8: "the bytes are not UTF-8"
        case .duplicateKey: "an object has the same name twice"
        case .tooDeep: "arrays and objects are nested too deep"
        case .trailingContent: "something follows the value"
        }
    }
}
