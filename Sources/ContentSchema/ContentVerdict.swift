public import VerbatimJSON

/// What becomes of a value on the phone.
public struct ContentVerdict: Sendable, Equatable {
    /// Why `JSONDecoder` refuses the value, so that nothing appears; the first is the one that it meets first, or, among the
    /// members of a dictionary, one that it may meet. At most ``maximumFaults``.
    public internal(set) var faults: [ContentFault] = []
    /// Numbers that are decoded but mean another date than the sender had in mind.
    public internal(set) var misreadDates: [MisreadDate] = []
    /// Places of members that the type does not have; the phone ignores them. At most ``maximumFaults``.
    public internal(set) var unknownMembers: [String] = []

    /// How many faults are looked for.
    public static let maximumFaults = 20

    /// Whether the phone can decode the value.
    public var isDecodable: Bool { self.faults.isEmpty }

    /// Whether the phone can decode the value and shows every date as meant.
    public var isFlawless: Bool { self.faults.isEmpty && self.misreadDates.isEmpty }

    /// The value with each misread date replaced by the right number; all else stays byte for byte.
    ///
    /// - Parameter value: the one that was checked.
    public func converting(_ value: JSONValue) -> [UInt8] {
        let bytes = value.verbatim
        var converted: [UInt8] = []
        converted.reserveCapacity(bytes.count)
        var position = 0
        // They were found in the order of the type, not of the text.
        for date in self.misreadDates.sorted(by: { $0.range.lowerBound < $1.range.lowerBound })
        where date.range.lowerBound >= position && date.range.upperBound <= bytes.count {
            converted.append(contentsOf: bytes.dropFirst(position).prefix(date.range.lowerBound - position))
            converted.append(contentsOf: date.right.utf8)
            position = date.range.upperBound
        }
        converted.append(contentsOf: bytes.dropFirst(position))
        return converted
    }
}

/// A place of a value that `JSONDecoder` refuses.
public struct ContentFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What `JSONDecoder` throws.
    public enum Kind: String, Sendable {
        /// A member or an element that must be there is not (`keyNotFound`).
        case missing
        /// null where the type has none (`valueNotFound`).
        case null
        /// Another kind of JSON value (`typeMismatch`).
        case wrongType = "wrong_type"
        /// The right kind of value, but not one that the type can hold (`dataCorrupted`).
        case invalid
    }

    /// What `JSONDecoder` throws.
    public let kind: Kind
    /// The place, such as `content-state.scores[2].points`. Keys of dictionaries in it come from the sender.
    public let path: String
    /// The same with `{}` in place of such keys.
    public let place: String
    /// What the type wants, without anything that the sender wrote.
    public let problem: String
    /// What is there instead, shortened; nil if nothing is.
    public let found: String?
    /// The number that a Date is likely meant to be, in seconds since 2001-01-01T00:00:00Z; nil where that is not known.
    public let likelyDate: String?

    /// The place and the problem: fit for a record that must not hold content.
    public var summary: String {
        "\(self.place): \(self.problem)"
    }

    /// Place, problem, what was found, and what would be right if that is known.
    public var description: String {
        var text = "\(self.path): \(self.problem)"
        if let found = self.found { text += ", got \(found)" }
        if let likelyDate = self.likelyDate { text += "; for that date send \(likelyDate)" }
        return text
    }
}

/// A number in a field of type Date that is decoded as another date than was meant.
public struct MisreadDate: Sendable, Equatable, CustomStringConvertible {
    /// What the number looks like.
    public enum Form: String, Sendable {
        /// Seconds since 1970.
        case unixSeconds = "Unix seconds"
        /// Milliseconds, or a finer unit, since 1970.
        case unixMilliseconds = "Unix milliseconds"
        /// Milliseconds, or a finer unit, since 2001.
        case milliseconds = "milliseconds since 2001"
    }

    /// The place, such as `content-state.eta`. Keys of dictionaries in it come from the sender.
    public let path: String
    /// The same with `{}` in place of such keys.
    public let place: String
    /// What the number looks like.
    public let form: Form
    /// The number as it is written.
    public let found: String
    /// The number for the date that was meant, in seconds since 2001-01-01T00:00:00Z.
    public let right: String
    /// Where the number stands in the bytes of the value that was checked.
    public let range: Range<Int>

    /// The place and the problem: fit for a record that must not hold content.
    public var summary: String {
        "\(self.place): \(self.problem)"
    }

    /// What is the matter, without anything that the sender wrote.
    public var problem: String {
        "a Date counts seconds since 2001-01-01T00:00:00Z, and this number looks like \(self.form.rawValue)"
    }

    /// Place, problem, what was found and what would be right.
    public var description: String {
        "\(self.path): a Date counts seconds since 2001-01-01T00:00:00Z; \(self.found) looks like "
            + "\(self.form.rawValue), for which \(self.right) would be right"
    }
}
