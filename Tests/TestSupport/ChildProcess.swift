import Glibc

/// Programs that tests run to their end.
public enum ChildProcess {
    /// What a finished program left.
    public struct Outcome: Sendable {
        /// The exit status; 128 plus the signal's number when a signal ended it.
        public let status: Int32
        /// Standard output.
        public let output: String
        /// Standard error.
        public let errors: String
    }

    /// A system call failed.
    public struct Failure: Error, CustomStringConvertible {
        /// What failed, and what it was about.
        public let description: String

        /// - Parameter description: what failed, and what it was about.
        public init(_ description: String) {
            self.description = description
        }
    }

    /// Runs `program` (looked up in PATH) and waits for it. Blocks the calling thread.
    ///
    /// Input and output go through unnamed files: no pipe can fill up while nobody reads it.
    public static func run(_ program: String, _ arguments: [String], input: String = "") throws -> Outcome {
        let standardInput = try temporaryFile()
        let output = try temporaryFile()
        let errors = try temporaryFile()
        defer {
            for file in [standardInput, output, errors] {
                close(file)
            }
        }
        try writeAll(input, to: standardInput)
        lseek(standardInput, 0, SEEK_SET)
        let process = try spawn(program, arguments, input: standardInput, output: output, errors: errors)
        let status = waitForEnd(of: process)
        return Outcome(status: status, output: contents(of: output), errors: contents(of: errors))
    }

    /// Starts `program` (looked up in PATH) with the three descriptors as its standard ones, in a process group of its
    /// own, so that a terminal's Ctrl-C does not reach it.
    static func spawn(
        _ program: String,
        _ arguments: [String],
        input: Int32,
        output: Int32,
        errors: Int32,
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        // Swift's pool threads block most signals; a child that inherited that could not be ended by SIGTERM.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var process = pid_t()
        let failure = posix_spawnp(&process, program, &actions, &attributes, words, environ)
        guard failure == 0 else { throw Failure("cannot start \(program): \(String(cString: strerror(failure)))") }
        return process
    }

    @discardableResult
    static func waitForEnd(of process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1 {
            if errno != EINTR { return -1 }
        }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    static func writeAll(_ text: String, to file: Int32) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                // A program that has ended must fail the test that writes to it, not kill all tests by SIGPIPE.
                let sent = send(file, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                return sent == -1 && errno == ENOTSOCK ? write(file, bytes.baseAddress, bytes.count) : sent
            }
            guard count > 0 else { throw Failure("cannot write: \(String(cString: strerror(errno)))") }
            rest = rest.dropFirst(count)
        }
    }

    static func temporaryFile() throws -> Int32 {
        let path = "/tmp/livepush-test-\(UInt64.random(in: .min ... .max))"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure("cannot make a temporary file") }
        unlink(path)
        return file
    }

    static func contents(of file: Int32) -> String {
        String(decoding: bytes(of: file, after: 0), as: UTF8.self)
    }

    /// Leaves the file's position alone: the child that writes shares it.
    static func bytes(of file: Int32, after offset: Int) -> [UInt8] {
        var information = stat()
        guard fstat(file, &information) == 0, Int(information.st_size) > offset else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(information.st_size) - offset)
        let count = pread(file, &bytes, bytes.count, off_t(offset))
        return Array(bytes.prefix(max(0, count)))
    }
}
