/// Hexadecimal text.
enum Hexadecimal {
    /// Two lower-case digits for each byte.
    static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { digits in
            var position = 0
            for byte in bytes {
                digits[position] = Self.digit(byte >> 4)
                digits[position + 1] = Self.digit(byte & 0xF)
                position += 2
            }
            return position
        }
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

    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
