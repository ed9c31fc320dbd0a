import Gateway
import Metrics

/// What one lane has counted and holds.
struct LaneMetrics: Sendable {
    var http: HTTPMetrics
    var gateway: GatewayMetrics
}

/// The figures of all lanes, asked for and summed.
///
/// No lane shares a counter with another, so that counting costs no more than an addition; the price is paid here.
final class LaneSurvey: Sendable {
    /// How long a lane may take to answer.
    private static let patience = Duration.seconds(1)

    private let lanes: [ServeLane]
    private let survey: Survey<LaneMetrics>

    init(lanes: [ServeLane]) {
        self.lanes = lanes
        self.survey = Survey(count: lanes.count)
    }

    /// The sum, within ``patience`` whatever a lane does; nil before any has answered.
    ///
    /// - Returns: also how many lanes did not answer in time; their last figures stand in.
    func sum() async -> (metrics: LaneMetrics?, missing: Int) {
        let lanes = lanes
        let (answers, missing) = await survey.ask(within: LaneSurvey.patience) { await lanes[$0].metrics }
        guard var sum = answers.first else { return (nil, missing) }
        for lane in answers.dropFirst() {
            sum.http.add(contentsOf: lane.http)
            sum.gateway.add(contentsOf: lane.gateway)
        }
        return (sum, missing)
    }
}
