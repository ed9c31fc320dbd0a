import APNs
import Gateway
import HTTPServer
import Logging

/// A running gateway: its lanes, from the first bind to the last commit.
enum GatewayProcess {
    /// How long requests that are under way may take after the grace time.
    private static let answerLimit: Duration = .seconds(5)
    /// How long pushes that are under way may take after that; what is left is given back to the queue.
    private static let deliveryLimit: Duration = .seconds(7)

    /// Runs until SIGTERM or SIGINT, then drains.
    ///
    /// - Throws: where the address is taken, or a lane cannot be made.
    static func run(_ configuration: ServeConfiguration, seal: SecretSeal) async throws {
        let process = ProcessMetrics()
        try TerminationSignals.install()
        let logger = Logger(minimumLevel: configuration.logLevel)
        let sockets = try ListeningSocket.bind(configuration.listen, count: configuration.lanes)
        let instance = GatewayInstance(
            configuration: configuration.gateway.instance,
            host: ProcessEnvironment.hostAndProcess,
            logger: logger,
        )
        let directory = ApplicationDirectory(seal: seal, logger: logger)
        let tokens = ProviderTokenCache(rules: configuration.gateway.apns.providerTokens)
        let state = ServeState(instance: instance, directory: directory)
        var lanes: [ServeLane] = []
        for _ in sockets {
            lanes.append(
                try ServeLane(
                    configuration: configuration.gateway,
                    instance: instance,
                    directory: directory,
                    tokens: tokens,
                    state: state,
                    logger: logger,
                )
            )
        }
        for lane in lanes {
            await lane.start()
        }
        await lanes[0].keepInstance(
            configuration: configuration.gateway,
            instance: instance,
            directory: directory,
            logger: logger,
        ) { [lanes] keys in
            for lane in lanes {
                Task { await lane.retire(keys) }
            }
        }
        let survey = LaneSurvey(lanes: lanes)
        let page =
            configuration.showsMetrics
            ? MetricsPage(
                laneCount: lanes.count,
                survey: survey,
                instance: instance,
                tokens: tokens,
                process: process,
            ) : nil
        for (lane, socket) in zip(lanes, sockets) {
            try await lane.listen(on: socket, configuration: configuration.http, page: page, logger: logger)
        }
        logger.info(
            "listening",
            [
                "host": .string(configuration.listen.host),
                "port": .count(sockets[0].port),
                "lanes": .count(lanes.count),
            ],
        )
        let summary = configuration.summaryInterval.map { interval in
            let log = SummaryLog(survey: survey, instance: instance, tokens: tokens, logger: logger)
            return (log, Task { await log.write(every: interval) })
        }
        await TerminationSignals.wait()
        await drain(lanes, state, grace: configuration.drainGrace, logger)
        if let (log, task) = summary {
            task.cancel()
            await log.write()
        }
        // The first lane keeps the instance alive and gives back what is left, so it goes last.
        for lane in lanes.reversed() {
            await lane.close()
        }
        logger.info("stopped")
    }

    private static func drain(_ lanes: [ServeLane], _ state: ServeState, grace: Duration, _ logger: Logger) async {
        logger.info("draining")
        state.beginDraining()
        for lane in lanes {
            await lane.announceClose()
        }
        try? await Task.sleep(for: grace)
        for lane in lanes {
            await lane.stopTakingUp()
            await lane.stopAccepting()
        }
        await wait(atMost: answerLimit) {
            for lane in lanes where await lane.isAnswering { return false }
            return true
        }
        await wait(atMost: deliveryLimit) {
            for lane in lanes where await lane.recipientsUnderWay > 0 { return false }
            return true
        }
        var left = 0
        for lane in lanes {
            left += await lane.recipientsUnderWay
        }
        if left > 0 {
            logger.warning("unfinished work is given back; some pushes may go out again", ["recipients": .count(left)])
        }
    }

    private static func wait(atMost limit: Duration, until isDone: () async -> Bool) async {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end, await !isDone() {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }
}
