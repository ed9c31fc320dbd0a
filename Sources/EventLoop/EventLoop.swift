import CLibevent
import Glibc
import Synchronization

/// One thread with one libevent `event_base`, usable as the executor of an actor.
///
/// Everything that touches the base (bufferevents, timers, listeners) belongs to the thread that is inside ``run()``.
/// An actor whose `unownedExecutor` is an event loop runs its jobs between the loop's I/O events, on that thread, so
/// its non-Sendable parts may register C callbacks without locks.
///
/// Sendable without the compiler's proof: `base` and `wakeUp` are set once in `init` and libevent locks them
/// (`evthread_use_pthreads`); `queued`, `running` and `drainIsScheduled` are only read and written on the loop's
/// thread, which every access checks; what other threads write is behind a `Mutex` or atomic.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// The `event_base`. To be used on the loop's thread only.
    public let base: OpaquePointer

    private let wakeUp: OpaquePointer
    private let wakeUpContext: Unmanaged<WakeUpContext>
    private let incoming = Mutex<[UnownedJob]>([])
    private let thread = Atomic<UInt>(0)
    private var queued: [UnownedJob] = []
    private var running: [UnownedJob] = []
    private var drainIsScheduled = false

    private final class WakeUpContext {
        weak var loop: EventLoop?
    }

    private static let threadsEnabled: Bool = evthread_use_pthreads() == 0

    /// Makes a loop that runs nothing until ``run()`` is called on some thread.
    ///
    /// - Throws: ``EventLoopError`` when the kernel gives no file descriptors for it.
    public init() throws(EventLoopError) {
        guard EventLoop.threadsEnabled, let base = event_base_new() else {
            throw EventLoopError(operation: "event_base_new")
        }
        let context = Unmanaged.passRetained(WakeUpContext())
        let wakeUp = event_new(
            base,
            -1,
            Int16(EV_PERSIST),
            { _, _, context in
                guard let context else { return }
                Unmanaged<WakeUpContext>.fromOpaque(context).takeUnretainedValue().loop?.drain()
            },
            context.toOpaque(),
        )
        guard let wakeUp else {
            context.release()
            event_base_free(base)
            throw EventLoopError(operation: "event_new")
        }
        self.base = base
        self.wakeUp = wakeUp
        self.wakeUpContext = context
        context.takeUnretainedValue().loop = self
    }

    deinit {
        event_free(wakeUp)
        event_base_free(base)
        wakeUpContext.release()
    }

    // MARK: - Running

    /// Runs events and jobs on the calling thread until ``stop()``.
    public func run() {
        thread.store(EventLoop.currentThread, ordering: .releasing)
        event_active(wakeUp, Int32(EV_TIMEOUT), 0)
        event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY)
        thread.store(0, ordering: .releasing)
    }

    /// Makes ``run()`` return after the event it is in. May be called from any thread.
    public func stop() {
        event_base_loopbreak(base)
    }

    /// Starts a thread that runs this loop. The thread ends when the loop is stopped.
    ///
    /// - Parameter name: what `ps -L` and `perf` show; Linux keeps the first 15 bytes.
    public func runInNewThread(name: String) {
        startThread(name: name) { self.run() }
    }

    /// Whether the calling thread is the one inside ``run()``.
    public var isCurrent: Bool {
        thread.load(ordering: .acquiring) == EventLoop.currentThread
    }

    private static var currentThread: UInt {
        UInt(pthread_self())
    }

    // MARK: - Executor

    /// Takes a job of the concurrency runtime, from any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            queued.append(job)
            guard !drainIsScheduled else { return }
            drainIsScheduled = true
        } else {
            let wasEmpty = incoming.withLock { jobs in
                defer { jobs.append(job) }
                return jobs.isEmpty
            }
            guard wasEmpty else { return }
        }
        event_active(wakeUp, Int32(EV_TIMEOUT), 0)
    }

    /// Runs the jobs that are there at its start, and no later ones: a task that yields in a loop would otherwise keep
    /// the loop from its I/O for ever.
    private func drain() {
        drainIsScheduled = false
        // The three arrays keep their memory: a drain happens some times for every message.
        swap(&running, &queued)
        incoming.withLock { jobs in
            running += jobs
            jobs.removeAll(keepingCapacity: true)
        }
        let serial = asUnownedSerialExecutor()
        let task = asUnownedTaskExecutor()
        for index in running.indices {
            running[index].runSynchronously(isolatedTo: serial, taskExecutor: task)
        }
        running.removeAll(keepingCapacity: true)
    }

    /// This loop as the runtime names serial executors.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// This loop as the runtime names task executors.
    public func asUnownedTaskExecutor() -> UnownedTaskExecutor {
        UnownedTaskExecutor(ordinary: self)
    }

    /// Traps off the loop's thread: what `assumeIsolated` relies on.
    public func checkIsolated() {
        precondition(isCurrent, "used outside the thread of its event loop")
    }
}

/// The kernel or libevent refused a resource.
public struct EventLoopError: Error, CustomStringConvertible {
    /// The C function that failed.
    public let operation: String

    /// The function and the likeliest causes.
    public var description: String { "\(operation) failed: too many open files or no memory" }
}
