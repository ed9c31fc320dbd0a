import Gateway
import LiveActivity
import Testing

@testable import Pushwoosh

@Suite("send_date and timezone", .timeLimit(.minutes(1)))
struct SendDateTests {
    private func orders(_ fields: String) async throws -> [PlannedOrder] {
        try await Backend().orders("updateLiveActivity", "{" + fields + "," + ValidNotification.update.dropFirst())
    }

    @Test(
        "in UTC, or in a zone; what has passed is sent at once",
        arguments: [
            (#""send_date":"2026-06-02 12:01""#, 60), (#""send_date":"2026-06-02 12:00:07""#, 7),
            (#""send_date":"2026-06-02 14:01","timezone":"Europe/Berlin""#, 60),
            (#""send_date":"2026-07-02 12:00","timezone":"UTC""#, 30 * 86_400),
            (#""send_date":"2026-06-01 12:00""#, nil), (#""send_date":"2026-06-02 12:00""#, nil),
            (#""send_date":"now""#, nil), (#""send_date":"now","timezone":"Nowhere""#, nil), (#""send_date":"""#, nil),
            (#""send_date":null"#, nil),
        ] as [(String, Int64?)]
    )
    func taken(fields: String, ahead: Int64?) async throws {
        let order = try #require(try await orders(fields).first)
        #expect(order.sendAt == ahead.map { UnixTime(seconds: InMemoryGateway.time + $0) })
    }

    @Test(
        "what is no such date is refused",
        arguments: [
            (#""send_date":"2026-06-01 11:59""#, "send_date"), (#""send_date":"2026-07-02 12:01""#, "send_date"),
            (#""send_date":"2026-02-30 12:00""#, "send_date"), (#""send_date":"2026-06-02 24:00""#, "send_date"),
            (#""send_date":"2026-06-02T12:00""#, "send_date"), (#""send_date":"2026-6-2 12:00""#, "send_date"),
            (#""send_date":"2026-06-02 12:00Z""#, "send_date"), (#""send_date":1780401700"#, "send_date"),
            (#""send_date":"2026-06-02 12:00","timezone":"Nowhere""#, "timezone"),
            (#""send_date":"2026-06-02 12:00","timezone":2"#, "timezone"),
        ]
    )
    func refused(fields: String, field: String) async throws {
        try await Backend().expectRefusal(
            "updateLiveActivity",
            "{" + fields + "," + ValidNotification.update.dropFirst(),
            field: "notifications[0].\(field): must be",
        )
    }

    @Test("dates are judged by the time at which it is sent")
    func datesOfTheirTime() async throws {
        let stale = try ValidNotification.update.breaking("1780410000", "1780500000")
        let backend = try Backend()
        let text = #"{"send_date":"2026-06-05 12:00","# + stale.dropFirst()
        let answer = try await backend.post("updateLiveActivity", Backend.request([text]))
        #expect(answer["response"]?["Warnings"]?.elements.map { $0["Code"]?.string } == ["stale_date_past"])
    }
}
