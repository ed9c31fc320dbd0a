import APNs
import ClientAPI
import EventLoop
import Gateway
import HTTPServer
import Logging
import Pushwoosh
import TencentIM
import VerbatimJSON

/// One lane of a gateway process: a thread with its listener, its dialects and its part of the gateway.
actor ServeLane {
    private nonisolated let loop: EventLoop
    private let state: ServeState
    private let lane: GatewayLane
    private let tencent: TencentIMAPI
    private let pushwoosh: PushwooshAPI
    private let client: ClientAPI
    private let logger: Logger
    private var server: HTTPServer?
    private var page: MetricsPage?
    private var httpMetrics = HTTPMetrics()
    private var keeper: InstanceKeeper?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        configuration: GatewayConfiguration,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        tokens: ProviderTokenCache,
        state: ServeState,
        logger: Logger,
    ) throws {
        let loop = try EventLoop()
        self.loop = loop
        self.state = state
        self.logger = logger
        let lane = try GatewayLane(
            on: loop,
            configuration: configuration,
            instance: instance,
            directory: directory,
            tokens: tokens,
            logger: logger,
        )
        self.lane = lane
        let records = MessageRecordStore(pool: lane.callers, logger: logger)
        let registrations = RegistrationStore(pool: lane.callers, alarms: instance.alarms, logger: logger)
        self.tencent = TencentIMAPI(
            gateway: lane.gateway,
            records: records,
            revoker: lane.revoker,
            logger: logger,
        )
        self.pushwoosh = PushwooshAPI(gateway: lane.pushwoosh, registrations: registrations, logger: logger)
        self.client = ClientAPI(
            gateway: lane.gateway,
            registrations: registrations,
            messages: records,
            channels: lane.channels,
            logger: logger,
        )
        loop.runInNewThread(name: "lane")
    }

    /// Connects to PostgreSQL and begins to work on the queue.
    func start() {
        lane.start()
    }

    /// Keeps the whole process alive, until this lane is closed. One lane of a process does.
    ///
    /// - Parameter retired: told of signing keys that are not used any more.
    func keepInstance(
        configuration: GatewayConfiguration,
        instance: GatewayInstance,
        directory: ApplicationDirectory,
        logger: Logger,
        retired: @escaping @Sendable ([APNsSigningKey]) -> Void,
    ) {
        let keeper = InstanceKeeper(
            on: loop,
            configuration: configuration,
            instance: instance,
            directory: directory,
            logger: logger,
        )
        keeper.start(retired: retired)
        self.keeper = keeper
    }

    /// Closes the connections of keys that are not used any more.
    func retire(_ keys: [APNsSigningKey]) {
        lane.retire(keys)
    }

    // MARK: - HTTP

    /// Begins to answer requests.
    ///
    /// - Parameter page: what `/metrics` shows; nil where there is no such path.
    func listen(
        on socket: ListeningSocket,
        configuration: HTTPServerConfiguration,
        page: MetricsPage?,
        logger: Logger,
    ) throws(HTTPServerError) {
        var configuration = configuration
        configuration.errorBody = { refusal in
            ServeLane.isPushwoosh(refusal.path) ? PushwooshAPI.body(of: refusal) : refusal.body
        }
        let server = HTTPServer(on: loop, configuration: configuration, logger: logger) { request, exchange in
            // With the loop as its preference: a continuation resumes its task on the task's own executor first, which
            // would be Swift's thread pool, and only from there back on this thread.
            Task(executorPreference: self.loop) { await self.answer(request, exchange) }
        }
        self.server = server
        self.page = page
        try server.accept(on: socket)
    }

    private func answer(_ request: HTTPRequest, _ exchange: HTTPExchange) async {
        let receivedAt = MonotonicTime.now
        let response = await response(to: request)
        server?.respond(response, to: exchange)
        httpMetrics.answered(request, response, receivedAt: receivedAt)
    }

    private func response(to request: HTTPRequest) async -> HTTPResponse {
        if ExplainedRequest.isAsked(by: request) {
            return await ExplainedRequest.response(to: request, by: lane.explainer(), logger: logger)
        }
        if request.path == "/v4" || request.path.hasPrefix("/v4/") {
            return await tencent.respond(to: request)
        }
        if request.path == "/v1" || request.path.hasPrefix("/v1/") {
            return await client.respond(to: request)
        }
        if ServeLane.isPushwoosh(request.path) {
            return await pushwoosh.respond(to: request)
        }
        switch request.path {
        case "/healthz": return health(request, obstacle: nil)
        case "/readyz": return health(request, obstacle: state.obstacle)
        case "/metrics": return await metrics(request)
        default: return ServeLane.notFound
        }
    }

    private static func isPushwoosh(_ path: String) -> Bool {
        path == "/json" || path.hasPrefix("/json/")
    }

    @inline(never)
    private func metrics(_ request: HTTPRequest) async -> HTTPResponse {
        guard let page else { return ServeLane.notFound }
        guard ServeLane.reads(request) else { return ServeLane.methodNotAllowed }
        return await page.response()
    }

    @inline(never)
    private func health(_ request: HTTPRequest, obstacle: String?) -> HTTPResponse {
        guard ServeLane.reads(request) else { return ServeLane.methodNotAllowed }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("status", obstacle == nil ? "ok" : "unavailable")
        writer.member("reason", obstacle)
        writer.endObject()
        return .json(obstacle == nil ? 200 : 503, writer.bytes)
    }

    private static func reads(_ request: HTTPRequest) -> Bool {
        request.method == "GET" || request.method == "HEAD"
    }

    private static let notFound = error(404, "not_found", "there is no such path")
    private static let methodNotAllowed = error(
        405,
        "method_not_allowed",
        "only GET and HEAD are",
        allow: "GET, HEAD",
    )

    private static func error(
        _ status: Int,
        _ code: StaticString,
        _ message: StaticString,
        allow: String? = nil,
    ) -> HTTPResponse {
        let body = Array(#"{"error":{"code":"\#(code)","message":"\#(message)"}}"#.utf8)
        return .json(status, body, headers: allow.map { [(name: "Allow", value: $0)] } ?? [])
    }

    // MARK: - Metrics

    /// What it has counted, and what it holds now.
    var metrics: LaneMetrics {
        httpMetrics.read(server)
        return LaneMetrics(http: httpMetrics, gateway: lane.metrics)
    }

    // MARK: - Draining

    /// From now on every answer closes its connection, so that clients move elsewhere.
    func announceClose() {
        server?.announceClose()
    }

    /// Takes no new connection; those that the kernel has accepted already are still served.
    func stopAccepting() {
        server?.stopAccepting()
        server?.closeIdleConnections()
    }

    /// Whether a request is under way.
    var isAnswering: Bool {
        server?.closeIdleConnections()
        return (server?.pendingExchanges ?? 0) > 0
    }

    /// Recipients whose push is under way.
    var recipientsUnderWay: Int { lane.recipientsUnderWay }

    /// Takes up no more work from the queue.
    func stopTakingUp() {
        lane.stopTakingUp()
    }

    /// Closes everything. The lane that keeps the instance goes last: it gives back what all have left.
    func close() async {
        page = nil
        server?.close()
        lane.close()
        await keeper?.close()
    }
}
