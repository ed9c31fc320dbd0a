import APNsSimulator
import EventLoop
import Gateway
import Glibc
import PostgresClient

/// A bench from its folder to its report.
struct Bench: Sendable {
    var plan: BenchPlan
    var lanes: Int?
    var connections: Int
    var inFlight: Int
    var underWay: Int
    var postgresPrograms: String?
    let processes: BenchProcesses
    let folder: BenchFolder

    private static let masterKey = "bGl2ZXB1c2ggYmVuY2ggbGl2ZXB1c2ggYmVuY2ggICA="
    /// How long nothing may move before the bench gives up.
    private static let patience = Duration.seconds(60)

    // MARK: - APNs alone

    /// Measures the APNs client alone.
    func measureAPNs() async throws -> BenchReport {
        try write(try TestSigningKey.makePEM(), to: folder.signingKey)
        let sink = try await startSink()
        let answers = try SharedCounters(folder.answers(isWarmUp: false), slots: 0, isNew: true)
        let output = folder.path + "/apns.log"
        let pusher = try processes.start(
            livepush("bench", "apns", "--port=\(sink.port)") + BenchOption.words(plan, folder),
            output: output,
        )
        try await reach(stage: 1, of: pusher, answers, output)
        let before = Usage(gateway: pusher, postgres: nil, sink: sink.process)
        let pushesBefore = sink.counters.counter(BenchCounter.pushes)
        let start = MonotonicTime.now
        progress("pushing \(plan.pushes) times")
        answers.setCounter(BenchCounter.permittedStage, 1)
        try await reach(stage: 2, of: pusher, answers, output)
        let after = Usage(gateway: pusher, postgres: nil, sink: sink.process)
        var report = BenchReport(plan: plan)
        report.take(before, after)
        report.gatewayPeakBytes = ProcessUsage.peakMemory(of: pusher)
        report.acceptedRecipients = answers.counter(BenchCounter.acceptedRecipients)
        report.sinkPushes = sink.counters.counter(BenchCounter.pushes) - pushesBefore
        report.sinkDuplicates = sink.counters.counter(BenchCounter.duplicates)
        report.seconds = seconds(from: start.nanoseconds, to: newest(in: sink.counters))
        return report
    }

    private func reach(stage: Int64, of process: pid_t, _ answers: SharedCounters, _ output: String) async throws {
        try await processes.wait(for: "the APNs client", atMost: .seconds(3600)) {
            guard processes.status(of: process) == nil else { throw CommandFailure(BenchProcesses.tail(output)) }
            return answers.counter(BenchCounter.stage) >= stage
        }
    }

    // MARK: - The whole gateway

    /// Measures a gateway with its PostgreSQL.
    func measureGateway() async throws -> BenchReport {
        progress("starting PostgreSQL and an HTTP/2 sink")
        let database = try await BenchDatabase.start(
            in: folder.path,
            programs: postgresPrograms,
            processes: processes,
        )
        let sink = try await startSink()
        let environment = self.environment(database)
        try await setUp(database, environment)
        let gateway = try await startGateway(sink.port, environment)
        let warmUp = plan.messages(isWarmUp: true)
        progress("warming up with \(plan.warmUpPushes) pushes")
        _ = try await drive(isWarmUp: true, answerFile(isWarmUp: true, warmUp.count), gateway.port)
        var report = BenchReport(plan: plan)
        report.lanes = gateway.lanes
        (report.connections, report.inFlight, report.underWay) = (connections, inFlight, underWay)
        report.postgresVersion = database.version
        report = try await DatabaseSession.run(database.url, statementTimeout: .seconds(600)) {
            [report] _, connection in
            var report = report
            try await settle(sink.counters, connection, pushes: plan.warmUpPushes)
            _ = try await connection.run(PostgresStatement("CHECKPOINT"))
            // No activity gets two pushes within a second.
            try? await Task.sleep(for: .seconds(1))
            let rowsBefore = try await deliveryRows(connection)
            let walBefore = try await walBytes(connection)
            let before = Usage(gateway: gateway.process, postgres: database.process, sink: sink.process)
            let pushesBefore = sink.counters.counter(BenchCounter.pushes)
            progress("measuring \(plan.pushes) pushes")
            let messages = plan.messages(isWarmUp: false)
            let answers = try answerFile(isWarmUp: false, messages.count)
            async let posted = postFanOut(gateway.process, gateway.port, answers)
            report.driverCPUSeconds = try await drive(isWarmUp: false, answers, gateway.port)
            report.fanOut = try await posted
            do {
                try await settle(sink.counters, connection, pushes: plan.warmUpPushes + plan.pushes + plan.fanOut)
            } catch let error as CommandFailure where !processes.isInterrupted {
                progress(error.description)
            }
            let after = Usage(gateway: gateway.process, postgres: database.process, sink: sink.process)
            report.take(before, after)
            report.walBytes = try await walBytes(connection) - walBefore
            report.deliveryRows = try await deliveryRows(connection) - rowsBefore
            report.gatewayPeakBytes = ProcessUsage.peakMemory(of: gateway.process)
            report.sinkPushes = sink.counters.counter(BenchCounter.pushes) - pushesBefore
            report.sinkDuplicates = sink.counters.counter(BenchCounter.duplicates)
            report.acceptedRecipients = answers.counter(BenchCounter.acceptedRecipients)
            report.seconds = seconds(from: answers[0], to: newest(in: sink.counters))
            report.fanOutPushes = sink.counters.counter(BenchCounter.fanOutPushes)
            report.fanOut?.end = newest(in: sink.counters, plan.fanOutSlots)
            addTimes(messages, answers, sink.counters, to: &report)
            return report
        }
        return report
    }

    private func addTimes(
        _ messages: [BenchPlan.Message],
        _ answers: SharedCounters,
        _ pushes: SharedCounters,
        to report: inout BenchReport,
    ) {
        let accounts = plan.shuffledAccounts()
        for message in messages {
            let (posted, answered) = (answers[2 * message.number], answers[2 * message.number + 1])
            guard answered != 0, let phase = report.phase(of: posted) else { continue }
            report[keyPath: phase].accept.append(Double(answered - posted) / 1_000_000)
            for place in message.recipients {
                guard let slot = plan.slot(round: message.round, account: Int(accounts[place])), pushes[slot] != 0
                else { continue }
                report[keyPath: phase].acceptToAPNs.append(Double(pushes[slot] - answered) / 1_000_000)
            }
        }
    }

    /// - Parameter slots: nil for those of the messages.
    private func newest(in pushes: SharedCounters, _ slots: Range<Int>? = nil) -> Int64 {
        (slots ?? 0..<plan.fanOutSlots.lowerBound).reduce(0) { max($0, pushes[$1]) }
    }

    private func seconds(from start: Int64, to end: Int64) -> Double? {
        end > start ? Double(end - start) / 1_000_000_000 : nil
    }

    /// Waits until so many pushes were answered and the gateway has written all of them down.
    private func settle(_ pushes: SharedCounters, _ connection: PostgresConnection, pushes expected: Int) async throws {
        var (count, since) = (Int64(-1), ContinuousClock.now)
        while true {
            let now = pushes.counter(BenchCounter.pushes) + pushes.counter(BenchCounter.fanOutPushes)
            if now != count { (count, since) = (now, .now) }
            if now >= Int64(expected) {
                let statement = PostgresStatement("SELECT NOT EXISTS (SELECT FROM pending)")
                if try await connection.run(statement).rows.first?.boolean(0) == true { return }
            }
            guard !processes.isInterrupted else { throw CommandFailure("interrupted") }
            guard ContinuousClock.now - since < Bench.patience else {
                throw CommandFailure("nothing moved for \(Bench.patience); \(now) of \(expected) pushes came")
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private func deliveryRows(_ connection: PostgresConnection) async throws -> Int64 {
        try await connection.run(PostgresStatement("SELECT count(*) FROM delivery")).rows.first?.integer(0) ?? 0
    }

    private func walBytes(_ connection: PostgresConnection) async throws -> Int64 {
        let statement = PostgresStatement("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        return try await connection.run(statement).rows.first?.integer(0) ?? 0
    }

    // MARK: - Parts

    /// What the processes have used so far.
    struct Usage: Sendable {
        let gateway: ProcessUsage
        let postgres: ProcessUsage?
        let sink: ProcessUsage

        init(gateway: pid_t, postgres: pid_t?, sink: pid_t) {
            self.gateway = ProcessUsage(of: gateway)
            self.postgres = postgres.map { ProcessUsage(of: $0, isTree: true) }
            self.sink = ProcessUsage(of: sink)
        }
    }

    func livepush(_ words: String...) throws(CommandFailure) -> [String] {
        var path = [CChar](repeating: 0, count: 4097)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        guard count > 0 else { throw CommandFailure("cannot find this executable") }
        return [String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)] + words
    }

    private func environment(_ database: BenchDatabase) -> [String: String] {
        var environment = ProcessEnvironment.all.filter { !$0.key.hasPrefix("LIVEPUSH_") }
        environment["LIVEPUSH_DATABASE_URL"] = database.url
        environment["LIVEPUSH_MASTER_KEY"] = Bench.masterKey
        return environment
    }

    private func startSink() async throws -> (process: pid_t, port: UInt16, counters: SharedCounters) {
        let counters = try SharedCounters(folder.pushes, slots: plan.slots, isNew: true)
        let output = folder.path + "/sink.log"
        let process = try processes.start(
            livepush("bench", "sink") + BenchOption.words(plan, folder),
            output: output,
        )
        var port: UInt16?
        try await processes.wait(for: "the sink", atMost: .seconds(30)) {
            guard processes.status(of: process) == nil else { throw CommandFailure(BenchProcesses.tail(output)) }
            let line = BenchProcesses.tail(output)
            port = line.hasSuffix("\n") ? UInt16(line.dropLast()) : nil
            return port != nil
        }
        return (process, port ?? 0, counters)
    }

    private func startGateway(
        _ sinkPort: UInt16,
        _ environment: [String: String],
    ) async throws -> (process: pid_t, port: UInt16, lanes: Int) {
        let output = folder.path + "/gateway.log"
        let cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let lanes = lanes ?? max(1, cores - 1)
        let port = try LoopbackSocket.freePort()
        let process = try processes.start(
            livepush(
                "serve",
                "--listen=127.0.0.1:\(port)",
                "--lanes=\(lanes)",
                "--apns-sandbox=https://localhost:\(sinkPort)",
                "--apns-ca-file=\(folder.authority)",
            ),
            environment: environment,
            output: output,
        )
        var isReady = false
        while !isReady {
            guard processes.status(of: process) == nil else { throw CommandFailure(BenchProcesses.tail(output)) }
            guard !processes.isInterrupted else { throw CommandFailure("interrupted") }
            let answer = try? await PlainHTTPClient.request(
                "GET",
                "http://127.0.0.1:\(port)",
                path: "/readyz",
                body: []
            )
            isReady = answer?.status == 200
            try? await Task.sleep(for: .milliseconds(isReady ? 0 : 50))
        }
        return (process, port, lanes)
    }

    /// Migrates, adds the app and its certificate, registers the activities.
    private func setUp(_ database: BenchDatabase, _ environment: [String: String]) async throws {
        let secretKey = Array("bench-secret-key".utf8)
        let app = "--sdk-app-id=\(BenchPlan.sdkAppID)"
        let secretKeyFile = folder.path + "/secret-key"
        try write(secretKey, to: secretKeyFile)
        try write(try TestSigningKey.makePEM(), to: folder.signingKey)
        let userSig = UserSig.make(
            identifier: BenchPlan.administrator,
            sdkAppID: BenchPlan.sdkAppID,
            secretKey: secretKey,
            now: Int64(time(nil)),
        )
        try write(Array(userSig.utf8), to: folder.userSig)
        let commands = [
            try livepush("migrate"),
            try livepush("app", "add", app, "--secret-key-file=\(secretKeyFile)", "--admin=\(BenchPlan.administrator)"),
            try livepush(
                "certificate",
                "add",
                app,
                "--business-id=1",
                "--bundle-id=\(BenchPlan.bundleID)",
                "--team-id=TEAM123456",
                "--key-id=ABCDE12345",
                "--key-file=\(folder.signingKey)",
                "--environment=sandbox",
            ),
        ]
        for command in commands {
            try await processes.run(command, environment: environment, output: folder.path + "/setup.log")
        }
        if plan.fanOut > 0 {
            try await setUpFanOut(app, environment)
        }
        if let schemas = plan.schemaSQL {
            try await PostgresConnection.run(script: schemas, url: database.url)
        }
        progress("registering \(plan.registrations + plan.fanOut) activities")
        try await PostgresConnection.run(script: plan.registrationSQL, url: database.url)
        try await PostgresConnection.run(script: "VACUUM (ANALYZE) live_activity", url: database.url)
        try await PostgresConnection.run(script: "CHECKPOINT", url: database.url)
    }

    private func answerFile(isWarmUp: Bool, _ messages: Int) throws(CommandFailure) -> SharedCounters {
        try SharedCounters(folder.answers(isWarmUp: isWarmUp), slots: 2 * messages, isNew: true)
    }

    /// Posts the messages.
    ///
    /// - Returns: the CPU seconds of the driver.
    private func drive(isWarmUp: Bool, _ answers: SharedCounters, _ port: UInt16) async throws -> Double {
        let output = folder.path + "/driver.log"
        let words = try livepush("bench", "driver", "--port=\(port)")
        var limits = ["--connections=\(connections)", "--in-flight=\(inFlight)", "--under-way=\(underWay)"]
        if isWarmUp { limits.append("--warm-up") }
        if let rate = plan.rate, !isWarmUp { limits.append("--rate=\(rate)") }
        let process = try processes.start(words + BenchOption.words(plan, folder) + limits, output: output)
        var usage = ProcessUsage(of: process)
        var isDone = false
        while !isDone {
            // The last reading before its end misses some milliseconds.
            let latest = ProcessUsage(of: process)
            if latest.cpuSeconds > 0 { usage = latest }
            if let status = processes.status(of: process) {
                guard status == 0 else { throw CommandFailure("the driver failed: \(BenchProcesses.tail(output))") }
                isDone = true
            }
            guard !processes.isInterrupted else { throw CommandFailure("interrupted") }
            try? await Task.sleep(for: .milliseconds(isDone ? 0 : 10))
        }
        if answers.counter(BenchCounter.refusedMessages) > 0 {
            progress(BenchProcesses.tail(output))
        }
        return usage.cpuSeconds
    }

    func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        guard file >= 0, Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw CommandFailure("cannot write \(path)")
        }
    }

    func progress(_ text: String) {
        StandardOutput.write(error: "bench: \(text)\n")
    }
}

extension BenchReport {
    /// Takes what was used between two readings.
    mutating func take(_ before: Bench.Usage, _ after: Bench.Usage) {
        gatewayCPUSeconds = after.gateway.cpuSeconds - before.gateway.cpuSeconds
        gatewayWriteCalls = after.gateway.writeCalls - before.gateway.writeCalls
        sinkCPUSeconds = after.sink.cpuSeconds - before.sink.cpuSeconds
        if let later = after.postgres, let earlier = before.postgres {
            postgresCPUSeconds = later.cpuSeconds - earlier.cpuSeconds
        }
    }
}
