import CLibevent
import EventLoop
import Glibc

/// Accepts the connections of one listening socket on an event loop.
final class Listener {
    private let descriptor: Int32
    private let accepted: (_ descriptor: Int32, _ peer: SocketAddress) -> Void
    private let failed: (_ code: Int32) -> Void
    private var event: OpaquePointer?
    private var pause: EventLoopTimer?

    /// How many connections one turn of the loop takes, so that those already there are not kept waiting.
    private static let burst = 64

    /// - Parameters:
    ///   - descriptor: a listening socket; closed by ``close()``.
    ///   - accepted: called with each connection's descriptor, which it owns.
    ///   - failed: called when the system has no descriptor or memory left; accepting goes on after 100 ms.
    init(
        on loop: EventLoop,
        descriptor: Int32,
        accepted: @escaping (_ descriptor: Int32, _ peer: SocketAddress) -> Void,
        failed: @escaping (_ code: Int32) -> Void,
    ) {
        self.descriptor = descriptor
        self.accepted = accepted
        self.failed = failed
        self.event = event_new(
            loop.base,
            descriptor,
            Int16(EV_READ | EV_PERSIST),
            { _, _, context in
                guard let context else { return }
                let listener = Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue()
                withExtendedLifetime(listener) { _ = listener.acceptSome(atMost: Listener.burst) }
            },
            Unmanaged.passUnretained(self).toOpaque(),
        )
        self.pause = EventLoopTimer(on: loop) { [weak self] in self?.resume() }
        resume()
    }

    deinit {
        close()
    }

    /// Takes what the kernel has already promised to clients, then stops listening: closing a listener resets the
    /// connections that nobody has accepted.
    func drainAndClose() {
        guard event != nil else { return }
        while acceptSome(atMost: Listener.burst) {}
        close()
    }

    /// Stops listening.
    func close() {
        guard let event else { return }
        event_free(event)
        self.event = nil
        pause = nil
        Glibc.close(descriptor)
    }

    private func resume() {
        guard let event else { return }
        event_add(event, nil)
    }

    /// - Returns: whether there may be more.
    private func acceptSome(atMost limit: Int) -> Bool {
        for _ in 0..<limit {
            // What is called here may close the listener.
            guard let event else { return false }
            let (connection, peer) = SocketAddress.accept(from: descriptor)
            guard connection < 0 else {
                accepted(connection, peer)
                continue
            }
            switch errno {
            case EAGAIN: return false
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                // The connection stays in the queue, and the event would fire again at once, for ever.
                failed(errno)
                event_del(event)
                pause?.schedule(after: .milliseconds(100))
                return false
            default: continue
            }
        }
        return true
    }
}
