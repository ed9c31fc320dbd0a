import APNs
import Gateway
import HTTPServer
import Metrics

/// `GET /metrics`: the figures of all lanes and of the process.
final class MetricsPage: Sendable {
    private let laneCount: Int
    private let survey: LaneSurvey
    private let instance: GatewayInstance
    private let tokens: ProviderTokenCache
    private let process: ProcessMetrics

    init(
        laneCount: Int,
        survey: LaneSurvey,
        instance: GatewayInstance,
        tokens: ProviderTokenCache,
        process: ProcessMetrics,
    ) {
        self.laneCount = laneCount
        self.survey = survey
        self.instance = instance
        self.tokens = tokens
        self.process = process
    }

    func response() async -> HTTPResponse {
        let (sum, missing) = await survey.sum()
        var page = PrometheusText()
        page.write(Gauge("livepush_lanes", help: "Lanes of the process.", value: Double(laneCount)))
        page.write(
            Gauge(
                "livepush_lanes_blocked",
                help: "Lanes that did not answer this request within a second; their last figures stand in.",
                value: Double(missing),
            )
        )
        sum?.http.write(to: &page)
        sum?.gateway.write(to: &page)
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
