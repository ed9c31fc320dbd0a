import Glibc

/// A time of the wall clock, in milliseconds since 1970: the unit of the timestamp in Apple's 410 answers.
struct UnixTime: Comparable {
    let milliseconds: Int64

    static var now: UnixTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UnixTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Seconds since 1970, the unit of the times in a Live Activity's payload.
    var wholeSeconds: Int64 {
        milliseconds / 1000
    }

    /// Seconds since 1970, with the fraction that milliseconds give.
    var seconds: Double {
        Double(milliseconds) / 1000
    }

    static func < (left: UnixTime, right: UnixTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
