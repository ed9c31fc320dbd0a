/// Texts that Foundation's types accept.
enum TextForms {
    /// Whether `Data` accepts a text as base64: the standard alphabet in groups of four, the last one padded, no white space.
    ///
    /// swift-foundation also takes more padding than is needed, and a last group such as `AA=A`.
    static func isBase64(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let last = bytes.lastIndex(where: { $0 != UInt8(ascii: "=") }) else {
            return bytes.isEmpty || bytes.count >= 4
        }
        let lastGroup = last / 4 * 4
        guard bytes.count >= lastGroup + 4 else { return false }
        for (position, byte) in bytes[...last].enumerated() {
            switch byte {
            case UInt8(ascii: "="):
                if position < lastGroup + 2 { return false }
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                continue
            default:
                return false
            }
        }
        return last >= lastGroup + 1
    }

    /// Whether `UUID` accepts a text: 8-4-4-4-12 hexadecimal digits.
    ///
    /// Foundation reads each pair of digits with C's `%2hhx`, which also takes white space, a sign or `0x` for a digit.
    static func isUUID(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        guard rest.count == 36 else { return false }
        for pair in 0..<16 {
            if [4, 6, 8, 10].contains(pair), rest.popFirst() != UInt8(ascii: "-") { return false }
            guard Self.takeHexadecimalPair(&rest) else { return false }
        }
        return rest.isEmpty
    }

    private static func takeHexadecimalPair(_ rest: inout ArraySlice<UInt8>) -> Bool {
        while let byte = rest.first, byte == 0x20 || 0x09...0x0D ~= byte { rest = rest.dropFirst() }
        var width = 2
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") {
            rest = rest.dropFirst()
            width = 1
        }
        guard rest.first?.isHexadecimalDigit == true else { return false }
        let isZero = rest.popFirst() == UInt8(ascii: "0")
        guard width == 2, let second = rest.first else { return true }
        if second.isHexadecimalDigit || isZero && second | 0x20 == UInt8(ascii: "x") { rest = rest.dropFirst() }
        return true
    }
}

extension UInt8 {
    var isHexadecimalDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
