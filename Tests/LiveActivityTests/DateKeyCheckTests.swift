import Testing
import VerbatimJSON

@testable import LiveActivity

@Suite("Dates in a content state without a schema", .timeLimit(.minutes(5)))
struct DateKeyCheckTests {
    private static let now: Int64 = 1_796_007_172

    private func findings(_ json: String) throws -> [PayloadFinding] {
        let root = try JSONDocument(parsing: Array(json.utf8)).root
        return DateKeyCheck.findings(in: root, .contentState, now: Self.now)
    }

    @Test(
        "C60: a date in another form is named with the number that would be right",
        arguments: [
            (#"{"endTime":1796007172}"#, ".endTime", .dateAsUnixSeconds, "817699972"),
            (#"{"endTime":1796007172.5}"#, ".endTime", .dateAsUnixSeconds, "817699972.5"),
            (#"{"endTime":1.796007172e9}"#, ".endTime", .dateAsUnixSeconds, "817699972"),
            (#"{"endTime":1761370200}"#, ".endTime", .dateAsUnixSeconds, "783063000"),
            (#"{"eta":1796007172250}"#, ".eta", .dateAsMilliseconds, "817699972.25"),
            (#"{"startedAt":"2026-11-30T02:52:52Z"}"#, ".startedAt", .dateAsText, "817699972"),
            (#"{"due":"2026-11-30T10:52:52+08:00"}"#, ".due", .dateAsText, "817699972"),
            (
                #"{"order":{"stops":[{"arrival_time":1796007172}]}}"#, ".order.stops[0].arrival_time",
                .dateAsUnixSeconds, "817699972"
            ),
            (#"{"dates":[817699972,1796007172]}"#, ".dates[1]", .dateAsUnixSeconds, "817699972"),
            (#"{"deliveryDate":"2026-11-30T02:52:52"}"#, ".deliveryDate", .dateAsText, nil),
            (#"{"deliveryDate":"1796007172"}"#, ".deliveryDate", .dateAsText, nil),
            (#"{"ts":1796007172}"#, ".ts", .dateAsUnixSeconds, "817699972"),
            (#"{"start_ts":"1796007172"}"#, ".start_ts", .dateAsText, nil),
            (#"{"lastSeenTs":1796007172250}"#, ".lastSeenTs", .dateAsMilliseconds, "817699972.25"),
        ] as [(String, String, PayloadFinding.Code, String?)]
    )
    func wrongForm(json: String, path: String, code: PayloadFinding.Code, likely: String?) throws {
        let findings = try self.findings(json)
        try #require(findings.count == 1)
        #expect(findings[0].path == path)
        #expect(findings[0].name == "aps.content-state" + path)
        #expect(findings[0].severity == .warning)
        #expect(findings[0].code == code)
        #expect(findings[0].likely == likely)
        if let likely { #expect(findings[0].message.contains(likely)) }
    }

    @Test(
        "What is right, or no date, is let alone",
        arguments: [
            #"{"endTime":817699972}"#, #"{"endTime":817699972.25}"#, #"{"eta":12}"#, #"{"eta":"12 min"}"#,
            #"{"deliveryTime":"14:30"}"#, #"{"updated_at":"yesterday"}"#, #"{"ts":12,"start_ts":"12:30"}"#,
            #"{"tsarId":1796007172,"tickets":1796007172,"points":1796007172,"bests":1796007172}"#,
            #"{"startDate":null,"endDate":true,"date":{}}"#, #"{"orderId":1796007172}"#,
            #"{"id":"2026-11-30T02:52:52Z"}"#, #"{"friend":1796007172}"#, #"{"endTime":1e400}"#,
            #"{"endTime":-1796007172}"#,
            #"{}"#, #"{"endTime":2e9,"startTime":"x1796007172"}"#, #"{"times":[[],{}]}"#,
            #"{"endTime":99999999999999999999}"#,
        ]
    )
    func letAlone(json: String) throws {
        #expect(try self.findings(json).isEmpty)
    }

    @Test(
        "Names that speak of a moment",
        arguments: [
            "date", "endDate", "end_date", "enddate", "START-TIME", "startedAt", "created_at", "eta", "driverETA",
            "dueBy",
            "ts", "start_ts", "startTS", "ts_ms", "startEpoch", "kickoff",
            "timestamp", "lastTimestampValue", "expires", "until", "deadline1",
        ]
    )
    func dateNames(name: String) {
        #expect(DateKeyCheck.isDateName(name))
    }

    @Test(
        "Other names",
        arguments: [
            "orderId", "friend", "sender", "beta", "status", "score", "category", "", "_", "weekend", "pts", "tsunami",
        ]
    )
    func otherNames(name: String) {
        #expect(!DateKeyCheck.isDateName(name))
    }

    @Test("A state full of dates is reported at its first places only")
    func limit() throws {
        let dates = Array(repeating: "1796007172", count: 1000).joined(separator: ",")
        #expect(try self.findings(#"{"times":[\#(dates)],"at":1796007172}"#).count == DateKeyCheck.limit)
    }
}
