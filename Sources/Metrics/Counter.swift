/// A metric that only goes up, one count for each set of labels. A value without locks: its owner lives on one thread,
/// and copies of it may go to others.
public struct Counter<Labels: MetricLabels>: Sendable {
    /// The metric's name, ending in `_total`.
    public let name: StaticString
    /// What it counts, for people.
    public let help: StaticString

    @usableFromInline var series = SeriesTable<Labels, Int>()

    /// - Parameters:
    ///   - name: ending in `_total`, as Prometheus has it.
    ///   - help: what it counts, one sentence.
    ///   - known: labels that are shown from the start, with 0, so that the first increase can be seen.
    public init(_ name: StaticString, help: StaticString, startingWith known: [Labels] = []) {
        self.name = name
        self.help = help
        for labels in known {
            add(labels, 0)
        }
    }

    /// How often that was counted.
    public subscript(labels: Labels) -> Int { series[labels] ?? 0 }

    /// Counts.
    @inlinable
    public mutating func add(_ labels: Labels, _ count: Int = 1) {
        series.update(labels, initial: 0) { $0 &+= count }
    }

    /// All of it.
    public var total: Int { series.all.reduce(0) { $0 &+ $1.1 } }

    /// What was counted since an earlier copy was made, without what was not; in the order of first use.
    public func increases(since earlier: Counter) -> [(labels: Labels, count: Int)] {
        series.all.compactMap { labels, count in
            let increase = count &- earlier[labels]
            return increase > 0 ? (labels, increase) : nil
        }
    }

    /// Adds what another thread counted.
    public mutating func add(contentsOf other: Counter) {
        for (labels, count) in other.series.all {
            add(labels, count)
        }
    }
}

extension Counter where Labels == NoLabels {
    /// A metric without labels; it is shown from the start.
    public init(_ name: StaticString, help: StaticString) {
        self.init(name, help: help, startingWith: [NoLabels()])
    }

    /// How often it was counted.
    public var count: Int { self[NoLabels()] }

    /// Counts.
    @inlinable
    public mutating func add(_ count: Int = 1) {
        add(NoLabels(), count)
    }
}
