import ContentSchema
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
            (alert, alert + #","RelevanceScore":"high""#, ".RelevanceScore"),
            (alert, alert + #","RelevanceScore":" 75""#, ".RelevanceScore"),
            (alert, alert + #","RelevanceScore":"1e400""#, ".RelevanceScore"),
            (alert, alert + #","RelevanceScore":true"#, ".RelevanceScore"),
            (alert, #""Alert":{"title":" ","body":"\t"}"#, ".Alert"),
            (#"["5"]"#, #""5""#, ".Alert.body.loc-args:"), (#"["5"]"#, "[1]", ".Alert.body.loc-args[0]:"),
            (#"["5"]"#, "null", ".Alert.body.loc-args:"), (#""ON_ITS_WAY""#, "7", ".Alert.body.loc-key:"),
            (#""loc-key":"ON_ITS_WAY","#, "", ".Alert.body.loc-key:"), (#""Order 7""#, "[]", ".Alert.title:"),
            (#""Order 7""#, #"{"loc-key":"k","loc-args":"a"}"#, ".Alert.title.loc-args:"),
            (alert, alert + #","StaleDate":1796007172000"#, ".StaleDate"),
            (#""Event":"start""#, #""Event":"Start""#, ".Event"),
        ]
    )
    func refused(part: String, replacement: String, field: String) async throws {
        let body = activity(try Self.start.breaking(part, replacement))
        try await backend().expectRefusal("openim/sendmsg", body, code: 90043, field: Self.field + field)
    }

    @Test(
        "a relevance score is a number of any form, or a string of one",
        arguments: [("75.50", "75.50"), (#""100""#, "100"), (#""1e2""#, "1e2"), ("-1", "-1")]
    )
    func relevanceScores(score: String, sent: String) async throws {
        let order = try await backend().order(activity(Self.start + #","RelevanceScore":"# + score))
        #expect(order.activity?.content.relevanceScore == Array(sent.utf8))
    }

    @Test("a member of an alert's text that nothing reads is named")
    func unknownMemberOfText() async throws {
        let fields = try Self.start.breaking(#""loc-args":["5"]"#, #""loc_args":["5"]"#)
        let answer = try await backend().send(activity(fields))
        #expect(warnings(of: answer) == ["unknown_field"])
        #expect(answer["Warnings"]?.elements.first?["Field"]?.string == Self.field + ".Alert.body.loc_args")
    }

    @Test(
        "C71: Priority 5 of a push that goes with 10 all the same is told",
        arguments: [
            (start, ["field_ignored"]), (#""LaId":"a","Event":"end","ContentState":{}"#, ["field_ignored"]),
            (#""LaId":"a","Event":"update","ContentState":{},\#(alert)"#, ["field_ignored"]),
            (#""LaId":"a","Event":"update","ContentState":{}"#, []),
        ]
    )
    func priority(fields: String, codes: [String]) async throws {
        let answer = try await backend().send(activity(fields + #","Priority":5"#))
        #expect(warnings(of: answer) == codes)
        let field = codes.isEmpty ? nil : Self.field + ".Priority"
        #expect(answer["Warnings"]?.elements.first?["Field"]?.string == field)
        #expect(try await warnings(of: backend().send(activity(fields + #","Priority":10"#))).isEmpty)
    }

    @Test("without another text the words of the alert are the notification that stands in for a start or an update")
    func textOfTheAlert() async throws {
        let alert = #""Alert":{"title":"Order 7","body":"On its way","sound":"ding"}"#
        func notification(_ event: String, _ alert: String, _ push: String = "") async throws -> NotificationContent {
            let backend = backend()
            let fields = try Self.start.breaking(Self.alert, alert).breaking("start", event)
            let body =
                #"{"To_Account":["alice"],"MsgRandom":1,"OfflinePushInfo":{\#(push)"ApnsInfo":{"LiveActivity":{\#(fields)}}}}"#
            let answer = try await backend.post("timpush/batch", body)
            #expect(answer["ErrorCode"]?.integer == 0, "\(answer["ErrorInfo"]?.string ?? "")")
            return try #require(backend.gateway.orders.last).notification
        }
        for event in ["start", "update"] {
            let shown = try await notification(event, alert)
            #expect(shown.title == "Order 7" && shown.body == "On its way" && shown.sound == "ding")
            let localized = try await notification(event, #""Alert":{"title":{"loc-key":"k"},"body":{"loc-key":"l"}}"#)
            #expect(localized.isEmpty && localized.sound == nil)
            let mixed = try await notification(event, Self.alert)
            #expect(mixed.title == "Order 7" && mixed.body == nil)
            #expect(try await notification(event, alert, #""Desc":"D","#).title == nil)
        }
        #expect(try await notification("end", alert).isEmpty)
    }

    @Test("C60: a schema tells of dates in state and attributes; what the member's name suggests is not told besides")
    func datesBySchema() async throws {
        let model = """
            {"format": 1, "attributesType": "Order", "attributes": "A", "contentState": "S",
             "types": {"A": {"fields": [{"key": "start", "type": "Date"}, {"key": "createdAt", "type": "Int"}]},
                       "S": {"fields": [{"key": "eta", "type": "Date"}]}}}
            """
        let schema = StoredSchema(
            version: 1,
            fromAppVersion: nil,
            schema: try ActivitySchema(parsing: Array(model.utf8)),
        )
        let backend = backend()
        let rules = ContentRules(convertsDates: true)
        backend.gateway.app.contentSchemas = ContentSchemas(rules: rules, types: ["Order": [schema]])
        backend.gateway.phones = [ContentReview.PhoneVersion(attributesType: "Order", appVersion: nil)]
        let fields = try Self.start.breaking(#"{"n":1e2}"#, #"{"start":1796007172,"createdAt":1796007172}"#)
            .breaking(#"{"step":1.0}"#, #"{"eta":1796007172}"#)
        let answer = try await backend.send(activity(fields))
        #expect(
            answer["Warnings"]?.elements.map { $0["Field"]?.string } == [
                Self.field + ".ContentState.eta", Self.field + ".Attributes.start",
            ]
        )
        #expect(warnings(of: answer) == ["date_as_unix_seconds", "date_as_unix_seconds"])
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
