/// A metric that goes up and down, one value for each set of labels. What was never set is not shown.
public struct Gauge<Labels: MetricLabels>: Sendable {
    /// The metric's name, ending in its unit where it has one.
    public let name: StaticString
    /// What it shows, for people.
    public let help: StaticString

    private(set) var series = SeriesTable<Labels, Double>()

    /// - Parameters:
    ///   - name: ending in the base unit (`_seconds`, `_bytes`) where it has one.
    ///   - help: what it shows, one sentence.
    public init(_ name: StaticString, help: StaticString) {
        self.name = name
        self.help = help
    }

    /// The value, nil if it was never set.
    public subscript(labels: Labels) -> Double? { series[labels] }

    /// Sets the value.
    public mutating func set(_ value: Double, _ labels: Labels) {
        series.update(labels, initial: 0) { $0 = value }
    }

    /// Adds to the value; one that was never set is 0.
    public mutating func add(_ value: Double, _ labels: Labels) {
        series.update(labels, initial: 0) { $0 += value }
    }

    /// Adds another thread's part of a sum.
    public mutating func add(contentsOf other: Gauge) {
        for (labels, value) in other.series.all {
            add(value, labels)
        }
    }
}

extension Gauge where Labels == NoLabels {
    /// A metric without labels.
    public init(_ name: StaticString, help: StaticString, value: Double) {
        self.init(name, help: help)
        set(value)
    }

    /// The value, nil if it was never set.
    public var value: Double? { self[NoLabels()] }

    /// Sets the value.
    public mutating func set(_ value: Double) {
        set(value, NoLabels())
    }
}
