import Glibc

/// A reading of the kernel's monotonic clock, which no clock step moves. It has a meaning only inside one process.
public struct MonotonicTime: Sendable, Hashable, Comparable {
    /// Nanoseconds since an arbitrary start.
    public let nanoseconds: Int64

    /// - Parameter nanoseconds: since an arbitrary start; tests pass what they like.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock now. `CLOCK_BOOTTIME`, since a suspended machine's connections age too.
    public static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Whether `left` is earlier.
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// How much later `left` is than `right`.
    public static func - (left: MonotonicTime, right: MonotonicTime) -> Duration {
        .nanoseconds(left.nanoseconds - right.nanoseconds)
    }

    /// The time `duration` later.
    public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (seconds, attoseconds) = duration.components
        return MonotonicTime(nanoseconds: time.nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
