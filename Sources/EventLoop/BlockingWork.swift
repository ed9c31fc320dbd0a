import CLibevent
import Glibc

/// Runs calls that block (name resolution, a database login) on a thread of their own, never on a lane's.
///
/// A thread for each call, since such calls are few (one for each new connection) and may block for long.
///
/// - Parameter work: called once.
/// - Returns: what `work` returned, back in the caller's isolation.
public func runBlockingWork<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        startThread(name: "blocking") {
            continuation.resume(returning: work())
        }
    }
}

/// Starts a detached thread. Where the system refuses one, `body` runs on the calling thread: late is better than
/// never.
///
/// - Parameter name: what `ps -L` and `perf` show; Linux keeps the first 15 bytes.
func startThread(name: String, _ body: @escaping @Sendable () -> Void) {
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var id = pthread_t()
    let failure = pthread_create(
        &id,
        nil,
        { argument in
            guard let argument else { return nil }
            let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
            livepush_set_thread_name(start.name)
            start.body()
            return nil
        },
        start.toOpaque(),
    )
    if failure == 0 {
        pthread_detach(id)
    } else {
        start.takeRetainedValue().body()
    }
}

private final class ThreadStart {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
        self.body = body
    }
}
