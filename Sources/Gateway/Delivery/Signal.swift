/// Wakes the one task that waits for work; a wake-up before the wait is not lost. For one thread.
final class Signal {
    private var isSet = false
    private var waiter: CheckedContinuation<Void, Never>?

    /// Wakes the waiting task, or the next one that waits.
    func set() {
        if let waiter {
            self.waiter = nil
            waiter.resume()
        } else {
            isSet = true
        }
    }

    /// Returns once the signal was set since the last return. One task at a time may wait.
    func wait() async {
        if isSet {
            isSet = false
            return
        }
        await withCheckedContinuation { continuation in
            // Asked once more: other jobs and events of the loop can run before this closure does.
            if isSet {
                isSet = false
                continuation.resume()
            } else {
                waiter = continuation
            }
        }
    }
}
