public import Metrics

extension ProviderTokenCache {
    /// Writes the age of the oldest token that may be sent, for each environment in which there is one.
    ///
    /// It stays below 50 minutes while tokens are replaced in time; APNs refuses one of an hour.
    public func writeMetrics(to page: inout PrometheusText) {
        var gauge = Gauge<APNsMetrics.EnvironmentLabel>(
            "livepush_apns_provider_token_age_seconds",
            help: "Age of the oldest provider token that is sent to APNs; replaced at 3000 unless told otherwise.",
        )
        for (environment, age) in oldestAges {
            gauge.set(
                Double(age.components.seconds),
                APNsMetrics.EnvironmentLabel(environment: environment),
            )
        }
        page.write(gauge)
    }
}
