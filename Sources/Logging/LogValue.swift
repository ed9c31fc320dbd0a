/// A value of a field of a log line.
public enum LogValue: Sendable, Hashable {
    case string(String)
    case integer(Int64)
    case double(Double)
    case boolean(Bool)
    /// Not known.
    case null

    /// A text of any value, by its `description`.
    public static func describing(_ value: any CustomStringConvertible) -> LogValue {
        .string(value.description)
    }

    /// An integer of any width that fits 64 bits.
    public static func count(_ value: some BinaryInteger) -> LogValue {
        .integer(Int64(clamping: value))
    }

    func append(to line: inout String) {
        switch self {
        case .string(let text): LogValue.appendQuoted(text, to: &line)
        case .integer(let number): line += String(number)
        case .double(let number): line += number.isFinite ? String(number) : "null"
        case .boolean(let flag): line += flag ? "true" : "false"
        case .null: line += "null"
        }
    }

    private static func appendQuoted(_ text: String, to line: inout String) {
        line += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": line += "\\\""
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            case "\u{0}"..<"\u{20}", "\u{7F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: line.unicodeScalars.append(scalar)
            }
        }
        line += "\""
    }
}

extension LogValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    /// A text as it stands in the source.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// A number as it stands in the source.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// A flag as it stands in the source.
    public init(booleanLiteral value: Bool) {
        self = .boolean(value)
    }
}
