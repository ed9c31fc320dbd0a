/// Percent-decoding of RFC 3986, section 2.1.
enum PercentEncoding {
    /// The decoded text; nil for an escape that is not two hex digits, for bytes that are not UTF-8, and for a NUL, which
    /// neither PostgreSQL nor a log should meet.
    ///
    /// Takes memory rather than a view of the text, which is some times slower to walk.
    static func decode(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        let text = UnsafeBufferPointer(rebasing: text)
        if text.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "%") && $0 != 0 }) {
            return String(decoding: text, as: UTF8.self)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
