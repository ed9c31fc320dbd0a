import APNs
import EventLoop
import Logging
import Metrics
import Synchronization

/// Where a test's tokens come from.
typealias TokenSource = @Sendable (ProviderTokenRequest) async -> Result<IssuedProviderToken, ProviderTokenError>

/// An actor on an event loop of its own with one client, as a lane is.
actor TestLane {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    nonisolated let log = LogLines()

    private var client: APNsClient?

    init() throws {
        loop = try EventLoop()
        loop.runInNewThread(name: "test lane")
    }

    /// Runs `body` with a client of `peer`, which serves as both environments.
    static func with(
        _ peer: HTTP2Peer,
        host: String = "localhost",
        trustsPeer: Bool = true,
        tokens: ProviderTokenCache = ProviderTokenCache(),
        circuits: ConfigurationCircuits = ConfigurationCircuits(),
        source: TokenSource? = nil,
        configure: @Sendable (inout APNsConfiguration) -> Void = { _ in },
        _ body: (TestLane) async throws -> Void,
    ) async throws {
        let endpoint = try APNsEndpoint(parsing: "https://\(host):\(peer.port)")
        var configuration = APNsConfiguration(
            production: endpoint,
            sandbox: endpoint,
            caFile: trustsPeer ? peer.certificates.authorityFile : nil,
        )
        configuration.broadcastProduction = endpoint
        configuration.broadcastSandbox = endpoint
        configuration.manageBroadcastProduction = endpoint
        configuration.manageBroadcastSandbox = endpoint
        configuration.shortestReconnectDelay = .milliseconds(20)
        configure(&configuration)
        let lane = try TestLane()
        try await lane.open(configuration, tokens, circuits, source)
        do {
            try await body(lane)
        } catch {
            await lane.close()
            throw error
        }
        await lane.close()
    }

    private func open(
        _ configuration: APNsConfiguration,
        _ tokens: ProviderTokenCache,
        _ circuits: ConfigurationCircuits,
        _ source: TokenSource?,
    ) throws {
        let log = log
        client = try APNsClient(
            on: loop,
            configuration: configuration,
            tokens: tokens,
            circuits: circuits,
            logger: Logger(minimumLevel: .debug) { log.append($0) },
        )
        guard let source else { return }
        client?.tokenSource = { request, completion in
            Task {
                _ = self
                completion(await source(request))
            }
        }
    }

    func close() {
        client?.close()
        client = nil
        loop.stop()
    }

    var requestsInFlight: Int { client?.requestsInFlight ?? 0 }

    /// The client's metrics, line by line.
    var metrics: [Substring] {
        var page = PrometheusText()
        client?.metrics.write(to: &page)
        return String(decoding: page.bytes, as: UTF8.self).split(separator: "\n")
    }

    func closeClient() {
        client?.close()
    }

    func allowSending(_ isAllowed: Bool) {
        client?.maySend = { isAllowed }
    }

    func limitWaiting(to limit: Int) {
        client?.waitingLimit = { limit }
    }

    func retire(_ key: APNsSigningKey) {
        client?.retire(key)
    }

    func send(
        _ request: APNsRequest,
        key: APNsSigningKey,
        to environment: APNsEnvironment = .production,
    ) async -> APNsOutcome {
        await sendAll([request], key: key, to: environment)[0]
    }

    func send(
        _ request: APNsChannelRequest,
        key: APNsSigningKey,
        to environment: APNsEnvironment = .production,
    ) async -> APNsOutcome {
        await withCheckedContinuation { continuation in
            client?.send(request, signedBy: key, to: environment) { continuation.resume(returning: $0) }
        }
    }

    /// Hands all over in one turn of the loop.
    func sendAll(
        _ requests: [APNsRequest],
        key: APNsSigningKey,
        to environment: APNsEnvironment = .production,
    ) async -> [APNsOutcome] {
        await withCheckedContinuation { continuation in
            var outcomes = [APNsOutcome?](repeating: nil, count: requests.count)
            var missing = requests.count
            var isSending = true
            for (index, request) in requests.enumerated() {
                client?.send(request, signedBy: key, to: environment) { outcome in
                    precondition(!isSending, "the completion was called from inside send")
                    precondition(outcomes[index] == nil, "the completion was called twice")
                    outcomes[index] = outcome
                    missing -= 1
                    if missing == 0 {
                        continuation.resume(returning: outcomes.compactMap(\.self))
                    }
                }
            }
            isSending = false
        }
    }
}

/// What a client logged.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    func append(_ line: String) {
        lines.withLock { $0.append(line) }
    }

    func contains(_ text: String) -> Bool {
        lines.withLock { $0.contains { $0.contains(text) } }
    }
}
