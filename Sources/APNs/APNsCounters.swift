import EventLoop

/// Where the pools of one client count. For one thread.
final class APNsCounters {
    private(set) var current = APNsMetrics()

    func answered(_ push: PendingPush, _ response: APNsResponse, in environment: APNsEnvironment) {
        current.responses.add(APNsMetrics.ResponseLabels(response, in: environment))
        let nanoseconds = MonotonicTime.now.nanoseconds &- push.submittedAt.nanoseconds
        current.requestSeconds.observe(nanoseconds: nanoseconds, APNsMetrics.EnvironmentLabel(environment: environment))
    }

    /// Answers were counted when they came.
    func finished(_ outcome: APNsOutcome, in environment: APNsEnvironment) {
        switch outcome {
        case .responded: break
        case .unanswered(let failure, _):
            current.unanswered.add(APNsMetrics.ReasonLabels(environment: environment, reason: failure.reason))
        case .held(let hold):
            current.held.add(APNsCounters.labels(hold.reason, in: environment))
        }
    }

    func connectionFailed(_ failure: APNsFailure, in environment: APNsEnvironment) {
        current.connectionFailures.add(APNsMetrics.ReasonLabels(environment: environment, reason: failure.reason))
    }

    /// - Parameter code: the name of the HTTP/2 error code, shown where APNs gives no reason.
    func goneAway(code: String, reason: String?, in environment: APNsEnvironment) {
        let reason = reason.map(APNsReason.label) ?? code
        current.goAways.add(APNsMetrics.ReasonLabels(environment: environment, reason: reason))
    }

    static func labels(_ reason: String, in environment: APNsEnvironment) -> APNsMetrics.ReasonLabels {
        // The one reason that is this program's own.
        let isOwn = reason == APNsHold.tokenNotSigned
        return APNsMetrics.ReasonLabels(
            environment: environment,
            reason: isOwn ? reason : APNsReason.label(of: reason),
        )
    }
}
