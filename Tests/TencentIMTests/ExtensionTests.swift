import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("LiveActivity with the fields that Tencent does not have", .timeLimit(.minutes(1)))
struct ExtensionTests {
    private static let field = "OfflinePushInfo.ApnsInfo.LiveActivity"
    private static let alert = #""Alert":{"title":"Order 7","body":{"loc-key":"ON_ITS_WAY","loc-args":["5"]}}"#
    private static let start =
        #""LaId":"a","Event":"start","ContentState":{"step":1.0},"AttributesType":"Order","Attributes":{"n":1e2},"#
        + alert

    private func backend(isOn: Bool = true) -> Backend {
        let backend = Backend()
        backend.gateway.app.allowsExtensions = isOn
        return backend
    }

    private func activity(_ fields: String) -> String {
        ValidRequest.activity(fields)
    }

    @Test("a start has all that the push needs, byte for byte")
    func everything() async throws {
        let more = #","StaleDate":"1796010000","RelevanceScore":75.50,"Priority":5,"InputPushToken":1"#
        let order = try await backend().order(activity(Self.start + more))
        let instruction = try #require(order.activity)
        #expect(instruction.priority == 5)
        #expect(instruction.content.event == .start)
        #expect(instruction.content.contentState == Array(#"{"step":1.0}"#.utf8))
        #expect(instruction.content.staleDate == 1_796_010_000)
        #expect(instruction.content.relevanceScore == Array("75.50".utf8))
        let body = AlertText.localized(key: "ON_ITS_WAY", arguments: ["5"])
        #expect(instruction.content.alert == ActivityAlert(title: "Order 7", body: body))
        #expect(
            instruction.content.start
                == ActivityStart(attributesType: "Order", attributes: Array(#"{"n":1e2}"#.utf8), wantsPushToken: true)
        )
    }

    @Test("off, a start is refused as at Tencent, and the other fields are ignored with a warning")
    func off() async throws {
        let field = Self.field + ".Event: must be update or end"
        try await backend(isOn: false).expectRefusal("openim/sendmsg", activity(Self.start), code: 90043, field: field)
        let backend = backend(isOn: false)
        let update = #""LaId":"a","Event":"update","ContentState":{},"Priority":7,"StaleDate":"x",\#(Self.alert)"#
        let answer = try await backend.send(activity(update))
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(warnings(of: answer) == ["unknown_field", "unknown_field", "unknown_field"])
        let content = try #require(backend.gateway.orders.last?.activity?.content)
        #expect(content == ActivityContent(event: .update, contentState: Array("{}".utf8)))
    }

    @Test(
        "C67, C69: what a phone would ignore is refused with the field",
        arguments: [
            (",\(alert)", "", ".Alert"), (alert, #""Alert":{}"#, ".Alert"),
            (alert, #""Alert":{"title":"","body":""}"#, ".Alert"),
            (alert, #""Alert":{"title":{"loc-key":""},"body":"x"}"#, ".Alert.title"),
            (alert, #""Alert":{"title":1}"#, ".Alert.title"), (alert, #""Alert":"text""#, ".Alert"),
            (alert, #""Alert":{"title":"x","sound":{}}"#, ".Alert.sound"),
            (#""AttributesType":"Order","#, "", ".AttributesType"),
            (#""AttributesType":"Order","#, #""AttributesType":"","#, ".AttributesType"),
            (#""AttributesType":"Order","#, #""AttributesType":7,"#, ".AttributesType"),
            (#""Attributes":{"n":1e2},"#, "", ".Attributes"),
            (#""Attributes":{"n":1e2},"#, #""Attributes":[],"#, ".Attributes"),
            (alert, alert + #","InputPushToken":1,"InputPushChannel":"AQ==""#, ".InputPushChannel"),
            (alert, alert + #","InputPushChannel":"?""#, ".InputPushChannel"),
            (alert, alert + #","InputPushToken":2"#, ".InputPushToken"),
            (alert, alert + #","Priority":1"#, ".Priority"),
            (alert, alert + #","RelevanceScore":"75""#, ".RelevanceScore"),
            (alert, alert + #","StaleDate":1796007172000"#, ".StaleDate"),
            (#""Event":"start""#, #""Event":"Start""#, ".Event"),
        ]
    )
    func refused(part: String, replacement: String, field: String) async throws {
        let body = activity(try Self.start.breaking(part, replacement))
        try await backend().expectRefusal("openim/sendmsg", body, code: 90043, field: Self.field + field)
    }

    @Test("C67: with Title and Desc copied into the alert, a start needs no Alert")
    func copiedAlert() async throws {
        let backend = backend()
        backend.gateway.app.copiesAlertToLiveActivity = true
        let fields = try Self.start.breaking(",\(Self.alert)", "")
        let order = try await backend.order(ValidRequest.activity(fields, push: #""Title":"T","Desc":"D","#))
        #expect(order.activity?.content.alert?.isEmpty == false)
    }

    @Test("C67: an alert without text is left out of an update, with a warning")
    func emptyAlert() async throws {
        let backend = backend()
        let answer = try await backend.send(
            activity(#""LaId":"a","Event":"update","ContentState":{},"Alert":{"sound":"x"}"#)
        )
        #expect(warnings(of: answer) == ["alert_empty"])
        #expect(backend.gateway.orders.last?.activity?.content.alert == nil)
    }

    @Test("what belongs to a start is left out of an update, with a warning for each")
    func startFieldsOnUpdate() async throws {
        let backend = backend()
        let answer = try await backend.send(activity(try Self.start.breaking("start", "update")))
        #expect(warnings(of: answer) == ["start_field_ignored", "start_field_ignored"])
        #expect(backend.gateway.orders.last?.activity?.content.start == nil)
        #expect(backend.gateway.orders.last?.activity?.content.alert?.title == "Order 7")
    }

    @Test("C60: a date in the attributes that looks like Unix seconds is warned about")
    func attributesDate() async throws {
        let body = activity(try Self.start.breaking(#"{"n":1e2}"#, #"{"createdAt":1796007172}"#))
        let answer = try await backend().send(body)
        #expect(warnings(of: answer).contains("date_as_unix_seconds"))
        #expect(answer["Warnings"]?.elements.first?["Field"]?.string == Self.field + ".Attributes.createdAt")
    }

    @Test("an unknown field is named, among those there are")
    func unknownField() async throws {
        let answer = try await backend().send(activity(Self.start + #","Attribute":{}"#))
        #expect(warnings(of: answer) == ["unknown_field"])
        #expect(answer["Warnings"]?.elements.first?["Message"]?.string?.contains("AttributesType") == true)
    }
}
