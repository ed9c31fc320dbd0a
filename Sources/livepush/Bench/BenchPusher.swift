import APNs
import EventLoop
import Logging

/// A loop with the APNs client alone, as a lane of the gateway has it.
actor BenchPushLane {
    private nonisolated let loop: EventLoop
    private let pusher: BenchPusher

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ configuration: APNsConfiguration, _ key: APNsSigningKey) throws {
        let loop = try EventLoop()
        self.loop = loop
        self.pusher = try BenchPusher(on: loop, configuration, key)
        loop.runInNewThread(name: "lane")
    }

    /// Pushes the messages.
    ///
    /// - Returns: how many of the pushes were answered with 200.
    func push(_ messages: [BenchPlan.Message], _ accounts: [UInt32]) async -> Int {
        await pusher.push(messages, accounts)
    }
}

/// Drives the APNs client alone. It lives on its loop's thread.
final class BenchPusher {
    /// Pushes under way: as many as two connections have streams.
    private static let window = 2000
    private static let topic = BenchPlan.bundleID + ".push-type.liveactivity"

    private let client: APNsClient
    private let key: APNsSigningKey
    private var run: Run?

    /// The pushes of one call.
    private struct Run {
        let messages: [BenchPlan.Message]
        let accounts: [UInt32]
        let expiration: Int64
        let continuation: CheckedContinuation<Int, Never>
        var message = 0
        var recipient = 0
        var underWay = 0
        var accepted = 0
        var state: [UInt8] = []
    }

    init(on loop: EventLoop, _ configuration: APNsConfiguration, _ key: APNsSigningKey) throws {
        self.client = try APNsClient(
            on: loop,
            configuration: configuration,
            tokens: ProviderTokenCache(),
            logger: Logger(minimumLevel: .warning),
        )
        self.key = key
    }

    func push(_ messages: [BenchPlan.Message], _ accounts: [UInt32]) async -> Int {
        await withCheckedContinuation { continuation in
            run = Run(
                messages: messages,
                accounts: accounts,
                expiration: ProviderTokenCache.systemTime() + 3600,
                continuation: continuation,
            )
            sendMore()
        }
    }

    private func sendMore() {
        while let underWay = run?.underWay, underWay < BenchPusher.window, let request = nextRequest() {
            run?.underWay += 1
            client.send(request, signedBy: key, to: .sandbox) { [weak self] outcome in
                self?.answered(outcome)
            }
        }
    }

    private func answered(_ outcome: APNsOutcome) {
        run?.underWay -= 1
        if case .responded(let response) = outcome, response.status == 200 {
            run?.accepted += 1
        }
        sendMore()
        if let finished = run, finished.underWay == 0 {
            run = nil
            finished.continuation.resume(returning: finished.accepted)
        }
    }

    private func nextRequest() -> APNsRequest? {
        guard var current = run, current.message < current.messages.count else { return nil }
        run = nil
        defer { run = current }
        let message = current.messages[current.message]
        if current.recipient == 0 {
            current.state = Array(#"{"aps":{"timestamp":1790000000,"event":"update","content-state":"#.utf8)
            BenchPlan.appendState(of: message, to: &current.state)
            current.state.append(contentsOf: "}}".utf8)
        }
        let account = current.accounts[message.recipients.lowerBound + current.recipient]
        current.recipient += 1
        if current.recipient == message.recipients.count {
            current.recipient = 0
            current.message += 1
        }
        let token = String(unsafeUninitializedCapacity: 160) { digits in
            for position in 0..<160 {
                let digit = UInt8(truncatingIfNeeded: account >> UInt32(4 * (15 - position % 16))) & 0xF
                digits[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 160
        }
        return APNsRequest(
            deviceToken: token,
            topic: BenchPusher.topic,
            pushType: .liveActivity,
            priority: 10,
            expiration: current.expiration,
            apnsID: "00000000-0000-4000-8000-" + token.suffix(12),
            collapseID: "m\(message.number)",
            payload: current.state,
        )
    }
}
