import VerbatimJSON

/// What a bench prints. A figure that a bench does not have is null.
struct BenchReport: Sendable {
    var plan: BenchPlan
    var lanes: Int?
    var connections: Int?
    var inFlight: Int?
    var underWay: Int?
    var acceptedRecipients: Int64?
    var deliveryRows: Int64?
    var sinkPushes: Int64 = 0
    var sinkDuplicates: Int64 = 0
    var seconds: Double?
    var gatewayCPUSeconds = 0.0
    var postgresCPUSeconds: Double?
    var sinkCPUSeconds = 0.0
    var driverCPUSeconds: Double?
    var gatewayPeakBytes: Int64?
    var gatewayWriteCalls: Int64 = 0
    var walBytes: Int64?
    /// Milliseconds, of each message.
    var accept: [Double] = []
    /// Milliseconds, of each push.
    var acceptToAPNs: [Double] = []
    var postgresVersion: String?

    /// Why the bench failed; nil if all that was accepted was pushed once and written down.
    var failure: String? {
        let counts = [acceptedRecipients, plan.isAPNsOnly ? acceptedRecipients : deliveryRows, sinkPushes]
        guard counts.allSatisfy({ $0 == Int64(plan.pushes) }), sinkDuplicates == 0 else {
            return "accepted recipients \(text(acceptedRecipients)), delivery rows \(text(deliveryRows)), pushes at "
                + "the sink \(sinkPushes), \(sinkDuplicates) of them again; each count should be \(plan.pushes), none again"
        }
        return nil
    }

    private func text(_ count: Int64?) -> String {
        count.map { String($0) } ?? "not counted"
    }

    /// One line.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("pushes", plan.pushes)
        number("pushes_per_second", seconds.map { Double(sinkPushes) / $0 }, &writer)
        number("gateway_cpu_s_per_100k", per100000(gatewayCPUSeconds), &writer)
        number("postgres_cpu_s_per_100k", postgresCPUSeconds.map(per100000), &writer)
        number("sink_cpu_s_per_100k", per100000(sinkCPUSeconds), &writer)
        number("driver_cpu_s_per_100k", driverCPUSeconds.map(per100000), &writer)
        number("gateway_rss_mb", gatewayPeakBytes.map { Double($0) / 1_000_000 }, &writer)
        number("socket_writes_per_push", Double(gatewayWriteCalls) / Double(plan.pushes), &writer)
        number("accept_ms_p50", percentile(50, of: accept), &writer)
        number("accept_ms_p99", percentile(99, of: accept), &writer)
        number("accept_to_apns_ms_p50", percentile(50, of: acceptToAPNs), &writer)
        number("accept_to_apns_ms_p99", percentile(99, of: acceptToAPNs), &writer)
        number("wal_bytes_per_push", walBytes.map { Double($0) / Double(plan.pushes) }, &writer)
        count("batch", plan.isAPNsOnly ? nil : Int64(plan.batch), &writer)
        count("registrations", plan.isAPNsOnly ? nil : Int64(plan.registrations), &writer)
        count("lanes", lanes.map { Int64($0) }, &writer)
        count("connections", connections.map { Int64($0) }, &writer)
        count("in_flight", inFlight.map { Int64($0) }, &writer)
        count("under_way", underWay.map { Int64($0) }, &writer)
        count("accepted_recipients", acceptedRecipients, &writer)
        count("delivery_rows", deliveryRows, &writer)
        count("sink_pushes", sinkPushes, &writer)
        count("sink_duplicates", sinkDuplicates, &writer)
        writer.key("postgres_version")
        if let postgresVersion { writer.string(postgresVersion) } else { writer.null() }
        writer.member("build", BenchReport.build)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static var build: String {
        #if DEBUG
            "debug"
        #else
            "release"
        #endif
    }

    private func per100000(_ seconds: Double) -> Double {
        seconds * 100_000 / Double(plan.pushes)
    }

    private func percentile(_ percent: Int, of values: [Double]) -> Double? {
        guard !values.isEmpty else { return nil }
        return values.sorted()[(values.count - 1) * percent / 100]
    }

    /// With three digits after the point.
    private func number(_ name: String, _ value: Double?, _ writer: inout JSONWriter) {
        writer.key(name)
        if let value, value.isFinite {
            writer.raw(Array(String((value * 1000).rounded() / 1000).utf8))
        } else {
            writer.null()
        }
    }

    private func count(_ name: String, _ value: Int64?, _ writer: inout JSONWriter) {
        writer.key(name)
        if let value { writer.integer(value) } else { writer.null() }
    }
}
