import VerbatimJSON

/// The body of a normal notification or a silent push (Apple: "Generating a remote notification"; Tencent:
/// `OfflinePushInfo`), encoded once for many phones that differ only in their badge.
public struct NotificationPayload: Sendable {
    /// Whether a text was cut or left out.
    public let textWasCut: Bool
    private let bytes: [UInt8]
    /// Where the badge goes; nil: the push has none, whatever the phone's number is.
    private let badgeOffset: Int?

    /// Encodes all but the badge, the texts cut if the push would be too large with the widest badge.
    ///
    /// The body is cut first, then the subtitle, then the title, each between user-perceived characters and with `…` at
    /// the end. A text that has no room even for that is left out, except the last one. `ext` and `image` are never cut:
    /// half of what an app is to parse is worse than nothing.
    ///
    /// - Parameters:
    ///   - content: its own texts count, not those of its translations.
    ///   - limit: bytes that the whole may take.
    /// - Throws: `tooLarge` if no text would be left to show.
    public init(_ content: NotificationContent, limit: Int = PayloadLimit.bytes) throws(PayloadError) {
        let limit = limit - (Self.hasBadge(content) ? Self.badge(BadgeChange.highest).count : 0)
        let (content, textWasCut) = try Self.cut(content, limit: limit)
        let (bytes, alertEnd) = Self.write(content)
        self.bytes = bytes
        self.textWasCut = textWasCut
        self.badgeOffset = Self.hasBadge(content) ? alertEnd : nil
    }

    /// Whether a notification of this content, its own texts counted, is within `PayloadLimit.bytes` for sure with nothing
    /// cut, as can be seen without encoding it.
    public static func surelyFits(_ content: NotificationContent) -> Bool {
        PayloadLimit.surelyHolds(
            texts: [content.title, content.subtitle, content.body, content.sound, content.ext, content.image],
        )
    }

    /// The bytes of the push.
    ///
    /// - Parameter badge: the number for the icon; it counts only where the content changes the badge.
    public func encode(badge: Int64?) -> [UInt8] {
        guard let badge, let offset = self.badgeOffset else { return self.bytes }
        return self.bytes[..<offset] + Self.badge(badge) + self.bytes[offset...]
    }

    private static func badge(_ number: Int64) -> [UInt8] {
        Array(",\"badge\":\(number)".utf8)
    }

    private static func hasBadge(_ content: NotificationContent) -> Bool {
        content.badge != .unchanged && !content.isSilent && !content.isEmpty
    }

    // MARK: - Cutting

    private static func cut(
        _ content: NotificationContent,
        limit: Int,
    ) throws(PayloadError) -> (NotificationContent, textWasCut: Bool) {
        if Self.size(of: content) <= limit { return (content, false) }

        var cut = content
        for text in [\NotificationContent.body, \.subtitle, \.title] {
            guard let original = cut[keyPath: text], !original.isEmpty else { continue }
            let excess = Self.size(of: cut) - limit
            let room = JSONWriter.escapedCount(of: original) - excess
            if room >= Self.ellipsis.utf8.count {
                cut[keyPath: text] =
                    Self.prefix(of: original, escapedCount: room - Self.ellipsis.utf8.count) + Self.ellipsis
                return (cut, true)
            }
            cut[keyPath: text] = nil
            if Self.size(of: cut) <= limit, !cut.isEmpty { return (cut, true) }
        }
        throw .tooLarge(bytes: Self.size(of: cut))
    }

    private static let ellipsis = "…"

    /// The longest run of whole characters at the start of a text that takes no more bytes than this inside a JSON string.
    private static func prefix(of text: String, escapedCount room: Int) -> Substring {
        var end = text.startIndex
        var count = 0
        while end < text.endIndex {
            let next = text.index(after: end)
            count += JSONWriter.escapedCount(of: text[end..<next])
            if count > room { break }
            end = next
        }
        return text[..<end]
    }

    private static func size(of content: NotificationContent) -> Int {
        Self.write(content).bytes.count
    }

    // MARK: - Writing

    /// - Returns: the bytes, and where the alert ends, if there is one.
    private static func write(_ content: NotificationContent) -> (bytes: [UInt8], alertEnd: Int?) {
        var writer = JSONWriter()
        var alertEnd: Int?
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        if content.isSilent {
            // Alone: with alert, sound or badge beside it APNs would not take it for a background push.
            writer.member("content-available", 1)
        } else {
            alertEnd = Self.writeVisible(content, to: &writer)
        }
        writer.endObject()
        writer.member("ext", content.ext)
        if !content.isSilent { writer.member("image", Self.nonEmpty(content.image)) }
        writer.endObject()
        return (writer.bytes, alertEnd)
    }

    private static func writeVisible(_ content: NotificationContent, to writer: inout JSONWriter) -> Int? {
        var alertEnd: Int?
        if !content.isEmpty {
            writer.key("alert")
            writer.beginObject()
            writer.member("title", Self.nonEmpty(content.title))
            writer.member("subtitle", Self.nonEmpty(content.subtitle))
            writer.member("body", Self.nonEmpty(content.body))
            writer.endObject()
            alertEnd = writer.bytes.count
        }
        // The name that Tencent's client SDK gives to silence; to Apple it would be a missing file, which plays the default.
        if content.sound != "push.no_sound" { writer.member("sound", Self.nonEmpty(content.sound)) }
        if content.mutableContent { writer.member("mutable-content", 1) }
        writer.member("interruption-level", content.interruptionLevel?.rawValue)
        return alertEnd
    }

    private static func nonEmpty(_ text: String?) -> String? {
        text?.isEmpty == true ? nil : text
    }
}
