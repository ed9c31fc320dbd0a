import EventLoop
import Glibc

/// SIGTERM and SIGINT, as something to wait for.
///
/// They cannot be blocked and waited for with `sigwait`: once `main` is asynchronous, the main thread of the Swift
/// runtime sits in `sigsuspend` with no signal blocked. So a handler writes a byte to a pipe, which it may.
enum TerminationSignals {
    /// Made before the handlers are installed, so that a handler only reads it.
    private static let pipe: (read: Int32, write: Int32)? = {
        var descriptors: [Int32] = [-1, -1]
        guard Glibc.pipe(&descriptors) == 0 else { return nil }
        return (descriptors[0], descriptors[1])
    }()

    /// From now on the signals do not end the process; ``wait()`` returns instead.
    static func install() throws(CommandFailure) {
        guard pipe != nil else { throw CommandFailure("no file descriptor left for a pipe") }
        for signal in [SIGTERM, SIGINT] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in
                guard let pipe = TerminationSignals.pipe else { return }
                var byte: UInt8 = 1
                _ = write(pipe.write, &byte, 1)
            }
            sigaction(signal, &action, nil)
        }
    }

    /// Returns when one arrives, or came since ``install()``.
    static func wait() async {
        await runBlockingWork {
            guard let pipe = TerminationSignals.pipe else { return }
            var byte: UInt8 = 0
            while read(pipe.read, &byte, 1) < 0, errno == EINTR {}
        }
    }
}
