import EventLoop
import HTTPServer
import Logging
import Testing

/// A server on a loop of its own. It answers `/hold` only when told to, everything else at once with what it was asked.
actor ServerUnderTest {
    nonisolated let loop: EventLoop
    nonisolated let port: UInt16

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let configuration: HTTPServerConfiguration
    private let socket: ListeningSocket
    private var server: HTTPServer?
    private(set) var requests: [HTTPRequest] = []
    private(set) var held: [HTTPExchange] = []

    /// - Parameter socket: where to listen; a free port where nil.
    static func started(
        _ configuration: HTTPServerConfiguration = HTTPServerConfiguration(),
        socket: ListeningSocket? = nil,
    ) async throws -> ServerUnderTest {
        let anyPort = try ListenAddress(parsing: "127.0.0.1:0")
        let socket = try socket ?? #require(try ListeningSocket.bind(anyPort, count: 1).first)
        let server = try ServerUnderTest(configuration, socket)
        try await server.start()
        return server
    }

    private init(_ configuration: HTTPServerConfiguration, _ socket: ListeningSocket) throws {
        self.loop = try EventLoop()
        self.configuration = configuration
        self.socket = socket
        self.port = socket.port
        loop.runInNewThread(name: "http test")
    }

    private func start() throws {
        let server = HTTPServer(
            on: loop,
            configuration: configuration,
            logger: Logger(minimumLevel: .error),
        ) { [weak self] request, exchange in
            self?.assumeIsolated { $0.handle(request, exchange) }
        }
        try server.accept(on: socket)
        self.server = server
    }

    private func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        requests.append(request)
        if request.path == "/hold" {
            held.append(exchange)
        } else {
            server?.respond(ServerUnderTest.echo(request), to: exchange)
        }
    }

    static func echo(_ request: HTTPRequest) -> HTTPResponse {
        if request.path == "/large" {
            return HTTPResponse(status: 200, body: [UInt8](repeating: 120, count: 8 << 20))
        }
        let text = "\(request.method) \(request.path) \(String(decoding: request.body, as: UTF8.self))"
        return HTTPResponse(status: 200, headers: [("X-Path", request.path)], body: Array(text.utf8))
    }

    /// Answers the held requests, oldest first.
    func release() {
        let exchanges = held
        held = []
        for exchange in exchanges {
            server?.respond(HTTPResponse(status: 200, body: Array("released".utf8)), to: exchange)
        }
    }

    /// Runs `body` on the server, on its thread.
    func with<Result: Sendable>(_ body: @Sendable (HTTPServer) throws -> Result) throws -> Result {
        try body(#require(server))
    }

    var refusals: [String: Int] { server?.refusals ?? [:] }
    var openConnections: Int { server?.openConnections ?? 0 }
    var pendingExchanges: Int { server?.pendingExchanges ?? 0 }

    /// Waits until `condition` holds, or the test's time is over.
    func wait(until condition: @Sendable (isolated ServerUnderTest) -> Bool) async throws {
        while !condition(self) {
            try Task.checkCancellation()
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Drops the server and ends its thread.
    func stop() async {
        server = nil
        // libevent closes the sockets in the loop's next turn.
        try? await Task.sleep(for: .milliseconds(1))
        loop.stop()
    }
}
