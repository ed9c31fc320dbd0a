import APNs
import Gateway
import HTTPServer
import Metrics

/// What one lane has counted and holds.
struct LaneMetrics: Sendable {
    var http: HTTPMetrics
    var gateway: GatewayMetrics
}

/// `GET /metrics`: the figures of all lanes, asked for and summed.
///
/// No lane shares a counter with another, so that counting costs no more than an addition; the price is paid here.
final class MetricsPage: Sendable {
    /// How long a lane may take to answer.
    private static let patience = Duration.seconds(1)

    private let lanes: [ServeLane]
    private let instance: GatewayInstance
    private let tokens: ProviderTokenCache
    private let process: ProcessMetrics
    private let survey: Survey<LaneMetrics>

    init(lanes: [ServeLane], instance: GatewayInstance, tokens: ProviderTokenCache, process: ProcessMetrics) {
        self.lanes = lanes
        self.instance = instance
        self.tokens = tokens
        self.process = process
        self.survey = Survey(count: lanes.count)
    }

    /// The page, within ``patience`` whatever the other lanes do.
    func response() async -> HTTPResponse {
        let lanes = lanes
        let (answers, missing) = await survey.ask(within: MetricsPage.patience) { await lanes[$0].metrics }
        var page = PrometheusText()
        page.write(Gauge("livepush_lanes", help: "Lanes of the process.", value: Double(lanes.count)))
        page.write(
            Gauge(
                "livepush_lanes_blocked",
                help: "Lanes that did not answer this request within a second; their last figures stand in.",
                value: Double(missing),
            )
        )
        if var sum = answers.first {
            for lane in answers.dropFirst() {
                sum.http.add(contentsOf: lane.http)
                sum.gateway.add(contentsOf: lane.gateway)
            }
            sum.http.write(to: &page)
            sum.gateway.write(to: &page)
        }
        tokens.writeMetrics(to: &page)
        instance.metrics.write(to: &page)
        process.write(to: &page)
        return HTTPResponse(
            status: 200,
            headers: [(name: "Content-Type", value: PrometheusText.contentType)],
            body: page.bytes,
        )
    }
}
