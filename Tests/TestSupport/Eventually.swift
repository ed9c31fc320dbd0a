import Glibc

/// Waits until a condition holds, asking again every 20 ms. Blocks the calling thread.
///
/// - Parameter seconds: how long to wait at most.
/// - Returns: whether it held in time.
public func eventually(within seconds: Double = 10, _ condition: () throws -> Bool) rethrows -> Bool {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(seconds)
    while true {
        if try condition() { return true }
        if clock.now >= deadline { return false }
        usleep(20_000)
    }
}
