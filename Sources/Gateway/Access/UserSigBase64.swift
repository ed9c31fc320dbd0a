/// Base64 (RFC 4648, section 4) with padding, in the standard alphabet or in that of a UserSig.
struct UserSigBase64 {
    /// `+`, `/` and `=`.
    static let standard = UserSigBase64(plus: "+", slash: "/", padding: "=")
    /// `*`, `-` and `_` in their place, so that the text can stand in a URL.
    static let userSig = UserSigBase64(plus: "*", slash: "-", padding: "_")

    private let alphabet: [UInt8]
    private let padding: UInt8
    private let values: [UInt8?]

    private init(plus: String, slash: String, padding: String) {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + plus + slash
        alphabet = Array(digits.utf8)
        self.padding = padding.utf8.first ?? 0
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, digit) in alphabet.enumerated() {
            values[Int(digit)] = UInt8(value)
        }
        self.values = values
    }

    /// The bytes; nil for a character outside the alphabet, a length that is no multiple of 4, or misplaced padding.
    func decode(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        guard digits.count % 4 == 0 else { return nil }
        var padded = 0
        while padded < 2, digits.last == padding {
            digits.removeLast()
            padded += 1
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var count = 0
        for digit in digits {
            guard let value = values[Int(digit)] else { return nil }
            bits = (bits << 6 | UInt32(value)) & 0xFF_FFFF
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }

    /// The text of `bytes`, padded.
    func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = (bits << 8 | UInt32(byte)) & 0xFF_FFFF
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> UInt32(count) & 0x3F)])
            }
        }
        if count > 0 {
            text.append(alphabet[Int(bits << UInt32(6 - count) & 0x3F)])
        }
        while text.count % 4 != 0 {
            text.append(padding)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
