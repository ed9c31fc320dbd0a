import CLibevent
import Glibc

/// A timer of one event loop, to be made, scheduled and dropped on that loop's thread.
///
/// It fires at most once per ``schedule(after:)``; scheduling again replaces the earlier time. Dropping the last
/// reference cancels it. The action is called on the loop's thread, never from inside ``schedule(after:)``.
public final class EventLoopTimer {
    private let action: () -> Void
    private var event: OpaquePointer?

    /// - Parameters:
    ///   - loop: the loop whose thread will run the action.
    ///   - action: what to do; it should hold its owner weakly, since the owner usually holds the timer.
    public init(on loop: EventLoop, _ action: @escaping () -> Void) {
        self.action = action
        self.event = event_new(
            loop.base,
            -1,
            0,
            { _, _, context in
                guard let context else { return }
                // Retained for the call: the action may drop the last reference to its own timer.
                let timer = Unmanaged<EventLoopTimer>.fromOpaque(context).takeUnretainedValue()
                withExtendedLifetime(timer) { timer.action() }
            },
            Unmanaged.passUnretained(self).toOpaque(),
        )
    }

    deinit {
        if let event {
            event_free(event)
        }
    }

    /// Fires once after `delay`, at once if that is negative.
    public func schedule(after delay: Duration) {
        guard let event else { return }
        let (seconds, attoseconds) = max(delay, .zero).components
        var interval = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        event_add(event, &interval)
    }

    /// Forgets the scheduled time, if any.
    public func cancel() {
        guard let event else { return }
        event_del(event)
    }
}
