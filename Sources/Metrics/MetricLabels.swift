/// The labels of one time series of a metric.
///
/// Every value comes from a set that is known when the program is written: each distinct value is a time series that
/// Prometheus keeps. What a peer or a caller sent goes through a list of known words first, see ``bounded(_:to:)``.
public protocol MetricLabels: Hashable, Sendable {
    /// The label names, in the order of ``values``.
    static var names: [String] { get }
    /// Their values.
    var values: [String] { get }
}

/// The labels of a metric that has none.
public struct NoLabels: MetricLabels {
    /// None.
    public static let names: [String] = []
    /// None.
    public var values: [String] { [] }

    /// The one value there is.
    @inlinable
    public init() {}
}

/// Keeps a label value from a peer within a list of known words.
///
/// - Returns: `word`, `other` if it is none of them, or an empty text for nil.
public func bounded(_ word: String?, to known: Set<String>) -> String {
    guard let word else { return "" }
    return known.contains(word) ? word : "other"
}
