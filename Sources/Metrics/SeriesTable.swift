/// One value for each set of labels.
///
/// The labels that were used last are most often those that are used next, so they are looked at first: counting then
/// hashes nothing. Inlinable, as is all that leads here from a lane: without that the compiler calls it through
/// tables of functions, and counting costs ten times as much.
@usableFromInline
struct SeriesTable<Labels: MetricLabels, Value: Sendable>: Sendable {
    @usableFromInline var labels: [Labels] = []
    @usableFromInline var values: [Value] = []
    @usableFromInline var positions: [Labels: Int] = [:]
    @usableFromInline var last = 0

    @usableFromInline
    init() {}

    /// The value of these labels, nil if they were never used.
    subscript(wanted: Labels) -> Value? {
        positions[wanted].map { values[$0] }
    }

    /// Changes the value of these labels.
    ///
    /// - Parameter initial: what it is where they were never used.
    @inlinable
    mutating func update(
        _ wanted: Labels,
        initial: @autoclosure () -> Value,
        _ change: (inout Value) -> Void,
    ) {
        if last >= labels.count || labels[last] != wanted {
            last = position(of: wanted, initial: initial())
        }
        change(&values[last])
    }

    @inlinable
    mutating func position(of wanted: Labels, initial: @autoclosure () -> Value) -> Int {
        if let known = positions[wanted] { return known }
        labels.append(wanted)
        values.append(initial())
        positions[wanted] = labels.count - 1
        return labels.count - 1
    }

    /// Every value with its labels, in the order of their first use.
    var all: Zip2Sequence<[Labels], [Value]> { zip(labels, values) }
}
