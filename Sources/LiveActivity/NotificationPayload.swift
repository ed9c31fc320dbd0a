import VerbatimJSON

/// The body of a normal notification (Apple: "Generating a remote notification"; Tencent: `OfflinePushInfo`).
public enum NotificationPayload {
    /// The bytes of a notification, its texts cut if it would be too large.
    ///
    /// The body is cut first, then the subtitle, then the title, each between user-perceived characters and with `…` at
    /// the end. A text that has no room even for that is left out, except the last one. `ext` and `image` are never cut:
    /// half of what an app is to parse is worse than nothing.
    ///
    /// - Parameter limit: bytes that the whole may take.
    /// - Returns: the bytes, and whether a text was cut or left out.
    /// - Throws: `tooLarge` if no text would be left to show.
    public static func encode(
        _ content: NotificationContent,
        limit: Int = PayloadLimit.bytes,
    ) throws(PayloadError) -> (bytes: [UInt8], textWasCut: Bool) {
        let whole = Self.write(content)
        if whole.count <= limit { return (whole, false) }

        var cut = content
        for text in [\NotificationContent.body, \.subtitle, \.title] {
            guard let original = cut[keyPath: text], !original.isEmpty else { continue }
            let excess = Self.write(cut).count - limit
            let room = JSONWriter.escapedCount(of: original) - excess
            if room >= Self.ellipsis.utf8.count {
                cut[keyPath: text] =
                    Self.prefix(of: original, escapedCount: room - Self.ellipsis.utf8.count) + Self.ellipsis
                return (Self.write(cut), true)
            }
            cut[keyPath: text] = nil
            let bytes = Self.write(cut)
            if bytes.count <= limit, !cut.isEmpty { return (bytes, true) }
        }
        throw .tooLarge(bytes: Self.write(cut).count)
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

    private static func write(_ content: NotificationContent) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        if !content.isEmpty {
            writer.key("alert")
            writer.beginObject()
            writer.member("title", Self.nonEmpty(content.title))
            writer.member("subtitle", Self.nonEmpty(content.subtitle))
            writer.member("body", Self.nonEmpty(content.body))
            writer.endObject()
        }
        // The name that Tencent's client SDK gives to silence; to Apple it would be a missing file, which plays the default.
        if content.sound != "push.no_sound" { writer.member("sound", Self.nonEmpty(content.sound)) }
        if content.mutableContent { writer.member("mutable-content", 1) }
        writer.member("interruption-level", content.interruptionLevel?.rawValue)
        writer.endObject()
        writer.member("ext", content.ext)
        writer.member("image", Self.nonEmpty(content.image))
        writer.endObject()
        return writer.bytes
    }

    private static func nonEmpty(_ text: String?) -> String? {
        text?.isEmpty == true ? nil : text
    }
}
