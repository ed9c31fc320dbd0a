import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("SendTime, an extension", .timeLimit(.minutes(1)))
struct SendTimeTests {
    private func backend(isOn: Bool = true) -> Backend {
        let backend = Backend()
        backend.gateway.app.allowsExtensions = isOn
        return backend
    }

    private static let now = InMemoryGateway.time

    private func message(_ time: String, _ body: String = ValidRequest.single) throws -> String {
        try body.breaking(#""MsgRandom":1287657"#, #""SendTime":\#(time),"MsgRandom":1287657"#)
    }

    @Test(
        "all three ways of sending take it, up to 30 days ahead and a day ago",
        arguments: [
            ("openim/sendmsg", ValidRequest.single, 3600), ("openim/batchsendmsg", ValidRequest.batch, 30 * 86_400),
            ("timpush/batch", ValidRequest.pushBatch, 1), ("openim/sendmsg", ValidRequest.single, 0),
            ("openim/sendmsg", ValidRequest.single, -86_400),
        ] as [(String, String, Int64)]
    )
    func taken(path: String, body: String, ahead: Int64) async throws {
        let backend = backend()
        let answer = try await backend.post(path, try message("\(Self.now + ahead)", body))
        #expect(answer["ErrorCode"]?.integer == 0)
        let planned = try #require(backend.gateway.planned.first)
        #expect(planned.sendAt == UnixTime(seconds: Self.now + ahead))
        #expect(planned.digest != nil)
        #expect(planned.order == backend.gateway.orders.first)
    }

    @Test(
        "what is no such time is refused with the field, milliseconds with the time that was meant",
        arguments: [
            ("1796010772000", "looks like milliseconds; in Unix seconds it would be 1796010772"),
            ("\(now - CalendarTime.referenceDate + 60)", "looks like seconds since 2001"),
            ("\(now - 86_401)", "must be at most a day ago"), ("\(now + 30 * 86_400 + 1)", "must be at most a day ago"),
            ("0", "must be at most a day ago"), ("-1", "must be at most a day ago"), ("1.5", "must be an integer"),
            (#""1796010772""#, "must be an integer"), ("null", "must be an integer"), ("9e99", "must be an integer"),
        ]
    )
    func refused(time: String, fault: String) async throws {
        let backend = backend()
        try await backend.expectRefusal("openim/sendmsg", try message(time), code: 90043, field: "SendTime: \(fault)")
        #expect(backend.gateway.planned.isEmpty)
    }

    @Test("without extensions it counts for nothing, which is told")
    func off() async throws {
        let backend = backend(isOn: false)
        let answer = try await backend.send(try message("\(Self.now + 60)"))
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(warnings(of: answer).contains("field_not_supported"))
        #expect(backend.gateway.planned.isEmpty)
        #expect(backend.gateway.orders.count == 1)
    }

    @Test("a repeat with the same time is one, another time is another message")
    func repeats() async throws {
        let backend = backend()
        for time in [60, 60, 61] {
            backend.gateway.seconds += 1
            _ = try await backend.send(try message("\(Self.now + Int64(time))"))
        }
        #expect(backend.gateway.orders.count == 2)
    }

    @Test("what waits is not checked by a schema before its time; what is due is")
    func schema() async throws {
        let body = ValidRequest.activity(#""LaId":"a","Event":"update","ContentState":{"minutes":"x"}"#)
        let backend = backend()
        try backend.setSchema(#"{"name": "minutes", "type": "Int"}"#)
        for (ahead, code) in [(60, 0), (-60, 90043)] as [(Int64, Int64)] {
            let time = #""SendTime":\#(Self.now + ahead),"#
            let answer = try await backend.send("{" + time + body.dropFirst())
            #expect(answer["ErrorCode"]?.integer == code, "\(answer["ErrorInfo"]?.string ?? "")")
        }
    }

    @Test("dates are judged by the time at which it is sent")
    func dates() async throws {
        let later = Self.now + 86_400
        let end = #""LaId":"a","Event":"end","ContentState":{},"DismissalDate":\#(later + 60)"#
        let answer = try await backend().send(#"{"SendTime":\#(later),"# + ValidRequest.activity(end).dropFirst())
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(!warnings(of: answer).contains("dismissal_date_far"))
    }
}
