/// Ids that derive from a message and its target, so that a push sent again after a crash carries the ids of the first.
public enum PushIdentifiers {
    /// The `apns-id` of one push: a UUID in the canonical lower-case form that Apple asks for.
    ///
    /// Version 8 of RFC 9562 section 5.8 (its own making), from a SHA-256.
    ///
    /// - Parameters:
    ///   - kind: what tells apart pushes of one message to one target, such as an activity push and its fallback.
    ///   - target: whom the push is for, the same at each attempt.
    public static func apnsID(messageID: Int64, kind: String, target: String) -> String {
        var bytes = Digest.sha256(parts: ["apns-id", String(messageID), kind, target])
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return String(unsafeUninitializedCapacity: 36) { digits in
            var position = 0
            for index in 0..<16 {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    digits[position] = UInt8(ascii: "-")
                    position += 1
                }
                digits[position] = Hexadecimal.digit(bytes[index] >> 4)
                digits[position + 1] = Hexadecimal.digit(bytes[index] & 0xF)
                position += 2
            }
            return position
        }
    }

    /// The `apns-collapse-id` of a message's own notification: `m` and the message's id, at most 21 bytes of the 64.
    public static func collapseID(messageID: Int64) -> String {
        "m\(messageID)"
    }

    /// The `apns-collapse-id` of an activity: `a` and 32 hexadecimal digits, the same for each message about it.
    public static func collapseID(account: String, laID: String) -> String {
        "a" + Hexadecimal.encode(Digest.sha256(parts: ["collapse-id", account, laID]).prefix(16))
    }
}
