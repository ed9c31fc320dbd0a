import VerbatimJSON

/// Compares the bounds of a range.
enum ScalarOrder {
    /// Whether the lower bound is above the upper one; both have passed the check for their type.
    static func isDescending(_ lower: JSONValue, _ upper: JSONValue, _ type: ContentScalar) -> Bool {
        if let lower = lower.string, let upper = upper.string { return lower > upper }
        guard let lower = lower.numberText.map(NumberText.init), let upper = upper.numberText.map(NumberText.init)
        else {
            return false
        }
        if let range = type.integerRange {
            guard let lower = lower.integer(in: range), let upper = upper.integer(in: range) else { return false }
            return lower > upper
        }
        if type == .float {
            guard let lower = lower.float, let upper = upper.float else { return false }
            return lower > upper
        }
        guard let lower = lower.double, let upper = upper.double else { return false }
        return lower > upper
    }
}
