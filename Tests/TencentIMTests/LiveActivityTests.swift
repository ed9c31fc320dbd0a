import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("ApnsInfo.LiveActivity", .timeLimit(.minutes(5)))
struct LiveActivityTests {
    private static let field = "OfflinePushInfo.ApnsInfo.LiveActivity"

    private func activity(_ fields: String) -> String {
        ValidRequest.activity(fields)
    }

    // MARK: - ContentState

    @Test(
        "C78, C80: ContentState keeps its bytes",
        arguments: [
            ValidRequest.state, #"{"flag":true,"n":1,"z":0,"f":false}"#, "{}", "{ \"b\" : 1 ,\n\t\"a\" : [ ] }",
            #"{"z":null,"a":{"z":1,"a":[1.0,"\/","\ud83d\ude00"]}}"#, #"{"n":123456789012345678901234567890.5E-3}"#,
        ]
    )
    func contentState(state: String) async throws {
        let order = try await Backend().order(
            activity(#""LaId":"a","Event":"update","ContentState":"# + state)
        )
        #expect(order.activity?.content.contentState == Array(state.utf8))
    }

    @Test("C83: a push of 4096 bytes passes, one of 4097 is refused with its size")
    func size() async throws {
        let empty = LiveActivityPayload.encode(
            ActivityContent(event: .update, contentState: Array(#"{"x":""}"#.utf8)),
            timestamp: InMemoryGateway.time,
            dismissalDate: nil,
        )
        func body(_ count: Int) -> String {
            let text = String(repeating: "x", count: count - empty.count)
            return activity(#""LaId":"a","Event":"update","ContentState":{"x":""# + text + #""}"#)
        }
        #expect(try await Backend().send(body(4096))["ErrorCode"]?.integer == 0)
        let backend = Backend()
        try await backend.expectRefusal(
            "openim/sendmsg",
            body(4097),
            code: 90043,
            field: Self.field + ": the push has 4097 bytes",
        )
    }

    // MARK: - LaId and Event

    @Test(
        "C92: an LaId of 64 bytes passes, counted in bytes",
        arguments: [String(repeating: "x", count: 64), "日本語日本語日本語日本語日本語日本語日本語x"]
    )
    func idOf64Bytes(id: String) async throws {
        #expect(id.utf8.count == 64)
        let order = try await Backend().order(
            activity(#""LaId":""# + id + #"","Event":"update","ContentState":{}"#)
        )
        #expect(order.activity?.laID == id)
    }

    @Test(
        "C92: an LaId of 65 bytes is refused",
        arguments: [String(repeating: "x", count: 65), "日本語日本語日本語日本語日本語日本語日本語xy"]
    )
    func idOf65Bytes(id: String) async throws {
        #expect(id.utf8.count == 65)
        try await Backend().expectRefusal(
            "openim/sendmsg",
            activity(#""LaId":""# + id + #"","Event":"update","ContentState":{}"#),
            code: 90043,
            field: Self.field + ".LaId: has 65 bytes",
        )
    }

    @Test(
        "C92: an Event that is not exactly update or end is refused",
        arguments: ["Update", "END", "start", "", " end"]
    )
    func event(name: String) async throws {
        try await Backend().expectRefusal(
            "openim/sendmsg",
            activity(#""LaId":"a","Event":""# + name + #"","ContentState":{}"#),
            code: 90043,
            field: Self.field + ".Event: ",
        )
    }

    // MARK: - DismissalDate

    @Test(
        "C64: what an end may say of its dismissal",
        arguments: [
            ("", nil, []), (#","DismissalDate":0"#, 0, []), (#","DismissalDate":1796010772"#, 1_796_010_772, []),
            (#","DismissalDate":"1796010772""#, 1_796_010_772, []), (#","DismissalDate":1.0"#, 1, []),
            (#","DismissalDate":1796021572"#, 1_796_021_572, []),
            (#","DismissalDate":1796021573"#, 1_796_021_573, ["dismissal_date_far"]),
            (#","DismissalDate":1806007171"#, 1_806_007_171, ["dismissal_date_far"]),
        ] as [(String, Int64?, [String])]
    )
    func dismissalDate(field: String, expected: Int64?, warned: [String]) async throws {
        let backend = Backend()
        let answer = try await backend.send(activity(#""LaId":"a","Event":"end","ContentState":{}"# + field))
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(warnings(of: answer) == warned)
        let instruction = try #require(backend.gateway.orders.first?.activity)
        #expect(instruction.content.dismissalDate == expected)
        #expect(instruction.defaultDismissal == .immediate)
    }

    @Test(
        "C64: a date in another unit is refused with the likely one",
        arguments: [
            ("1796007772000", "1796007772"), ("817700572", "1796007772"), ("1796007772.5", "1796007772"),
            ("817700572.25", "1796007772"), ("1796007772000.5", "1796007772"), ("-1.5", "negative"),
        ]
    )
    func otherUnit(number: String, likely: String) async throws {
        let backend = Backend()
        let answer = try await backend.send(
            activity(#""LaId":"a","Event":"end","ContentState":{},"DismissalDate":"# + number)
        )
        #expect(answer["ErrorCode"]?.integer == 90043)
        let info = try #require(answer["ErrorInfo"]?.string)
        #expect(info.hasPrefix(Self.field + ".DismissalDate: "))
        #expect(info.contains(likely), "\(info)")
        #expect(backend.gateway.orders.isEmpty)
    }

    @Test("C65: a date on an update is left out, with a warning that names the field")
    func dateOnUpdate() async throws {
        let backend = Backend()
        let answer = try await backend.send(
            activity(#""LaId":"a","Event":"update","ContentState":{},"DismissalDate":1796010772"#)
        )
        let warning = try #require(answer["Warnings"]?.elements.first)
        #expect(keys(of: warning) == ["Field", "Code", "Message"])
        #expect(warning["Field"]?.string == Self.field + ".DismissalDate")
        #expect(warning["Code"]?.string == "dismissal_date_ignored")
        #expect(backend.gateway.orders.first?.activity?.content.dismissalDate == nil)
        #expect(
            keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "MsgTime", "MsgKey", "MsgId", "Warnings"]
        )
    }

    @Test("C60: a date in the state that is not in the form of Swift's Date is warned of, and goes out as it came")
    func dateInState() async throws {
        let backend = Backend()
        let state = #"{"stops":[{"endTime":1796007172}]}"#
        let answer = try await backend.send(activity(#""LaId":"a","Event":"update","ContentState":\#(state)"#))
        let warning = try #require(answer["Warnings"]?.elements.first)
        #expect(warning["Field"]?.string == Self.field + ".ContentState.stops[0].endTime")
        #expect(warning["Code"]?.string == "date_as_unix_seconds")
        #expect(warning["Message"]?.string?.contains("817699972") == true)
        #expect(backend.gateway.orders.first?.activity?.content.contentState == Array(state.utf8))
    }

    @Test("With a schema its type decides, and no name of a member: what is no Date is not warned of")
    func schemaInsteadOfNames() async throws {
        let backend = Backend()
        try backend.setSchema(#"{"key": "endTime", "type": "Int"}"#)
        backend.gateway.phones = [ContentReview.PhoneVersion(attributesType: "Ride", appVersion: nil)]
        let state = #"{"endTime":1796007172}"#
        let answer = try await backend.send(activity(#""LaId":"a","Event":"update","ContentState":\#(state)"#))
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(answer["Warnings"] == nil)
        backend.gateway.phones = [ContentReview.PhoneVersion(attributesType: "Other", appVersion: nil)]
        let other = try await backend.send(activity(#""LaId":"a","Event":"update","ContentState":\#(state)"#))
        #expect(warnings(of: other) == ["date_as_unix_seconds"])
    }

    @Test("A state that no phone can decode is refused with the path of its member; a member that none has is told")
    func unfitState() async throws {
        let backend = Backend()
        try backend.setSchema(#"{"key": "stops", "type": "[Int]"}"#)
        backend.gateway.phones = [ContentReview.PhoneVersion(attributesType: "Ride", appVersion: nil)]
        let valid = activity(#""LaId":"a","Event":"update","ContentState":{"stops":[1,2],"x":1}"#)
        let unfit = try valid.breaking("[1,2]", #"[1,"2"]"#)
        try await backend.expectRefusal(
            "openim/sendmsg",
            try unfit.breaking(#","x":1"#, ""),
            code: 90043,
            field: Self.field + ".ContentState.stops[1]: Int is expected",
        )
        let refusal = try await backend.send(unfit)
        #expect(refusal["ErrorCode"]?.integer == 90043)
        #expect(refusal["ErrorInfo"]?.string?.contains("ContentState.x") == false)
        #expect(warnings(of: refusal) == ["unknown_member"])
        let answer = try await backend.send(valid)
        let warning = try #require(answer["Warnings"]?.elements.first)
        #expect(warning["Field"]?.string == Self.field + ".ContentState.x")
        #expect(warning["Code"]?.string == "unknown_member")
    }

    // MARK: - The rest

    @Test("an unknown field inside LiveActivity is warned of, by name")
    func unknownField() async throws {
        let answer = try await Backend().send(
            activity(#""LaId":"a","Event":"update","ContentState":{},"StaleDate":1,"event":"end""#)
        )
        #expect(warnings(of: answer) == ["unknown_field", "unknown_field"])
        #expect(
            answer["Warnings"]?.elements.map { $0["Field"]?.string } == [
                Self.field + ".StaleDate", Self.field + ".event",
            ]
        )
    }

    @Test("Title and Desc become the activity's alert only where the app wants it")
    func alert() async throws {
        let backend = Backend()
        let body = ValidRequest.activity(
            #""LaId":"a","Event":"update","ContentState":{}"#,
            push: #""Title":"T","Desc":"D","#,
        )
        #expect(try await backend.order(body).activity?.content.alert == nil)
        backend.gateway.app.copiesAlertToLiveActivity = true
        let another = try body.breaking(#""MsgRandom":1"#, #""MsgRandom":2"#)
        #expect(try await backend.order(another).activity?.content.alert == ActivityAlert(title: "T", body: "D"))
        let silent = ValidRequest.activity(#""LaId":"a","Event":"update","ContentState":{}"#)
        #expect(try await backend.order(silent).activity?.content.alert == nil)
    }

    @Test("C91: an end without Title and Desc has nothing to fall back to; with either it has")
    func silentEnd() async throws {
        let fields = #""LaId":"a","Event":"end","ContentState":{}"#
        let silent = try await Backend().order(ValidRequest.activity(fields))
        #expect(silent.activity?.content.event == .end)
        #expect(silent.notification == NotificationContent())
        let empty = try await Backend().order(ValidRequest.activity(fields, push: #""Title":"","Desc":"","Ext":"e","#))
        #expect(empty.notification == NotificationContent())
        let titled = try await Backend().order(ValidRequest.activity(fields, push: #""Title":"T","#))
        #expect(titled.notification == NotificationContent(title: "T", body: "hello", badge: .add(1)))
        let described = try await Backend().order(ValidRequest.activity(fields, push: #""Desc":"D","#))
        #expect(described.notification == NotificationContent(body: "D", badge: .add(1)))
    }

    @Test("C91: an update without Title and Desc falls back to the text of MsgBody")
    func updateWithoutText() async throws {
        let order = try await Backend().order(
            ValidRequest.activity(#""LaId":"a","Event":"update","ContentState":{}"#)
        )
        #expect(order.notification == NotificationContent(body: "hello", badge: .add(1)))
    }
}
