import ClientAPI
import EventLoop
import HTTPServer
import Metrics
import Pushwoosh
import TencentIM

/// What one lane has counted of its requests. Those of several lanes can be summed.
struct HTTPMetrics: Sendable {
    struct RouteLabel: MetricLabels {
        static let names = ["route"]
        let route: String

        var values: [String] { [route] }

        /// The route of a request, out of a fixed set: never the path itself, which may hold an account's ids.
        init(_ request: HTTPRequest) {
            route = RouteLabel.exact[request.path] ?? ClientAPI.route(of: request) ?? "other"
        }

        private static let exact: [String: String] = {
            let own = ["/healthz", "/readyz", "/metrics"].map { ($0, $0) }
            let tencent = TencentIMAPI.commands.map { ("/v4/" + $0, $0) }
            let pushwoosh = PushwooshAPI.methods.map { ("/json/1.3/" + $0, $0) }
            return Dictionary(own + tencent + pushwoosh) { first, _ in first }
        }()
    }

    struct RequestLabels: MetricLabels {
        static let names = ["route", "code"]
        let route: RouteLabel
        let code: Int

        var values: [String] { [route.route, String(code)] }
    }

    struct ReasonLabel: MetricLabels {
        static let names = ["reason"]
        let reason: String

        var values: [String] { [reason] }
    }

    private var requests = Counter<RequestLabels>(
        "livepush_http_requests_total",
        help: """
            Answered requests. The code is the HTTP status; under /v4 it is Tencent's ErrorCode, 0 for success, under /json \
            Pushwoosh's status_code.
            """,
    )
    private var seconds = Histogram<RouteLabel>(
        "livepush_http_request_seconds",
        help: "Time from a complete request until its answer.",
        bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    )
    private var refusals = Counter<ReasonLabel>(
        "livepush_http_refusals_total",
        help: "Requests and connections that were refused before a route was known, and why.",
    )
    private var connections = Gauge<NoLabels>("livepush_http_connections", help: "Open connections of callers.")
    private var pending = Gauge<NoLabels>(
        "livepush_http_requests_in_flight",
        help: "Requests that wait for their answer.",
    )

    /// The last request's route: that of the next is most often the same.
    private var last: (method: String, path: String, route: RouteLabel)?

    /// A request was answered.
    mutating func answered(_ request: HTTPRequest, _ response: HTTPResponse, receivedAt: MonotonicTime) {
        let route = route(of: request)
        requests.add(RequestLabels(route: route, code: response.outcomeCode ?? response.status))
        seconds.observe(nanoseconds: MonotonicTime.now.nanoseconds &- receivedAt.nanoseconds, route)
    }

    private mutating func route(of request: HTTPRequest) -> RouteLabel {
        if let last, last.path == request.path, last.method == request.method { return last.route }
        let route = RouteLabel(request)
        last = (request.method, request.path, route)
        return route
    }

    /// Takes what the server knows by itself.
    mutating func read(_ server: HTTPServer?) {
        connections.set(Double(server?.openConnections ?? 0))
        pending.set(Double(server?.pendingExchanges ?? 0))
        for (reason, count) in server?.refusals ?? [:] {
            let labels = ReasonLabel(reason: reason)
            refusals.add(labels, count - refusals[labels])
        }
    }

    /// Adds the figures of another lane.
    mutating func add(contentsOf other: HTTPMetrics) {
        requests.add(contentsOf: other.requests)
        seconds.add(contentsOf: other.seconds)
        refusals.add(contentsOf: other.refusals)
        connections.add(contentsOf: other.connections)
        pending.add(contentsOf: other.pending)
    }

    /// Writes all of it.
    func write(to page: inout PrometheusText) {
        page.write(requests)
        page.write(seconds)
        page.write(refusals)
        page.write(connections)
        page.write(pending)
    }
}
