import EventLoop
import Glibc

/// SIGTERM and SIGINT, waited for rather than handled: a handler may do next to nothing.
enum TerminationSignals {
    /// Blocks them in this thread and all that it starts.
    static func block() {
        var set = signals
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Returns when one arrives.
    static func wait() async {
        await runBlockingWork {
            var set = signals
            var signal: Int32 = 0
            sigwait(&set, &signal)
        }
    }

    private static var signals: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }
}
