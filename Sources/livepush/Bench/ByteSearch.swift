import Glibc

/// Finds text in bytes.
enum ByteSearch {
    /// Where `text`, which is not empty, stands first.
    static func first(_ text: [UInt8], in bytes: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
        guard let head = text.first, let base = bytes.baseAddress else { return nil }
        var position = start
        while position + text.count <= bytes.count {
            guard let found = memchr(base + position, Int32(head), bytes.count - text.count + 1 - position) else {
                return nil
            }
            position = UnsafeRawPointer(found) - base
            if memcmp(found, text, text.count) == 0 { return position }
            position += 1
        }
        return nil
    }

    /// The decimal number that begins at `start`; nil if none does.
    static func number(in bytes: UnsafeRawBufferPointer, at start: Int) -> Int? {
        let digits = bytes[start...].prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}
