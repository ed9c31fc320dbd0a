import APNs
import APNsSimulator
import EventLoop
import Glibc
import Logging

/// Options by which the processes of a bench are told the plan.
enum BenchOption {
    static let registrations = CommandOption(
        name: "registrations",
        kind: .value("N"),
        help: "accounts with an activity"
    )
    static let pushes = CommandOption(name: "pushes", kind: .value("N"), help: "pushes to measure")
    static let batch = CommandOption(name: "batch", kind: .value("N"), help: "recipients of each message")
    static let seed = CommandOption(name: "seed", kind: .value("N"), help: "of the random order")
    static let fanOut = CommandOption(name: "fan-out", kind: .value("N"), help: "phones that one update goes to")
    static let folder = CommandOption(name: "folder", kind: .value("PATH"), help: "the bench's temporary folder")
    static let port = CommandOption(name: "port", kind: .value("N"), help: "where the peer listens")

    static let plan = [registrations, pushes, batch, seed, fanOut, folder]

    static func plan(_ arguments: CommandArguments) throws -> BenchPlan {
        BenchPlan(
            registrations: Int(try arguments.requiredInteger("registrations")),
            pushes: Int(try arguments.requiredInteger("pushes")),
            batch: Int(try arguments.requiredInteger("batch")),
            seed: UInt64(bitPattern: try arguments.integer("seed", in: Int64.min...Int64.max) ?? 0),
            fanOut: Int(try arguments.integer("fan-out", in: 0...10_000_000) ?? 0),
        )
    }

    static func words(_ plan: BenchPlan, _ folder: BenchFolder) -> [String] {
        [
            "--registrations=\(plan.registrations)", "--pushes=\(plan.pushes)", "--batch=\(plan.batch)",
            "--seed=\(Int64(bitPattern: plan.seed))", "--fan-out=\(plan.fanOut)", "--folder=\(folder.path)",
        ]
    }
}

/// The files of a bench.
struct BenchFolder: Sendable {
    let path: String

    /// The sink's counters: for each slot of the plan, when its answer went out.
    var pushes: String { path + "/pushes" }
    var authority: String { path + "/authority.pem" }
    var signingKey: String { path + "/AuthKey.p8" }
    var userSig: String { path + "/usersig" }

    func answers(isWarmUp: Bool) -> String { path + (isWarmUp ? "/warm-up-answers" : "/answers") }
}

/// `livepush bench sink`, which `livepush bench` starts.
enum BenchSinkCommand: Command {
    static let name = "bench sink"
    static let summary = "the far end of a bench, started by it"
    static let options = BenchOption.plan

    static func run(_ arguments: CommandArguments) async throws {
        let plan = try BenchOption.plan(arguments)
        let folder = BenchFolder(path: try arguments.required("folder"))
        let pushes = try SharedCounters(folder.pushes, slots: plan.slots)
        let sink = try PushSink(authorityFile: folder.authority) { push in
            guard let round = round(of: push.payload), let account = account(of: push.token),
                let slot = plan.slot(round: round, account: account) ?? plan.fanOutSlot(account: account)
            else { return pushes.addToCounter(BenchCounter.strays) }
            if pushes[slot] == 0 {
                pushes[slot] = MonotonicTime.now.nanoseconds
                let isOfFanOut = slot >= plan.fanOutSlots.lowerBound
                pushes.addToCounter(isOfFanOut ? BenchCounter.fanOutPushes : BenchCounter.pushes)
            } else {
                pushes.addToCounter(BenchCounter.duplicates)
            }
        }
        StandardOutput.write("\(sink.port)\n")
        sink.run()
    }

    /// The number in the first 8 bytes of a token, 16 hex digits.
    private static func account(of token: UnsafeBufferPointer<UInt8>) -> Int? {
        guard token.count >= 16 else { return nil }
        return Int(String(decoding: token.prefix(16), as: UTF8.self), radix: 16)
    }

    private static func round(of payload: UnsafeBufferPointer<UInt8>) -> Int? {
        let mark = BenchPlan.roundMark
        guard let found = ByteSearch.first(mark, in: UnsafeRawBufferPointer(payload)) else { return nil }
        return ByteSearch.number(in: UnsafeRawBufferPointer(payload), at: found + mark.count)
    }
}

/// `livepush bench driver`, which `livepush bench` starts.
enum BenchDriverCommand: Command {
    static let name = "bench driver"
    static let summary = "the chat backend of a bench, started by it"
    static let options =
        BenchOption.plan + [
            BenchOption.port,
            CommandOption(name: "connections", kind: .value("N"), help: "connections to the gateway"),
            CommandOption(name: "in-flight", kind: .value("N"), help: "requests under way on each"),
            CommandOption(name: "under-way", kind: .value("N"), help: "pushes under way in all"),
            CommandOption(
                name: "rate",
                kind: .value("N"),
                help: "messages a second; as many as are answered if absent"
            ),
            CommandOption(name: "warm-up", kind: .flag, help: "post the messages of the warm-up"),
        ]

    static func run(_ arguments: CommandArguments) async throws {
        var plan = try BenchOption.plan(arguments)
        plan.rate = try arguments.integer("rate", in: 1...1_000_000).map { Int($0) }
        let folder = BenchFolder(path: try arguments.required("folder"))
        let isWarmUp = arguments.isSet("warm-up")
        let answers = try SharedCounters(
            folder.answers(isWarmUp: isWarmUp),
            slots: 2 * plan.messages(isWarmUp: isWarmUp).count,
        )
        let driver = try BenchDriver(
            plan,
            isWarmUp: isWarmUp,
            port: UInt16(clamping: try arguments.requiredInteger("port")),
            userSig: String(decoding: try InputFile.readTrimmed(folder.userSig, option: "folder"), as: UTF8.self),
            connections: Int(try arguments.requiredInteger("connections")),
            inFlight: Int(try arguments.requiredInteger("in-flight")),
            underWay: Int(try arguments.requiredInteger("under-way")),
            pushes: try SharedCounters(folder.pushes, slots: plan.slots),
            answers: answers,
        )
        try driver.run()
    }
}

/// `livepush bench apns`, which `livepush bench --apns-only` starts.
enum BenchAPNsCommand: Command {
    static let name = "bench apns"
    static let summary = "the APNs client of a bench alone, started by it"
    static let options = BenchOption.plan + [BenchOption.port]

    static func run(_ arguments: CommandArguments) async throws {
        let plan = try BenchOption.plan(arguments)
        let folder = BenchFolder(path: try arguments.required("folder"))
        let port = try arguments.requiredInteger("port")
        var configuration = APNsConfiguration(caFile: folder.authority)
        configuration.sandbox = try APNsEndpoint(parsing: "https://localhost:\(port)")
        let key = try APNsSigningKey(
            privateKey: try InputFile.read(folder.signingKey, option: "folder"),
            teamID: "TEAM123456",
            keyID: "ABCDE12345",
        )
        let answers = try SharedCounters(folder.answers(isWarmUp: false), slots: 0)
        let lane = try BenchPushLane(configuration, key)
        for isWarmUp in [true, false] {
            let messages = plan.messages(isWarmUp: isWarmUp)
            let accepted = await lane.push(messages, plan.shuffledAccounts())
            answers.addToCounter(BenchCounter.acceptedRecipients, isWarmUp ? 0 : Int64(accepted))
            let stage: Int64 = isWarmUp ? 1 : 2
            answers.setCounter(BenchCounter.stage, stage)
            // The bench reads the process's times before it lets it go on, or ends it.
            while answers.counter(BenchCounter.permittedStage) < stage {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }
}
