public import VerbatimJSON

/// A text of a Live Activity's alert: the words themselves, or a key that the app has words for in the phone's language.
public enum AlertText: Sendable, Equatable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The words.
    case plain(String)
    /// A key of the app's `Localizable.strings`, and what takes the place of its `%@` in turn.
    case localized(key: String, arguments: [String])

    /// The words themselves.
    public init(stringLiteral words: String) {
        self = .plain(words)
    }

    /// Whether there is nothing to show: no words, or no key.
    public var isEmpty: Bool {
        switch self {
        case .plain(let words): words.isEmpty
        case .localized(let key, _): key.isEmpty
        }
    }

    /// Writes the text as Apple wants it inside the alert of a Live Activity: a string, or `{loc-key, loc-args}`. The keys
    /// `title-loc-key` and `loc-key` beside the texts belong to ordinary notifications.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .plain(let words):
            writer.string(words)
        case .localized(let key, let arguments):
            writer.beginObject()
            writer.member("loc-key", key)
            if !arguments.isEmpty {
                writer.key("loc-args")
                writer.beginArray()
                for argument in arguments {
                    writer.string(argument)
                }
                writer.endArray()
            }
            writer.endObject()
        }
    }

    /// Reads what `write(to:)` wrote.
    ///
    /// - Returns: nil for another form.
    public init?(_ value: JSONValue) {
        if let words = value.string {
            self = .plain(words)
            return
        }
        guard let key = value["loc-key"]?.string else { return nil }
        let arguments = value["loc-args"]?.elements ?? []
        let texts = arguments.compactMap(\.string)
        guard texts.count == arguments.count else { return nil }
        self = .localized(key: key, arguments: texts)
    }

    /// The kind and size; never the text.
    public var description: String {
        switch self {
        case .plain(let words): "\(words.utf8.count) bytes"
        case .localized(let key, let arguments): "key of \(key.utf8.count) bytes with \(arguments.count) arguments"
        }
    }

    /// The strings in it.
    var strings: [String] {
        switch self {
        case .plain(let words): [words]
        case .localized(let key, let arguments): [key] + arguments
        }
    }
}
