import COpenSSL

/// A random UUID (RFC 9562 version 4).
struct UniqueID {
    /// 8-4-4-4-12, lower-case.
    let text: String

    init() {
        var bytes = [UInt8](repeating: 0, count: 16)
        RAND_bytes(&bytes, 16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (position, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(position) {
                text.append(UInt8(ascii: "-"))
            }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        self.text = String(decoding: text, as: UTF8.self)
    }
}
