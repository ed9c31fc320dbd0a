import Glibc
import Synchronization

/// The processes that a bench started, to be ended however it ends.
final class BenchProcesses: Sendable {
    private struct State {
        var running: [(process: pid_t, ending: Int32)] = []
        var isInterrupted = false
    }

    private let state = Mutex(State())

    /// Whether SIGINT or SIGTERM came.
    var isInterrupted: Bool { state.withLock(\.isInterrupted) }

    /// Starts a program, in a process group of its own: Ctrl-C reaches the bench, which ends its processes itself.
    ///
    /// - Parameters:
    ///   - output: file for what it prints; errors go there too.
    ///   - ending: the signal that ends it.
    func start(
        _ words: [String],
        environment: [String: String] = ProcessEnvironment.all,
        output: String,
        ending: Int32 = SIGKILL,
    ) throws(CommandFailure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        // Swift's pool threads block most signals, and SIGPIPE is ignored here; a child must inherit neither.
        var (none, standard) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&standard)
        sigaddset(&standard, SIGPIPE)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &standard)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var process = pid_t()
        let failure = state.withLock { state -> Int32 in
            guard !state.isInterrupted else { return EINTR }
            let failure = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, &variables)
            if failure == 0 { state.running.append((process, ending)) }
            return failure
        }
        guard failure == 0 else {
            throw CommandFailure("cannot start \(words[0]): \(String(cString: strerror(failure)))")
        }
        return process
    }

    /// Runs a program to its end.
    func run(
        _ words: [String],
        environment: [String: String] = ProcessEnvironment.all,
        output: String,
    ) async throws {
        let process = try start(words, environment: environment, output: output)
        try await waitForEnd(of: process, output: output)
    }

    /// Waits until a process has ended by itself.
    func waitForEnd(of process: pid_t, output: String) async throws {
        var status: Int32?
        try await wait(for: "process \(process)", atMost: .seconds(86_400)) {
            status = self.status(of: process)
            return status != nil
        }
        guard status == 0 else {
            throw CommandFailure("a process of the bench failed:\n\(BenchProcesses.tail(output))")
        }
    }

    /// Waits until something is so.
    func wait(for what: String, atMost limit: Duration, until isSo: () throws -> Bool) async throws {
        let end = ContinuousClock.now + limit
        while try !isSo() {
            guard !isInterrupted else { throw CommandFailure("interrupted") }
            guard ContinuousClock.now < end else { throw CommandFailure("gave up waiting for \(what)") }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The exit status of a process that has ended; nil while it runs.
    func status(of process: pid_t) -> Int32? {
        state.withLock { state in
            guard let index = state.running.firstIndex(where: { $0.process == process }) else { return -1 }
            var status: Int32 = 0
            guard waitpid(process, &status, WNOHANG) == process else { return nil }
            state.running.remove(at: index)
            return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
        }
    }

    /// To be called when SIGINT or SIGTERM came: whoever waits for a process or its answer fails.
    func interrupt() {
        state.withLock { state in
            state.isInterrupted = true
            for entry in state.running { kill(entry.process, entry.ending) }
        }
    }

    /// Ends all that runs, the youngest first.
    func endAll() {
        let running = state.withLock { state in
            defer { state.running = [] }
            return state.running
        }
        for entry in running.reversed() {
            kill(entry.process, entry.ending)
            var status: Int32 = 0
            var rounds = 0
            while waitpid(entry.process, &status, WNOHANG) == 0 {
                if rounds == 500 { kill(entry.process, SIGKILL) }
                rounds += 1
                usleep(10_000)
            }
        }
    }

    /// The last lines that a process printed.
    static func tail(_ path: String) -> String {
        let bytes = (try? InputFile.read(path, option: "")) ?? []
        return String(decoding: bytes.suffix(2000), as: UTF8.self)
    }
}
