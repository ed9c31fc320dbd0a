/// A point in time by PostgreSQL's clock, the one clock that all instances share.
public struct UnixTime: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z, PostgreSQL's resolution.
    public let microseconds: Int64

    /// - Parameter microseconds: since 1970-01-01T00:00:00Z.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// - Parameter seconds: since 1970-01-01T00:00:00Z.
    public init(seconds: Int64) {
        self.microseconds = seconds * 1_000_000
    }

    /// Whole seconds since 1970, rounded down: the unit of Tencent's and Apple's fields.
    public var seconds: Int64 {
        microseconds >= 0 ? microseconds / 1_000_000 : (microseconds - 999_999) / 1_000_000
    }

    /// Whether `left` is earlier.
    public static func < (left: UnixTime, right: UnixTime) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The time `duration` later.
    public static func + (time: UnixTime, duration: Duration) -> UnixTime {
        UnixTime(microseconds: time.microseconds + duration.microseconds)
    }

    /// How much later `left` is than `right`.
    public static func - (left: UnixTime, right: UnixTime) -> Duration {
        .microseconds(left.microseconds - right.microseconds)
    }
}

extension Duration {
    /// In PostgreSQL's resolution, rounded towards zero.
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
