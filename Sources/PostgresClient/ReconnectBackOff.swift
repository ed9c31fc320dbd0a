/// How long to wait before the next try to connect: 250 ms, doubling to 5 s.
///
/// Each wait is shortened by up to half at random, so that many gateways do not all return to a restarted server in
/// the same moment.
struct ReconnectBackOff {
    private static let first = Duration.milliseconds(250)
    private static let longest = Duration.seconds(5)

    private var next = ReconnectBackOff.first

    /// - Parameter fraction: a random number of 0..<1.
    mutating func wait(fraction: Double) -> Duration {
        let full = next
        next = min(full * 2, ReconnectBackOff.longest)
        return full - full / 2 * fraction
    }

    /// To be called after a login that worked.
    mutating func reset() {
        next = ReconnectBackOff.first
    }
}
