/// What changes for senders from one version of an app's type to the next.
public struct SchemaDifference: Sendable, Equatable, CustomStringConvertible {
    /// What it means for a value that fits the old version.
    public enum Effect: String, Sendable {
        /// The new version refuses some such values: senders must change what they send to it.
        case breaks
        /// The new version takes all of them, and more.
        case widens
        /// The new version takes them and ignores the member.
        case ignores
    }

    /// The place, such as `content-state.scores[].points`.
    public let path: String
    /// What it means for senders.
    public let effect: Effect
    /// What is different, in words.
    public let change: String

    /// Effect, place and change in one line.
    public var description: String {
        "\(self.effect.rawValue) \(self.path): \(self.change)"
    }
}

extension ActivitySchema {
    /// What a newer version of the type changes, from the first member to the last.
    ///
    /// - Parameter newer: of the same type of attributes.
    public func differences(to newer: ActivitySchema) -> [SchemaDifference] {
        var comparison = SchemaComparison(older: self, newer: newer)
        comparison.compare(self.contentState, newer.contentState, at: Part.contentState.rawValue)
        comparison.compare(self.attributes, newer.attributes, at: Part.attributes.rawValue)
        return comparison.differences
    }
}

/// Walks through both versions side by side.
private struct SchemaComparison {
    let older: ActivitySchema
    let newer: ActivitySchema
    private(set) var differences: [SchemaDifference] = []
    /// Pairs of names that are being, or were, compared: types may contain themselves.
    private var seen: Set<[String]> = []

    init(older: ActivitySchema, newer: ActivitySchema) {
        self.older = older
        self.newer = newer
    }

    private mutating func note(_ effect: SchemaDifference.Effect, _ path: String, _ change: String) {
        let difference = SchemaDifference(path: path, effect: effect, change: change)
        if !self.differences.contains(difference) { self.differences.append(difference) }
    }

    mutating func compare(_ old: ContentType, _ new: ContentType, at path: String) {
        switch (old, new) {
        case (.optional(let old), .optional(let new)):
            self.compare(old, new, at: path)
        case (.optional(let old), _):
            self.note(.breaks, path, "was optional, is required and never null")
            self.compare(old, new, at: path)
        case (_, .optional(let new)):
            self.note(.widens, path, "is optional now")
            self.compare(old, new, at: path)
        case (.array(let old), .array(let new)), (.set(let old), .set(let new)), (.array(let old), .set(let new)),
            (.set(let old), .array(let new)):
            self.compare(old, new, at: path + "[]")
        case (.dictionary(let oldKey, let oldValue), .dictionary(let newKey, let newValue)):
            self.compare(oldKey, newKey, at: path + "{key}")
            self.compare(oldValue, newValue, at: path + "{}")
        case (.named(let oldName), .named(let newName)):
            guard self.seen.insert([oldName, newName]).inserted else { return }
            guard let old = self.older.types[oldName], let new = self.newer.types[newName] else { return }
            self.compare(old, new, at: path)
        case (.scalar(let oldScalar), .scalar(let newScalar)):
            if oldScalar != newScalar { self.compare(oldScalar, newScalar, at: path) }
        default:
            if old != new { self.note(.breaks, path, "was \(old), is \(new)") }
        }
    }

    private mutating func compare(_ old: ContentScalar, _ new: ContentScalar, at path: String) {
        let effect: SchemaDifference.Effect
        if let oldRange = old.integerRange, let newRange = new.integerRange {
            let isWider = newRange.lower <= oldRange.lower && newRange.upper >= oldRange.upper
            effect = isWider ? .widens : .breaks
        } else {
            let reals: [ContentScalar] = [.float, .double, .cgFloat]
            let isNumber = old.integerRange != nil || old == .float
            // A Date counts since 2001, so that a number that was meant otherwise is decoded but means another date.
            effect =
                isNumber && reals.contains(new) || old == .cgFloat && new == .double
                    || old == .double && new == .cgFloat ? .widens : .breaks
        }
        // The same values.
        if [old, new] == [.double, .cgFloat] || [old, new] == [.cgFloat, .double] { return }
        if effect == .widens, let oldRange = old.integerRange, let newRange = new.integerRange, oldRange == newRange {
            return
        }
        self.note(effect, path, "was \(old.rawValue), is \(new.rawValue)")
    }

    private mutating func compare(_ old: TypeDefinition, _ new: TypeDefinition, at path: String) {
        switch (old, new) {
        case (.structure(let old), .structure(let new)):
            self.compare(old, new, at: path)
        case (.enumeration(let old), .enumeration(let new)):
            self.compare(old, new, at: path)
        case (
            .rawEnumeration(let oldType, let oldValues, let wasKey),
            .rawEnumeration(let newType, let newValues, let isKey)
        ):
            guard oldType == newType, wasKey == isKey else {
                return self.note(.breaks, path, "the raw type, or how it is written as a key, is another")
            }
            for value in oldValues where !newValues.contains(value) {
                self.note(.breaks, path, "no longer has \(value)")
            }
            for value in newValues where !oldValues.contains(value) {
                self.note(.widens, path, "has \(value) now")
            }
        case (.rawStructure(let oldType), .rawStructure(let newType)):
            if oldType != newType { self.compare(oldType.scalar, newType.scalar, at: path) }
        case (.rawEnumeration(let oldType, _, _), .rawStructure(let newType)) where oldType == newType:
            self.note(.widens, path, "takes every \(newType.scalar.rawValue) now")
        case (.anything, .anything):
            break
        case (_, .anything):
            self.note(.widens, path, "takes anything now")
        default:
            self.note(.breaks, path, "was \(old.words), is \(new.words)")
        }
    }

    private mutating func compare(_ old: [ContentField], _ new: [ContentField], at path: String) {
        for field in new {
            guard let before = old.first(where: { $0.key == field.key }) else {
                if field.isRequired {
                    self.note(.breaks, "\(path).\(field.key)", "is new and required (\(field.type))")
                } else {
                    self.note(.widens, "\(path).\(field.key)", "is new and optional (\(field.type))")
                }
                continue
            }
            self.compare(before.type, field.type, at: "\(path).\(field.key)")
        }
        for field in old where !new.contains(where: { $0.key == field.key }) {
            self.note(.ignores, "\(path).\(field.key)", "is gone (was \(field.type))")
        }
    }

    private mutating func compare(_ old: [ContentCase], _ new: [ContentCase], at path: String) {
        for enumCase in old {
            guard let after = new.first(where: { $0.key == enumCase.key }) else {
                self.note(.breaks, path, "no longer has the case \(enumCase.key)")
                continue
            }
            self.compare(enumCase.fields, after.fields, at: "\(path).\(enumCase.key)")
        }
        for enumCase in new where !old.contains(where: { $0.key == enumCase.key }) {
            self.note(.widens, path, "has the case \(enumCase.key) now")
        }
    }
}

extension TypeDefinition {
    fileprivate var words: String {
        switch self {
        case .structure: "a struct"
        case .anything: "a struct without stored properties"
        case .rawEnumeration(let rawType, _, _): "an enum over \(rawType.scalar.rawValue)"
        case .rawStructure(let rawType): "a struct around \(rawType.scalar.rawValue)"
        case .enumeration: "an enum without raw type"
        }
    }
}
