import Glibc
import Synchronization

/// A PostgreSQL cluster of one test process, in a temporary folder and on a free loopback port.
///
/// A small shell script owns the server and the folder. It takes orders on a socket whose other end only this process
/// holds, so that the server is stopped and the folder removed however the process ends, killed included.
public final class PrivatePostgres: Sendable {
    private struct Controller {
        let process: pid_t
        let socket: Int32
        var isRunning = true
    }

    /// The loopback port the server listens on, the same after ``restart()``.
    public let port: UInt16

    private let programs: String
    private let databases = Atomic<Int>(0)
    private let controller: Mutex<Controller>

    // MARK: - Starting and stopping

    private static let sharedServer = Mutex<PrivatePostgres?>(nil)

    /// The server that all tests of this process may use, started when the first of them asks. It is not to be stopped;
    /// a test that stops its server makes its own.
    public static func shared() throws -> PrivatePostgres {
        try sharedServer.withLock { server in
            if let server { return server }
            let new = try PrivatePostgres()
            server = new
            return new
        }
    }

    /// Makes a cluster and starts its server. Blocks for a second or two.
    public init() throws {
        programs = try PrivatePostgres.findPrograms()
        port = try PrivatePostgres.freePort()
        let ends = try PrivatePostgres.socketPair()
        // The server refuses to run as root, so the script and all it owns run as the account the packages made.
        var words = ["sh", "-c", PrivatePostgres.script, "private-postgres", programs, String(port)]
        if geteuid() == 0 {
            words = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] + words
        }
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer {
            Glibc.close(null)
            Glibc.close(ends.theirs)
        }
        let process = try ChildProcess.spawn(
            words[0],
            Array(words.dropFirst()),
            input: ends.theirs,
            output: ends.theirs,
            errors: null,
        )
        controller = Mutex(Controller(process: process, socket: ends.ours))
        try send("start")
    }

    deinit {
        close()
    }

    /// Stops the server the way `pg_ctl stop -m fast` does: its sessions end with SQLSTATE 57P01. The data stay.
    public func stop() throws {
        try send("stop")
    }

    /// Starts the server again after ``stop()``, or stops and starts it.
    public func restart() throws {
        try send("stop")
        try send("start")
    }

    /// Stops the server and removes everything. Whoever drops the last reference, or ends the process, does the same.
    public func close() {
        controller.withLock { controller in
            guard controller.isRunning else { return }
            controller.isRunning = false
            Glibc.close(controller.socket)
            ChildProcess.waitForEnd(of: controller.process)
        }
    }

    // MARK: - Databases

    /// The URL of the database `postgres`, as superuser.
    public var url: String { url(database: "postgres") }

    /// Makes an empty database for one test.
    ///
    /// - Returns: its URL.
    public func makeDatabase() throws -> String {
        let name = "test_\(databases.add(1, ordering: .relaxed).newValue)"
        try psql("CREATE DATABASE \(name)")
        return url(database: name)
    }

    /// Runs SQL through the program `psql`, stopping at the first error.
    ///
    /// - Parameter database: the URL of a database; nil for ``url``.
    /// - Returns: the rows, columns separated by `|`, without the last newline.
    @discardableResult
    public func psql(_ sql: String, database: String? = nil) throws -> String {
        let outcome = try ChildProcess.run(
            "\(programs)/psql",
            ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", database ?? url],
            input: sql,
        )
        guard outcome.status == 0 else { throw ChildProcess.Failure("psql: \(outcome.errors)") }
        return outcome.output.hasSuffix("\n") ? String(outcome.output.dropLast()) : outcome.output
    }

    /// Makes a login that may do what a role may, unless a test made it before: logins belong to the whole cluster.
    public func makeLogin(_ name: String, memberOf role: String?) throws {
        try psql(
            """
            DO $$ BEGIN
                PERFORM pg_advisory_xact_lock(1);
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(name)') THEN
                    CREATE ROLE \(name) LOGIN \(role.map { "IN ROLE \($0)" } ?? "");
                END IF;
            END $$
            """
        )
    }

    /// The URL of a database of this server for another user than the superuser.
    public func url(database: String, as user: String) -> String {
        "postgres://\(user)@127.0.0.1:\(port)/\(database)"
    }

    /// The same database as `url` for another user.
    public func url(_ url: String, as user: String) -> String {
        self.url(database: String(url.split(separator: "/").last ?? ""), as: user)
    }

    private func url(database: String) -> String {
        url(database: database, as: "postgres")
    }

    // MARK: - The script

    /// `start` answers `ok` or `failed`, `stop` answers `ok`; the end of its input ends everything.
    private static let script = """
        programs=$1 port=$2 server=
        folder=$(mktemp -d "${TMPDIR:-/tmp}/livepush-postgres-XXXXXX") || exit 1
        trap '' HUP INT TERM
        stop() {
            if [ -n "$server" ]; then kill "-$1" "$server" 2>/dev/null; wait "$server"; server=; fi
        }
        start() {
            cd "$folder" || return 1
            if [ ! -d data ]; then
                "$programs/initdb" -D data -U postgres -A trust -E UTF8 --no-locale --no-sync </dev/null >log 2>&1 || return 1
            fi
            "$programs/postgres" -D data -p "$port" -c listen_addresses=127.0.0.1 \\
                -c unix_socket_directories="$folder" -c fsync=off -c full_page_writes=off -c max_connections=300 \\
                </dev/null >>log 2>&1 &
            server=$!
            for attempt in $(seq 300); do
                kill -0 "$server" 2>/dev/null || return 1
                "$programs/pg_isready" -q -h "$folder" -p "$port" && return 0
                sleep 0.1
            done
            return 1
        }
        while read -r order; do
            case $order in
                start) if start; then echo ok; else echo failed; fi ;;
                stop) stop INT; echo ok ;;
            esac
        done
        stop QUIT
        rm -rf "$folder"
        """

    private func send(_ order: String) throws {
        let answer = try controller.withLock { controller in
            guard controller.isRunning else { throw ChildProcess.Failure("the private PostgreSQL is closed") }
            try ChildProcess.writeAll(order + "\n", to: controller.socket)
            var answer: [UInt8] = []
            var byte: UInt8 = 0
            while read(controller.socket, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
                answer.append(byte)
            }
            return String(decoding: answer, as: UTF8.self)
        }
        guard answer == "ok" else { throw ChildProcess.Failure("the private PostgreSQL did not \(order)") }
    }

    /// Debian keeps the server's programs out of PATH.
    private static func findPrograms() throws -> String {
        let search = """
            for folder in "$(pg_config --bindir 2>/dev/null)" $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
                if [ -x "$folder/postgres" ] && [ -x "$folder/initdb" ]; then echo "$folder"; exit; fi
            done
            exit 1
            """
        let outcome = try ChildProcess.run("sh", ["-c", search])
        guard outcome.status == 0 else { throw ChildProcess.Failure("no PostgreSQL server is installed") }
        return String(outcome.output.dropLast())
    }

    /// A loopback port that nobody listens on right now.
    public static func freePort() throws -> UInt16 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && getsockname(listener, address, &length) == 0
            }
        }
        guard isBound else { throw ChildProcess.Failure("no free loopback port") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Not inherited by other children: one that held our end would keep the script alive.
    private static func socketPair() throws -> (ours: Int32, theirs: Int32) {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw ChildProcess.Failure("cannot make a socket pair") }
        return (ends[0], ends[1])
    }
}
