import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("sendmsg", .timeLimit(.minutes(5)))
struct SendMessageTests {
    // MARK: - What is accepted

    @Test("a right request: the answer has these fields and no others")
    func answer() async throws {
        let answer = try await Backend().send(ValidRequest.single)
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "MsgTime", "MsgKey", "MsgId"])
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(answer["ErrorInfo"]?.string == "")
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(answer["MsgTime"]?.integer == InMemoryGateway.time)
        #expect(answer["MsgKey"]?.string == "93847636_1287657_\(InMemoryGateway.time)")
        #expect(answer["MsgId"]?.string?.isEmpty == false)
    }

    @Test("a right request becomes an order")
    func order() async throws {
        let order = try await Backend().order(ValidRequest.single)
        #expect(
            order
                == PushOrder(
                    dialect: .tencent,
                    endpoint: "openim/sendmsg",
                    sdkAppID: InMemoryGateway.sdkAppID,
                    messageKey: "93847636_1287657_\(InMemoryGateway.time)",
                    sender: "shop",
                    recipients: ["alice"],
                    activity: ActivityInstruction(
                        laID: "order-1",
                        content: ActivityContent(
                            event: .end,
                            contentState: Array(ValidRequest.state.utf8),
                            dismissalDate: 1_796_007_772,
                        ),
                        defaultDismissal: .immediate,
                    ),
                    notification: NotificationContent(
                        title: "Your order",
                        subtitle: "Pizza",
                        body: "On its way",
                        sound: "ding.caf",
                        ext: #"{"n":1}"#,
                        image: "https://a.b/c.png",
                        mutableContent: true,
                        interruptionLevel: .timeSensitive,
                        translations: [
                            NotificationTranslation(language: "de", title: "Bestellung", body: "Unterwegs"),
                            NotificationTranslation(language: "fr"),
                        ],
                        badge: .set(5),
                    ),
                    suppression: nil,
                    lifetime: 60,
                    otherPlatforms: Array(ValidRequest.otherPlatforms.utf8),
                )
        )
    }

    @Test("only the fields that must be there: sender, lifetime and MsgSeq have defaults")
    func defaults() async throws {
        let order = try await Backend().order(ValidRequest.minimal(ValidRequest.text))
        #expect(order.sender == "administrator")
        #expect(order.lifetime == 604_800)
        #expect(order.activity == nil)
        #expect(order.suppression == nil)
        let parts = order.messageKey.split(separator: "_")
        #expect(parts.count == 3)
        #expect(parts[0].isEmpty == false && UInt32(parts[0]) != nil)
        #expect(parts[1...] == ["1", "\(InMemoryGateway.time)"])
        #expect(order.messageKey.utf8.count <= 50)
    }

    @Test("an absent MsgSeq is drawn from the random source", arguments: [0, UInt64.max])
    func randomSequence(number: UInt64) throws {
        var source = ConstantSource(number: number)
        let message = try ChatMessage(
            decoding: Array(ValidRequest.minimal(ValidRequest.text).utf8),
            form: .single,
            sender: "administrator",
            now: 0,
            randomNumbers: &source,
        )
        #expect(MessageKey(message.key)?.sequence == (number == 0 ? 0 : Int64(UInt32.max)))
        #expect(message.sequence == nil)
    }

    @Test(
        "no push is wanted; PushFlag goes before OnlineOnlyFlag, that before MsgLifeTime",
        arguments: [
            (#""PushFlag":1"#, "0", "60", .pushFlag), (#""PushFlag":"1""#, "1", "0", .pushFlag),
            (#""PushFlag":0"#, "1", "0", .onlineOnly), (#""PushFlag":0"#, "0", "0", .noLifetime),
            (#""PushFlag":0"#, "0", "1", nil),
        ] as [(String, String, String, PushOrder.Suppression?)]
    )
    func suppression(push: String, onlineOnly: String, lifetime: String, expected: PushOrder.Suppression?) async throws
    {
        let body = try ValidRequest.single
            .breaking(#""PushFlag":0"#, push)
            .breaking(#""OnlineOnlyFlag":0"#, #""OnlineOnlyFlag":"# + onlineOnly)
            .breaking(#""MsgLifeTime":60"#, #""MsgLifeTime":"# + lifetime)
        let order = try await Backend().order(body)
        #expect(order.suppression == expected)
        #expect(order.activity != nil)
    }

    @Test("C57: the caller's own timestamp counts for nothing", arguments: ["1796007172000", "0", "-1"])
    func timestamp(number: String) async throws {
        let body = try ValidRequest.single.breaking("1557387418", number)
        let answer = try await Backend().send(body)
        #expect(answer["MsgTime"]?.integer == InMemoryGateway.time)
        #expect(answer["MsgKey"]?.string == "93847636_1287657_\(InMemoryGateway.time)")
    }

    @Test(
        "MsgLifeTime over seven days counts as seven, and the caller is told",
        arguments: ["604801", "10000000000000000000000000"],
    )
    func longLifetime(_ lifetime: String) async throws {
        let backend = Backend()
        let body = try ValidRequest.single.breaking(#""MsgLifeTime":60"#, #""MsgLifeTime":"# + lifetime)
        let answer = try await backend.send(body)
        #expect(warnings(of: answer) == ["lifetime_clamped"])
        #expect(backend.gateway.orders.first?.lifetime == 604_800)
    }

    @Test("unknown fields are ignored everywhere but inside LiveActivity")
    func unknownFields() async throws {
        let body = try ValidRequest.single
            .breaking(#""PushFlag":0"#, #""PushFlag":0,"New":[null]"#)
            .breaking(#""BadgeMode":1"#, #""BadgeMode":1,"New":1"#)
            .breaking(#""MsgSeq""#, #""New":{},"MsgSeq""#)
        let answer = try await Backend().send(body)
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(answer["Warnings"] == nil)
    }

    @Test("numbers may be written as 1.0 and 1e2, and outside OfflinePushInfo not as strings")
    func numbers() async throws {
        let body = try ValidRequest.single
            .breaking("1287657", "1e2")
            .breaking(#""MsgLifeTime":60"#, #""MsgLifeTime":60.0"#)
        let order = try await Backend().order(body)
        #expect(order.messageKey.contains("_100_"))
        #expect(order.lifetime == 60)
    }

    @Test(
        "each number inside OfflinePushInfo may be a string",
        arguments: [
            ("PushFlag", "0"), ("BadgeSetNum", "5"), ("PushStyle", "0"), ("OPPONotifyLevel", "16"),
            ("MeiZuNoticeMsgType", "0"), ("ExtAsHuaweiIntentParam", "1"), ("SoundDuration", "30"), ("BadgeMode", "1"),
            ("MutableContent", "1"), ("ContentAvailable", "0"), ("IsVoipPush", "0"), ("DismissalDate", "1796007772"),
        ],
    )
    func numericString(field: String, number: String) async throws {
        let backend = Backend()
        let name = #"""# + field + #"":"#
        let body = try ValidRequest.single.breaking(name + number, name + #"""# + number + #"""#)
        let answer = try await backend.send(body)
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(answer["Warnings"] == nil)
        var order = try #require(backend.gateway.orders.first)
        var expected = try await Backend().order(ValidRequest.single)
        // Kept as it came.
        order.otherPlatforms = nil
        expected.otherPlatforms = nil
        #expect(order == expected)
    }

    // MARK: - What is refused

    @Test("one thing wrong", arguments: RequestFault.common + RequestFault.single)
    func refused(fault: RequestFault) async throws {
        let body = try ValidRequest.single.breaking(fault.part, fault.replacement)
        try await Backend().expectRefusal("openim/sendmsg", body, code: fault.code, field: fault.field)
    }

    @Test("one thing wrong inside OfflinePushInfo: 90043 and its path", arguments: RequestFault.push)
    func refusedPush(fault: RequestFault) async throws {
        let body = try ValidRequest.single.breaking(fault.part, fault.replacement)
        try await Backend().expectRefusal("openim/sendmsg", body, code: 90043, field: fault.field + ": ")
    }

    @Test(
        "a body that is not strict JSON: 90001",
        arguments: [
            "", "[]", "null", "{", #"{"a":1,}"#, "{} x", "\u{FEFF}{}", #"{"To_Account":"a\u0000"}"#, #"{"a":"\ud800"}"#,
            #"{"a":1,"a":2}"#, #"{"OfflinePushInfo":{"ApnsInfo":{"LiveActivity":{"ContentState":{"k":1,"k":2}}}}}"#,
            #"{"ContentState":{"k":"\u0000"}}"#, "{\"a\":" + String(repeating: "[", count: 600), "{// comment\n}",
        ]
    )
    func notJSON(body: String) async throws {
        try await Backend().expectRefusal(
            "openim/sendmsg",
            body,
            code: 90001,
            field: "Fail to Parse json data of body, Please check it",
        )
    }

    @Test("12 KB hold, one byte more does not: 93000")
    func bodyLimit() async throws {
        let empty = try ValidRequest.single.breaking(#""cloud""#, #""""#)
        let room = 12 * 1024 - (empty.utf8.count - #""alice""#.utf8.count)
        let whole = try empty.breaking(#""CloudCustomData":"""#, #""CloudCustomData":""# + filler(room) + #"""#)
        #expect(try await Backend().send(whole)["ErrorCode"]?.integer == 0)
        let over = try empty.breaking(#""CloudCustomData":"""#, #""CloudCustomData":""# + filler(room + 1) + #"""#)
        try await Backend().expectRefusal("openim/sendmsg", over, code: 93000, field: "the body")
    }

    @Test("no ErrorInfo holds what the request contained")
    func noContent() async throws {
        for fault in RequestFault.common + RequestFault.single + RequestFault.push {
            let body = try ValidRequest.single.breaking(fault.part, fault.replacement)
                .replacing("hi, beauty", with: "secret-text")
                .replacing("On its way", with: "secret-desc")
            let info = try await Backend().send(body)["ErrorInfo"]?.string ?? ""
            #expect(!info.contains("secret") && !info.contains("alice") && !info.contains("order-1"), "\(info)")
        }
    }

    private func filler(_ count: Int) -> String {
        String(repeating: "x", count: count)
    }
}

/// Makes the same number for ever.
private struct ConstantSource: RandomNumberGenerator {
    let number: UInt64

    func next() -> UInt64 {
        number
    }
}
