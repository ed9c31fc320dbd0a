/// Hexadecimal text.
enum Hexadecimal {
    /// Two lower-case digits for each byte.
    static func encode(_ bytes: some Collection<UInt8>) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            digits.append(Self.digit(byte >> 4))
            digits.append(Self.digit(byte & 0xF))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The value of each digit, of either case; nil if any character is none.
    static func values(of characters: [UInt8]) -> [UInt8]? {
        var values: [UInt8] = []
        values.reserveCapacity(characters.count)
        for character in characters {
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): values.append(character - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): values.append(character - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): values.append(character - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return values
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
