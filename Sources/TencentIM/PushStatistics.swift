import Gateway
import HTTPServer
import VerbatimJSON

/// `timpush/normal_push_statistics`: how many pushes there were, from the delivery rows.
///
/// Those of messages to accounts and groups; pushes to all have statistics of their own at Tencent. DeliveredCount and
/// ClickCount are always 0: APNs tells neither what a phone showed nor what a person touched.
struct PushStatistics {
    /// The longest time that can be asked for, in seconds.
    private static let longest: Int64 = 30 * 86_400
    /// Until the year 9999; milliseconds are beyond.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799
    /// What Tencent calls APNs in its callbacks.
    private static let apns: Int64 = 1

    let records: any MessageRecords
    let sdkAppID: Int64

    func answer(_ body: [UInt8]) async throws(TencentError) -> HTTPResponse {
        let fields = try RequestFields(bodyOf: body, code: .body)
        let start = try time("StartTime", in: fields)
        let end = try time("EndTime", in: fields)
        guard start <= end else { throw fields.fault("EndTime", "is before StartTime") }
        guard end - start <= PushStatistics.longest else {
            throw fields.fault("StartTime", "is more than 30 days before EndTime")
        }
        let counts = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await records.pushCounts(
                // Both seconds belong to it.
                from: UnixTime(seconds: start),
                to: UnixTime(seconds: end + 1),
                in: sdkAppID,
                exceptThrough: [Endpoint.pushAll.rawValue, Endpoint.messageAll.rawValue],
            )
        }
        return Answer.make(.ok) { writer in
            PushStatistics.write(counts, to: &writer)
            writer.key("PlatformStatistics")
            writer.beginArray()
            writer.beginObject()
            writer.member("PushPlatform", PushStatistics.apns)
            PushStatistics.write(counts, to: &writer)
            writer.endObject()
            writer.endArray()
        }
    }

    private func time(_ name: String, in fields: RequestFields) throws(TencentError) -> Int64 {
        guard let time = try fields.integer(name) else { throw fields.fault(name, "missing") }
        guard PushStatistics.times.contains(time) else { throw fields.fault(name, "must be in Unix seconds") }
        return time
    }

    private static func write(_ counts: PushCounts, to writer: inout JSONWriter) {
        writer.member("TotalCount", counts.all)
        writer.member("SentCount", counts.acceptedByAPNs)
        writer.member("DeliveredCount", 0)
        writer.member("ClickCount", 0)
    }
}
