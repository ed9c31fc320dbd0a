public import VerbatimJSON

extension ActivitySchema {
    /// The two values that a push can carry for a type.
    public enum Part: String, Sendable {
        /// The `ContentState`.
        case contentState = "content-state"
        /// The attributes themselves, in a start.
        case attributes
    }

    /// Decides what `JSONDecoder` with its default strategies, which ActivityKit uses, makes of a value.
    ///
    /// - Parameters:
    ///   - value: a value of a document that was parsed strictly: no duplicate names, no lone surrogates.
    ///   - part: which of the two it is for.
    ///   - root: what the value is called in paths; nil: the part's name.
    ///   - now: Unix seconds by the clock, to tell dates from dates.
    public func check(_ value: JSONValue, as part: Part, root: String? = nil, now: Int64) -> ContentVerdict {
        var checker = ContentChecker(schema: self, value: value, root: root ?? part.rawValue, now: now)
        checker.check(value, part == .contentState ? self.contentState : self.attributes)
        return checker.verdict
    }
}
