/// The escapes of RFC 8259 section 7.
enum JSONEscape {
    /// What a backslash and this letter stand for; nil for `u` and for what is no escape.
    static func character(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The UTF-16 unit that hexadecimal digits name; nil if one is no such digit.
    static func unit(_ digits: ArraySlice<UInt8>) -> UInt16? {
        var unit: UInt16 = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }

    /// The UTF-8 that the checked inside of a string stands for.
    static func decode(_ content: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(content.count)
        var units: [UInt16] = []
        var rest = content
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else {
                decoded.append(byte)
                continue
            }
            if let character = Self.character(letter) {
                decoded.append(character)
                continue
            }
            units.removeAll(keepingCapacity: true)
            units.append(Self.unit(rest.prefix(4)) ?? 0)
            rest = rest.dropFirst(4)
            if UTF16.isLeadSurrogate(units[0]) {
                units.append(Self.unit(rest.dropFirst(2).prefix(4)) ?? 0)
                rest = rest.dropFirst(6)
            }
            decoded.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
        }
        return decoded
    }
}
