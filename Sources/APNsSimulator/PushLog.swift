/// The latest pushes, numbered from 0 in the order of their arrival.
struct PushLog {
    /// Pushes that are kept.
    static let capacity = 10_000

    /// How many were dropped for newer ones since the last ``removeAll()``.
    private(set) var dropped = 0
    /// The number of the next push.
    private(set) var nextIndex = 0
    private var records: [PushRecord] = []
    /// Where the oldest record stands once the array is full and used as a ring.
    private var oldest = 0

    mutating func append(_ record: PushRecord) {
        if records.count < PushLog.capacity {
            records.append(record)
        } else {
            records[oldest] = record
            oldest = (oldest + 1) % PushLog.capacity
            dropped += 1
        }
        nextIndex += 1
    }

    /// Calls `body` with each record that is kept and whose number is `index` or higher, oldest first.
    func forEach(since index: Int, _ body: (Int, PushRecord) -> Void) {
        let first = nextIndex - records.count
        for position in max(0, min(index, nextIndex) - first)..<records.count {
            body(first + position, records[(oldest + position) % records.count])
        }
    }

    /// Forgets every push; the numbers go on, so that a cursor stays good.
    mutating func removeAll() {
        records.removeAll()
        oldest = 0
        dropped = 0
    }
}
