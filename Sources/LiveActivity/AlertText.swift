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

    /// Whether there is nothing to show: no words but blanks, or no key.
    public var isEmpty: Bool {
        switch self {
        case .plain(let words): words.allSatisfy(\.isWhitespace)
        case .localized(let key, _): key.isEmpty
        }
    }

    /// The words themselves; nil where there are none, or the app has them.
    public var words: String? {
        if case .plain(let words) = self, !self.isEmpty { words } else { nil }
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

    /// Reads a text of a request, or what `write(to:)` wrote. Members that Apple does not have are ignored.
    ///
    /// - Parameter nullIsAbsent: whether `loc-args` may be null, and counts as absent then.
    /// - Throws: ``AlertTextFault`` for another form: the phone would show the text without what it cannot read.
    public init(_ value: JSONValue, nullIsAbsent: Bool = false) throws(AlertTextFault) {
        if let words = value.string {
            self = .plain(words)
            return
        }
        guard value.kind == .object else {
            throw AlertTextFault(place: "", problem: "must be a string, or an object of loc-key and loc-args")
        }
        guard let key = value["loc-key"]?.string else {
            let problem = value["loc-key"] == nil ? "is missing" : "must be a string"
            throw AlertTextFault(place: ".loc-key", problem: problem)
        }
        var arguments: [String] = []
        if let list = value["loc-args"], !(nullIsAbsent && list.kind == .null) {
            guard list.kind == .array else {
                throw AlertTextFault(place: ".loc-args", problem: "must be an array of strings")
            }
            for (index, element) in list.elements.enumerated() {
                guard let argument = element.string else {
                    throw AlertTextFault(place: ".loc-args[\(index)]", problem: "must be a string")
                }
                arguments.append(argument)
            }
        }
        self = .localized(key: key, arguments: arguments)
    }

    /// The members of a text that is an object.
    public static let members = ["loc-key", "loc-args"]

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

/// Why a text of an alert cannot be read. Holds nothing of the text.
public struct AlertTextFault: Error, Equatable, Sendable {
    /// The place inside the text, such as `.loc-args[0]`; empty: the text itself.
    public let place: String
    /// What is wrong there, a clause.
    public let problem: String

    init(place: String, problem: String) {
        self.place = place
        self.problem = problem
    }
}
