/// The text of a notification for phones of one language; one element of Tencent's `MultiLanguageContent`.
public struct NotificationTranslation: Sendable, Equatable, CustomStringConvertible {
    /// A language tag such as `zh-Hant` or `en`, as the sender wrote it.
    public var language: String
    /// Takes the place of the title; nil or empty leaves it.
    public var title: String?
    /// Takes the place of the body; nil or empty leaves it.
    public var body: String?

    /// Makes a translation.
    public init(language: String, title: String? = nil, body: String? = nil) {
        self.language = language
        self.title = title
        self.body = body
    }

    /// The language and the size of its texts; never the texts.
    public var description: String {
        "\(self.language): \((self.title ?? "").utf8.count) + \((self.body ?? "").utf8.count) bytes"
    }
}
