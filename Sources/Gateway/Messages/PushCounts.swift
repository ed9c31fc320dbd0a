/// How many pushes there were.
public struct PushCounts: Sendable, Equatable {
    /// Phones that there was something to push to, whatever became of it.
    public var all: Int64
    /// Those of them whose push APNs accepted, which proves no display.
    public var acceptedByAPNs: Int64

    /// Makes counts.
    public init(all: Int64, acceptedByAPNs: Int64) {
        self.all = all
        self.acceptedByAPNs = acceptedByAPNs
    }
}
