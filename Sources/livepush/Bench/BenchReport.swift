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
    var latencies = Latencies()
    var fanOut: BenchFanOut?
    var fanOutPushes: Int64 = 0
    /// Of the messages that were posted while the fan-out was under way.
    var fanOutLatencies = Latencies()
    var postgresVersion: String?

    /// Milliseconds.
    struct Latencies: Sendable {
        /// Of each message.
        var accept: [Double] = []
        /// Of each push.
        var acceptToAPNs: [Double] = []
    }

    /// Where the latencies of a message belong; nil: it was posted after the fan-out.
    func phase(of posted: Int64) -> WritableKeyPath<BenchReport, Latencies>? {
        guard let fanOut, posted >= fanOut.start else { return \.latencies }
        return posted <= fanOut.end ? \.fanOutLatencies : nil
    }

    /// Why the bench failed; nil if all that was accepted was pushed once and written down.
    var failure: String? {
        let rows = plan.isAPNsOnly ? acceptedRecipients : deliveryRows.map { $0 - Int64(plan.fanOut) }
        guard [acceptedRecipients, rows, sinkPushes].allSatisfy({ $0 == Int64(plan.pushes) }),
            fanOutPushes == Int64(plan.fanOut), sinkDuplicates == 0
        else {
            return
                "accepted recipients \(text(acceptedRecipients)), delivery rows \(text(deliveryRows)), pushes at the "
                + "sink \(sinkPushes), of the fan-out \(fanOutPushes), \(sinkDuplicates) of them again; should be "
                + "\(plan.pushes), \(plan.pushes + plan.fanOut), \(plan.pushes), \(plan.fanOut), none again"
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
        number("socket_writes_per_push", Double(gatewayWriteCalls) / Double(plan.pushes + plan.fanOut), &writer)
        percentiles("", of: latencies, &writer)
        percentiles("fan_out_", of: fanOutLatencies, &writer)
        number("fan_out_pushes_per_second", fanOut?.seconds.map { Double(fanOutPushes) / $0 }, &writer)
        number(
            "fan_out_rss_growth_mb",
            fanOut.map { Double((gatewayPeakBytes ?? 0) - $0.peakBytes) / 1_000_000 },
            &writer
        )
        number("wal_bytes_per_push", walBytes.map { Double($0) / Double(plan.pushes + plan.fanOut) }, &writer)
        count("fan_out", fanOut.map { _ in Int64(plan.fanOut) }, &writer)
        count("fan_out_messages", fanOut.map { _ in Int64(fanOutLatencies.accept.count) }, &writer)
        count("rate", plan.rate.map { Int64($0) }, &writer)
        count("schemas", plan.isAPNsOnly ? nil : Int64(plan.schemas), &writer)
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
        seconds * 100_000 / Double(plan.pushes + plan.fanOut)
    }

    private func percentiles(_ prefix: String, of latencies: Latencies, _ writer: inout JSONWriter) {
        for percent in [50, 99] {
            number("\(prefix)accept_ms_p\(percent)", percentile(percent, of: latencies.accept), &writer)
        }
        for percent in [50, 99] {
            number("\(prefix)accept_to_apns_ms_p\(percent)", percentile(percent, of: latencies.acceptToAPNs), &writer)
        }
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
