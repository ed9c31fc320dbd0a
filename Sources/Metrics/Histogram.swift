/// How long things took, counted in fixed buckets, for each set of labels.
public struct Histogram<Labels: MetricLabels>: Sendable {
    /// The metric's name, ending in `_seconds`.
    public let name: StaticString
    /// What is measured, for people.
    public let help: StaticString

    /// Upper bounds of the buckets but the last, which takes the rest.
    let bounds: [Double]
    @usableFromInline let nanosecondBounds: [Int64]
    @usableFromInline var series = SeriesTable<Labels, BucketCounts>()

    /// - Parameters:
    ///   - name: ending in `_seconds`.
    ///   - help: what is measured, one sentence.
    ///   - bounds: upper bounds in seconds, rising, up to 9,000,000,000; what is above the last is counted too.
    public init(_ name: StaticString, help: StaticString, bounds: [Double]) {
        self.name = name
        self.help = help
        self.bounds = bounds
        self.nanosecondBounds = bounds.map { Int64(exactly: ($0 * 1e9).rounded()) ?? .max }
    }

    /// Counts a duration. A negative one, as when a clock is set back, counts as 0.
    @inlinable
    public mutating func observe(nanoseconds: Int64, _ labels: Labels) {
        let nanoseconds = max(nanoseconds, 0)
        var bucket = 0
        while bucket < nanosecondBounds.count, nanoseconds > nanosecondBounds[bucket] {
            bucket += 1
        }
        series.update(labels, initial: BucketCounts(buckets: nanosecondBounds.count + 1)) {
            $0.count(nanoseconds, in: bucket)
        }
    }

    /// How many durations were counted.
    public func count(_ labels: Labels) -> Int { series[labels]?.counts.reduce(0, &+) ?? 0 }

    /// Their sum in seconds.
    public func sum(_ labels: Labels) -> Double { series[labels]?.sum ?? 0 }

    /// Adds what another thread measured, in the same buckets.
    public mutating func add(contentsOf other: Histogram) {
        for (labels, measured) in other.series.all {
            series.update(labels, initial: BucketCounts(buckets: bounds.count + 1)) { $0.add(measured) }
        }
    }
}

extension Histogram where Labels == NoLabels {
    /// Counts a duration, the same way.
    @inlinable
    public mutating func observe(nanoseconds: Int64) {
        observe(nanoseconds: nanoseconds, NoLabels())
    }
}

/// The buckets of one time series.
@usableFromInline
struct BucketCounts: Sendable {
    /// Not cumulative.
    @usableFromInline var counts: [Int]
    @usableFromInline var sum = 0.0

    @inlinable
    init(buckets: Int) {
        counts = [Int](repeating: 0, count: buckets)
    }

    @inlinable
    mutating func count(_ nanoseconds: Int64, in bucket: Int) {
        counts[bucket] &+= 1
        sum += Double(nanoseconds) * 1e-9
    }

    mutating func add(_ other: BucketCounts) {
        for bucket in counts.indices where bucket < other.counts.count {
            counts[bucket] &+= other.counts[bucket]
        }
        sum += other.sum
    }
}
