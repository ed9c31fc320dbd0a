import Glibc

/// `livepush bench`.
enum BenchCommand: Command {
    static let name = "bench"
    static let summary = "measure pushes a second, CPU and memory on this machine"
    static let discussion = """
        Starts a PostgreSQL of its own (initdb's defaults: fsync, synchronous_commit and full_page_writes on), an HTTP/2
        sink in APNs' place, a gateway and a driver, each in a process of its own, and posts a different state to a random
        permutation of accounts, never two within a second to one activity. Prints one line of JSON; exits 1 unless each
        recipient that was accepted has one delivery row and came to the sink once.

        pushes_per_second        from the first request to the last answer of the sink
        *_cpu_s_per_100k         user and system time of the process for 100,000 pushes; PostgreSQL: of its whole tree
        gateway_rss_mb           the most that was resident since the gateway's start (VmHWM), in 10^6 bytes
        socket_writes_per_push   write(2) calls of the gateway, which are those to APNs; HTTP answers and libpq use send(2)
        accept_ms_*              from posting a message to its answer, at the driver
        accept_to_apns_ms_*      from that answer to the moment at which the sink answers the push
        wal_bytes_per_push       PostgreSQL's log
        fan_out_*                with --fan-out: the rate of the update to many; the same latencies of the messages that
                                 were posted while it was under way (fan_out_messages), where accept_* are then those of
                                 the messages before it; and by how much its peak of memory is above the one before

        Use a release build. The processes share the machine's cores, so CPU seconds say more than pushes a second.
        """
    static let options = [
        CommandOption(name: "pushes", kind: .value("N"), help: "pushes to measure; 100000 if absent"),
        CommandOption(name: "registrations", kind: .value("N"), help: "accounts with an activity; 1000000 if absent"),
        CommandOption(
            name: "batch",
            kind: .value("N"),
            help: "recipients of each message: 1 posts to sendmsg, up to 500 to batchsendmsg; 1 if absent",
        ),
        CommandOption(
            name: "lanes",
            kind: .value("N"),
            help: "of the gateway; one less than the machine has cores if absent"
        ),
        CommandOption(name: "connections", kind: .value("N"), help: "of the driver; 256, or 8 for batches, if absent"),
        CommandOption(name: "in-flight", kind: .value("N"), help: "requests under way on each connection; 2 if absent"),
        CommandOption(
            name: "under-way",
            kind: .value("N"),
            help: "the driver waits while so many pushes that it asked for have not come to the sink; 4000 if absent",
        ),
        CommandOption(
            name: "schemas",
            kind: .value("N"),
            help:
                "versions of a schema that the app has: with 1 each state is checked, with more the phones' version is "
                + "looked up as well; 0 if absent",
        ),
        CommandOption(
            name: "fan-out",
            kind: .value("N"),
            help:
                "once a quarter of the messages is answered, one update goes to N further phones, on which an activity "
                + "runs; 0 if absent",
        ),
        CommandOption(
            name: "rate",
            kind: .value("N"),
            help: "messages a second; as many as are answered if absent, but 200 with --fan-out",
        ),
        CommandOption(
            name: "apns-only",
            kind: .flag,
            help: "the APNs client alone, in a process of its own; what it does not have is null",
        ),
        CommandOption(
            name: "postgres-bin",
            kind: .value("FOLDER"),
            help: "where initdb and postgres are; else looked for"
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let isAPNsOnly = arguments.isSet("apns-only")
        let pushes = Int(try arguments.integer("pushes", in: 1...10_000_000) ?? 100_000)
        let registrations = Int(try arguments.integer("registrations", in: 1...10_000_000) ?? 1_000_000)
        let batch = Int(try arguments.integer("batch", in: 1...500) ?? 1)
        let lanes = try arguments.integer("lanes", in: 1...256).map { Int($0) }
        let connections = Int(try arguments.integer("connections", in: 1...4096) ?? (batch == 1 ? 256 : 8))
        let inFlight = Int(try arguments.integer("in-flight", in: 1...100) ?? 2)
        let schemas = Int(try arguments.integer("schemas", in: 0...100) ?? 0)
        let fanOut = Int(try arguments.integer("fan-out", in: 0...10_000_000) ?? 0)
        let rate = try arguments.integer("rate", in: 1...1_000_000).map { Int($0) } ?? (fanOut > 0 ? 200 : nil)
        let underWay = Int(try arguments.integer("under-way", in: 1...10_000_000) ?? 4000)
        var template = Array("\(ProcessEnvironment.all["TMPDIR"] ?? "/tmp")/livepush-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CommandFailure("cannot make a temporary folder") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // PostgreSQL's own folder in it may belong to another account.
        chmod(path, 0o711)
        let processes = BenchProcesses()
        try TerminationSignals.install()
        Task {
            await TerminationSignals.wait()
            processes.interrupt()
        }
        defer {
            processes.endAll()
            Folder.remove(path)
        }
        let bench = Bench(
            plan: BenchPlan(
                registrations: isAPNsOnly ? pushes : registrations,
                pushes: pushes,
                batch: isAPNsOnly ? 1 : batch,
                seed: UInt64.random(in: 0...UInt64.max),
                isAPNsOnly: isAPNsOnly,
                schemas: schemas,
                fanOut: isAPNsOnly ? 0 : fanOut,
                rate: isAPNsOnly ? nil : rate,
            ),
            lanes: lanes,
            connections: connections,
            inFlight: inFlight,
            underWay: underWay,
            postgresPrograms: arguments.text("postgres-bin"),
            processes: processes,
            folder: BenchFolder(path: path),
        )
        let report: BenchReport
        do {
            report = try await isAPNsOnly ? bench.measureAPNs() : bench.measureGateway()
        } catch  where processes.isInterrupted {
            // Whatever failed, it failed because its processes were ended.
            throw CommandFailure("interrupted")
        }
        StandardOutput.write(report.json + "\n")
        if let failure = report.failure { throw CommandFailure(failure) }
    }
}
