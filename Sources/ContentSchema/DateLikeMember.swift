public import VerbatimJSON

/// A member that looks like a date in a form that a Swift `Date` misreads, where no schema tells whether it is one.
public struct DateLikeMember: Sendable, Equatable, CustomStringConvertible {
    /// The place, such as `content-state.eta`.
    public let path: String
    /// What the value looks like: `Unix seconds`, `Unix milliseconds`, `milliseconds since 2001` or `ISO 8601 text`.
    public let form: String
    /// The number for that date, in seconds since 2001-01-01T00:00:00Z.
    public let right: String

    /// The place, what is there, and what a `Date` would need.
    public var description: String {
        "\(self.path) looks like a date in \(self.form); if the app declares it as Date, \(self.right) would be right"
    }

    /// How many are looked for.
    public static let maximumCount = 20

    /// Looks through a value for members whose name and value both speak of a date.
    ///
    /// - Parameters:
    ///   - value: a content-state or attributes.
    ///   - root: what the value is called in paths.
    ///   - now: Unix seconds by the clock.
    public static func find(in value: JSONValue, root: String, now: Int64) -> [DateLikeMember] {
        var found: [DateLikeMember] = []
        let reading = DateReading(now: now)
        func visit(_ value: JSONValue, _ path: String, _ isDateLike: Bool) {
            guard found.count < Self.maximumCount else { return }
            switch value.kind {
            case .object:
                for (key, member) in value.members {
                    visit(member, "\(path).\(key)", Self.speaksOfDate(key))
                }
            case .array:
                for (index, element) in value.elements.enumerated() {
                    visit(element, "\(path)[\(index)]", isDateLike)
                }
            case .number:
                guard isDateLike, let text = value.numberText, let (form, right) = reading.misreading(of: text),
                    !right.isEmpty
                else { return }
                found.append(DateLikeMember(path: path, form: form.rawValue, right: right))
            case .string:
                guard let text = value.string, text.utf8.count >= 10, let date = ISO8601Text(text),
                    let right = DecimalNumber(date.unixSeconds)?.shifted(by: 0, minus: DateReading.referenceDate),
                    !right.isEmpty
                else { return }
                found.append(DateLikeMember(path: path, form: "ISO 8601 text", right: right))
            case .boolean, .null:
                return
            }
        }
        visit(value, root, false)
        return found
    }

    private static let words: Set<String> = [
        "date", "time", "timestamp", "at", "until", "since", "start", "starts", "started", "end", "ends", "ended",
        "eta",
        "etd", "deadline", "due", "expires", "expiry", "expiration", "arrival", "departure", "arrives", "departs",
        "kickoff",
        "updated", "created", "finish", "finished", "begin", "begins", "from", "to", "when", "moment", "day", "ts",
    ]

    /// Whether a word of a name in camelCase, snake_case or kebab-case is one that names of dates have.
    static func speaksOfDate(_ name: String) -> Bool {
        var word = ""
        var found = false
        for character in name {
            if character.isUppercase || !character.isLetter {
                found = found || Self.words.contains(word)
                word = ""
            }
            if character.isLetter { word += character.lowercased() }
        }
        found = found || Self.words.contains(word)
        return found || Self.words.contains(name.lowercased())
    }
}
