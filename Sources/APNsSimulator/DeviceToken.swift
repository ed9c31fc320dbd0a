import COpenSSL

/// A device, activity or start token in lower-case hexadecimal.
struct DeviceToken: Hashable {
    let hexadecimal: String

    /// - Parameter text: an even number of hexadecimal digits for 32 to 256 bytes. Apple says to assume no size; 32 bytes
    ///   is what devices have, activities have up to 100 and more.
    /// - Returns: nil for anything else.
    init?(_ text: some StringProtocol) {
        let count = text.utf8.count
        guard
            (64...512).contains(count), count.isMultiple(of: 2),
            text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
        else { return nil }
        self.hexadecimal = text.lowercased()
    }

    /// The first 12 lower-case hexadecimal digits of the SHA-256 of the token's bytes: the same that the gateway's logs and
    /// views show.
    var fingerprint: String {
        var bytes: [UInt8] = []
        var digits = hexadecimal.utf8.makeIterator()
        while let high = digits.next(), let low = digits.next() {
            bytes.append(DeviceToken.value(of: high) << 4 | DeviceToken.value(of: low))
        }
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(bytes, bytes.count, &digest)
        return digest.prefix(6).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func value(of digit: UInt8) -> UInt8 {
        digit >= UInt8(ascii: "a") ? digit - UInt8(ascii: "a") + 10 : digit - UInt8(ascii: "0")
    }
}
