import Glibc

/// A PostgreSQL of the bench's own: a new cluster with initdb's defaults, but for the port and the socket's folder.
///
/// fsync, synchronous_commit and full_page_writes are on, as they are by default; encoding UTF8, locale C.
struct BenchDatabase: Sendable {
    /// As the gateway connects: over TCP, without TLS.
    let url: String
    /// The postmaster, whose descendants are all of PostgreSQL.
    let process: pid_t
    /// `PostgreSQL 15.6`.
    let version: String

    /// Makes the cluster in `folder` and starts it.
    ///
    /// - Parameter programs: the folder of initdb and postgres; nil to look for it.
    static func start(
        in folder: String,
        programs: String?,
        processes: BenchProcesses,
    ) async throws -> BenchDatabase {
        let output = folder + "/postgres.log"
        let programs = if let programs { programs } else { try await find(folder, processes) }
        let data = folder + "/postgres"
        guard mkdir(data, 0o700) == 0 else { throw CommandFailure("cannot make \(data)") }
        let prefix = try ownership(of: data)
        try await processes.run(
            prefix + [
                "\(programs)/initdb", "-D", data + "/data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
                "--no-locale",
            ],
            output: output,
        )
        let port = try LoopbackSocket.freePort()
        let process = try processes.start(
            prefix + [
                "\(programs)/postgres", "-D", data + "/data", "-p", String(port), "-c",
                "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=\(data)",
            ],
            output: output,
            ending: SIGQUIT,
        )
        let ready = folder + "/pg_isready.log"
        var isReady = false
        while !isReady {
            guard processes.status(of: process) == nil else {
                throw CommandFailure("PostgreSQL does not start:\n\(BenchProcesses.tail(output))")
            }
            let probe = try processes.start(
                ["\(programs)/pg_isready", "-q", "-h", "127.0.0.1", "-p", String(port)],
                output: ready,
            )
            var status: Int32?
            try await processes.wait(for: "pg_isready", atMost: .seconds(30)) {
                status = processes.status(of: probe)
                return status != nil
            }
            isReady = status == 0
            try? await Task.sleep(for: .milliseconds(isReady ? 0 : 50))
        }
        let versionFile = folder + "/version"
        try await processes.run(["\(programs)/postgres", "--version"], output: versionFile)
        let words = BenchProcesses.tail(versionFile).split(separator: " ")
        return BenchDatabase(
            url: "postgres://postgres@127.0.0.1:\(port)/postgres",
            process: process,
            version: words.count > 2 ? words[2].filter { !$0.isNewline } : "",
        )
    }

    /// The server refuses to run as root: it runs as the account that Debian's packages make, to which the folder goes.
    private static func ownership(of folder: String) throws(CommandFailure) -> [String] {
        guard geteuid() == 0 else { return [] }
        guard let account = getpwnam("postgres") else {
            throw CommandFailure("PostgreSQL does not run as root, and there is no account postgres to run it as")
        }
        guard chown(folder, account.pointee.pw_uid, account.pointee.pw_gid) == 0 else {
            throw CommandFailure("cannot give \(folder) to the account postgres")
        }
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
    }

    /// Debian keeps the server's programs out of PATH.
    private static func find(_ folder: String, _ processes: BenchProcesses) async throws -> String {
        let search = """
            for folder in "$(pg_config --bindir 2>/dev/null)" $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
                if [ -x "$folder/postgres" ] && [ -x "$folder/initdb" ]; then echo "$folder"; exit; fi
            done
            echo "no PostgreSQL server found; see --postgres-bin"
            exit 1
            """
        let output = folder + "/programs"
        try await processes.run(["sh", "-c", search], output: output)
        return BenchProcesses.tail(output).filter { !$0.isNewline }
    }
}
