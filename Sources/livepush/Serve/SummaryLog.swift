import APNs
import Gateway
import Logging

/// Tells in the log, every so often, what happened meanwhile and what waits.
actor SummaryLog {
    private let survey: LaneSurvey
    private let instance: GatewayInstance
    private let tokens: ProviderTokenCache
    private let logger: Logger
    private var last: GatewaySummary
    private var toldAt = ContinuousClock.now

    init(survey: LaneSurvey, instance: GatewayInstance, tokens: ProviderTokenCache, logger: Logger) {
        self.survey = survey
        self.instance = instance
        self.tokens = tokens
        self.logger = logger
        self.last = GatewaySummary(lanes: nil, instance: instance.metrics, providerTokenAge: nil)
    }

    /// Writes what happened since the last time.
    func write() async {
        guard let lanes = await survey.sum().metrics?.gateway else { return }
        let summary = GatewaySummary(
            lanes: lanes,
            instance: instance.metrics,
            providerTokenAge: tokens.oldestAges.values.max(),
        )
        let now = ContinuousClock.now
        summary.write(to: logger, since: last, seconds: (now - toldAt).components.seconds)
        (last, toldAt) = (summary, now)
    }

    /// Writes after each such time, until the task is cancelled.
    func write(every interval: Duration) async {
        while (try? await Task.sleep(for: interval)) != nil {
            await write()
        }
    }
}
