import Glibc

/// A program that runs beside a test until it is stopped, or until the process of the tests ends, killed included.
///
/// Its standard input stays open meanwhile; what it writes goes into unnamed files that can be read at any time.
public final class RunningProgram {
    /// Its process id.
    public let process: Int32

    private let input: Int32
    private let outputs: (standard: Int32, errors: Int32)
    private var watchdog: RunningWatchdog?
    private var endStatus: Int32?

    /// Starts `program` (looked up in PATH).
    ///
    /// - Parameter environment: added to this process's own.
    public init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let ends = try RunningProgram.streamEnds()
        outputs = (try ChildProcess.temporaryFile(), try ChildProcess.temporaryFile())
        defer { close(ends.theirs) }
        let settings = environment.map { "\($0.key)=\($0.value)" }
        // `env` replaces itself by the program, so that the process id is the program's.
        process = try ChildProcess.spawn(
            "env",
            settings + [program] + arguments,
            input: ends.theirs,
            output: outputs.standard,
            errors: outputs.errors,
        )
        input = ends.ours
        watchdog = try RunningWatchdog(of: process)
    }

    deinit {
        end(SIGKILL)
        close(input)
        close(outputs.standard)
        close(outputs.errors)
    }

    /// What it wrote to standard output so far.
    public var output: String { ChildProcess.contents(of: outputs.standard) }

    /// What it wrote to standard output after the first `offset` bytes.
    public func output(after offset: Int) -> [UInt8] {
        ChildProcess.bytes(of: outputs.standard, after: offset)
    }

    /// What it wrote to standard error so far.
    public var errors: String { ChildProcess.contents(of: outputs.errors) }

    /// Its exit status (128 plus the signal's number when a signal ended it), nil while it runs.
    public var status: Int32? {
        if let endStatus { return endStatus }
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return nil }
        return ended(with: status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F))
    }

    /// Writes to its standard input.
    public func write(_ text: String) throws {
        try ChildProcess.writeAll(text, to: input)
    }

    /// Sends a signal, unless it has ended.
    public func signal(_ number: Int32) {
        if status == nil {
            kill(process, number)
        }
    }

    /// Sends a signal and waits for the end.
    ///
    /// - Returns: the exit status, see ``status``.
    @discardableResult
    public func end(_ number: Int32) -> Int32 {
        if let status { return status }
        kill(process, number)
        return ended(with: ChildProcess.waitForEnd(of: process))
    }

    private func ended(with status: Int32) -> Int32 {
        endStatus = status
        watchdog = nil
        return status
    }

    /// Two ends of a stream, neither of which other children inherit.
    static func streamEnds() throws -> (ours: Int32, theirs: Int32) {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw ChildProcess.Failure("cannot make a socket pair") }
        return (ends[0], ends[1])
    }
}

/// Kills a process when this one ends, however it ends: the stream from which it reads then ends.
private final class RunningWatchdog {
    private let process: pid_t
    private let input: Int32

    init(of watched: pid_t) throws {
        let ends = try RunningProgram.streamEnds()
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer {
            close(ends.theirs)
            close(null)
        }
        process = try ChildProcess.spawn(
            "sh",
            ["-c", "read -r order || kill -KILL \"$0\"", String(watched)],
            input: ends.theirs,
            output: null,
            errors: null,
        )
        input = ends.ours
    }

    deinit {
        // The watched process has ended and its id may be another's by now: the watchdog must go without a kill.
        try? ChildProcess.writeAll("done\n", to: input)
        close(input)
        ChildProcess.waitForEnd(of: process)
    }
}
