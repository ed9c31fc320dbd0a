import Gateway
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("Messages to groups, to segments and to all", .timeLimit(.minutes(5)))
struct AudienceTests {
    private static let group = "group_open_http_svc/send_group_msg"
    private static let pushAll = "timpush/push"
    private static let messageAll = "all_member_push/im_push"

    private static let groupMessage = """
        {"GroupId":"team","From_Account":"shop","Random":8912345,"MsgPriority":"High","OnlineOnlyFlag":0,\
        "MsgBody":[{"MsgType":"TIMTextElem","MsgContent":{"Text":"Kick-off"}}],"TopicId":"t","NeedReadReceipt":0,\
        "SendMsgControl":["NoUnread"],"CloudCustomData":"c","SupportMessageExtension":0,\
        "GroupAtInfo":[{"GroupAtAllFlag":0,"GroupAt_Account":"bob"}],"OfflinePushInfo":\(ValidRequest.push)}
        """
    private static let push = """
        {"From_Account":"shop","MsgRandom":1287657,"Condition":{"TagsAnd":["vip"],"TagsOr":["london","paris"]},\
        "OfflinePushInfo":\(ValidRequest.push)}
        """
    private static let message = """
        {"From_Account":"shop","MsgRandom":1287657,"MsgLifeTime":60,"Condition":{"TagsOr":["london"]},\
        "MsgBody":[{"MsgType":"TIMTextElem","MsgContent":{"Text":"Kick-off"}}],"OfflinePushInfo":\(ValidRequest.push)}
        """

    private func order(_ path: String, _ body: String, _ backend: Backend = Backend()) async throws -> PushOrder {
        let answer = try await backend.post(path, body)
        #expect(answer["ErrorCode"]?.integer == 0, "\(answer["ErrorInfo"]?.string ?? "")")
        return try #require(backend.gateway.orders.last)
    }

    // MARK: - Orders

    @Test("a message to a group goes to the segment of its name, and the answer names it as Tencent does")
    func toGroup() async throws {
        let backend = Backend()
        let answer = try await backend.post(Self.group, Self.groupMessage)
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "MsgTime", "MsgSeq", "MsgKey"])
        #expect(answer["MsgTime"]?.integer == InMemoryGateway.time)
        let sequence = try #require(answer["MsgSeq"]?.integer)
        #expect(answer["MsgKey"]?.string == "\(sequence)_8912345_\(InMemoryGateway.time)")
        let order = try #require(backend.gateway.orders.first)
        #expect(order.messageKey == answer["MsgKey"]?.string)
        #expect(order.endpoint == Self.group)
        #expect(order.audience == .segments(all: ["team"], any: []))
        #expect(order.recipients.isEmpty)
        #expect(order.activity?.laID == "order-1")
        #expect(order.lifetime == 604_800)
        #expect(order.notification.badge == .set(5))
    }

    @Test("To_Account takes the segment's place, which need not be there then")
    func toMembers() async throws {
        let named = try Self.groupMessage.breaking(#""GroupId":"team""#, #""GroupId":"x","To_Account":["a","b","a"]"#)
        let order = try await order(Self.group, named)
        #expect(order.recipients == ["a", "b"])
        #expect(order.audience == nil)
    }

    @Test("a push goes to whom its tags name, and without Condition to everyone")
    func toTags() async throws {
        let backend = Backend()
        let answer = try await backend.post(Self.pushAll, Self.push)
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "TaskId"])
        let taskID = try #require(answer["TaskId"]?.string)
        #expect(taskID.wholeMatch(of: /push_6b0ce504_53724e00_[0-9a-f]{1,16}/) != nil, "\(taskID)")
        let order = try #require(backend.gateway.orders.first)
        #expect(order.messageKey == taskID)
        #expect(order.audience == .segments(all: ["vip"], any: ["london", "paris"]))
        #expect(order.activity?.laID == "order-1")
        #expect(order.notification.title == "Your order")
        #expect(order.lifetime == 604_800 && order.suppression == nil)
        let all = try Self.push.breaking(#""Condition":{"TagsAnd":["vip"],"TagsOr":["london","paris"]},"#, "")
        #expect(try await self.order(Self.pushAll, all).audience == .everyone)
    }

    @Test("a tag that reaches nobody is told, and the push accepted", arguments: [pushAll, messageAll])
    func unknownTags(path: String) async throws {
        let backend = Backend()
        backend.gateway.segments = ["paris"]
        let condition = #""Condition":{"TagsAnd":["vip"],"TagsOr":["london","paris"]}"#
        let body =
            path == Self.pushAll
            ? Self.push : try Self.message.breaking(#""Condition":{"TagsOr":["london"]}"#, condition)
        let answer = try await backend.post(path, body)
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(warnings(of: answer) == ["segment_empty", "segment_empty"])
        let fields = answer["Warnings"]?.elements.map { $0["Field"]?.string }
        #expect(fields == ["Condition.TagsAnd[0]", "Condition.TagsOr[0]"])
    }

    @Test("im_push reaches nobody's lock screen unless MsgLifeTime says how long it is tried")
    func messageToAll() async throws {
        let backend = Backend()
        let answer = try await backend.post(Self.messageAll, Self.message)
        let taskID = try #require(answer["TaskId"]?.string)
        #expect(taskID.wholeMatch(of: /1400000000_[0-9a-f]{1,16}_1796007172/) != nil, "\(taskID)")
        let order = try #require(backend.gateway.orders.first)
        #expect(order.audience == .segments(all: [], any: ["london"]))
        #expect(order.lifetime == 60 && order.suppression == nil)
        let online = try Self.message.breaking(#""MsgLifeTime":60,"#, "")
        let suppressed = try await self.order(Self.messageAll, online)
        #expect(suppressed.suppression == .noLifetime)
    }

    @Test(
        "a repeat is answered with the first one's names, another audience is another message",
        arguments: [group, pushAll, messageAll]
    )
    func repeats(path: String) async throws {
        let backend = Backend()
        let body = path == Self.group ? Self.groupMessage : path == Self.pushAll ? Self.push : Self.message
        let first = try await backend.post(path, body)
        backend.gateway.seconds += 1
        #expect(try await backend.post(path, body).verbatim == first.verbatim)
        #expect(backend.gateway.orders.count == 1)
        backend.gateway.segments.insert("squad")
        let other =
            path == Self.group
            ? body.replacing(#""team""#, with: #""squad""#) : body.replacing("london", with: "rome")
        _ = try await backend.post(path, other)
        #expect(backend.gateway.orders.count == 2)
    }

    // MARK: - Faults

    @Test(
        "a fault in a message to a group is 10004 with its path, but for those with codes of their own",
        arguments: [
            RequestFault(#""GroupId":"team","#, "", 10004, "GroupId: missing"),
            RequestFault(#""GroupId":"team""#, #""GroupId":1"#, 10004, "GroupId"),
            RequestFault(#""GroupId":"team""#, #""GroupId":"""#, 10015, "GroupId"),
            RequestFault(#""team""#, #""nobody""#, 10010, "GroupId: there is no segment"),
            RequestFault(#""Random":8912345,"#, "", 10004, "Random: missing"),
            RequestFault(#""Random":8912345"#, #""MsgRandom":8912345"#, 10004, "Random: missing"),
            RequestFault(#""Random":8912345"#, #""Random":4294967296"#, 10004, "Random"),
            RequestFault(#""From_Account":"shop""#, #""From_Account":1"#, 10004, "From_Account"),
            RequestFault(#""MsgPriority":"High""#, #""MsgPriority":"Top""#, 10004, "MsgPriority"),
            RequestFault(#""MsgBody":["#, #""Other":["#, 10004, "MsgBody"),
            RequestFault(#""MsgType":"TIMTextElem","#, "", 10004, "MsgBody[0].MsgType"),
            RequestFault(#""OnlineOnlyFlag":0"#, #""OnlineOnlyFlag":2"#, 10004, "OnlineOnlyFlag"),
            RequestFault(#""TopicId":"t""#, #""TopicId":1"#, 10004, "TopicId"),
            RequestFault(#""GroupAtAllFlag":0"#, #""GroupAtAllFlag":"0""#, 10004, "GroupAtInfo[0].GroupAtAllFlag"),
            RequestFault(#","GroupAt_Account":"bob""#, "", 10004, "GroupAtInfo[0].GroupAt_Account"),
            RequestFault(
                #"{"GroupAtAllFlag":0,"GroupAt_Account":"bob"}"#,
                Array(repeating: #"{"GroupAtAllFlag":1}"#, count: 31).joined(separator: ","),
                10053,
                "GroupAtInfo: has 31",
            ),
            RequestFault(#""team""#, #""team","To_Account":"bob""#, 10004, "To_Account"),
            RequestFault(#""team""#, #""team","To_Account":["a",""]"#, 10004, "To_Account[1]"),
            RequestFault(#""team""#, #""team","To_Account":[]"#, 10004, "To_Account: must not be empty"),
            RequestFault(
                #""team""#,
                #""team","To_Account":[\#((0...50).map { "\"\($0)\"" }.joined(separator: ","))]"#,
                10004,
                "To_Account: has 51",
            ),
            RequestFault(#""c""#, "\"" + String(repeating: "x", count: 12 * 1024) + "\"", 80002, "the body"),
            RequestFault(#""LaId":"order-1""#, #""LaId":"""#, "ApnsInfo.LiveActivity.LaId"),
        ]
    )
    func groupFaults(fault: RequestFault) async throws {
        let body = try Self.groupMessage.breaking(fault.part, fault.replacement)
        try await Backend().expectRefusal(Self.group, body, code: fault.code, field: fault.field)
    }

    @Test("members of a group that are not imported fail the message where the app wants them imported")
    func notImported() async throws {
        let backend = Backend()
        backend.gateway.app.requiresImportedAccounts = true
        let body = try Self.groupMessage.breaking(#""GroupId":"team""#, #""GroupId":"x","To_Account":["a","b"]"#)
        try await backend.expectRefusal(Self.group, body, code: 10019, field: "To_Account: 2 accounts")
        #expect(try await order(Self.group, Self.groupMessage, backend).audience != nil)
    }

    @Test(
        "a fault in Condition has the code that Tencent has for it, in both commands",
        arguments: [
            (#"[]"#, 90001, "Condition: must be an object"), (#"{}"#, 90040, "Condition.TagsAnd: names no tag"),
            (#"{"TagsOr":[]}"#, 90040, "Condition.TagsOr: names no tag"),
            (#"{"TagsAnd":"vip"}"#, 90001, "Condition.TagsAnd"), (#"{"TagsAnd":[1]}"#, 90001, "Condition.TagsAnd[0]"),
            (#"{"TagsAnd":["a",""]}"#, 90040, "Condition.TagsAnd[1]"),
            (#"{"TagsAnd":["a"],"TagsOr":["b","a"]}"#, 90022, "Condition.TagsOr[1]"),
            (#"{"TagsOr":["\#(String(repeating: "é", count: 25))x"]}"#, 90020, "Condition.TagsOr[0]"),
            (
                #"{"TagsOr":[\#((0...10).map { "\"\($0)\"" }.joined(separator: ","))]}"#, 90032,
                "Condition.TagsOr: has 11"
            ),
            (#"{"AttrsAnd":{"level":"1"}}"#, 90033, "Condition.AttrsAnd: this gateway keeps no attributes"),
            (#"{"AttrsOr":{},"TagsAnd":["a"]}"#, 90039, "Condition.AttrsOr"),
        ] as [(String, Int64, String)]
    )
    func conditions(condition: String, code: Int64, field: String) async throws {
        for (path, body, known) in [
            (Self.pushAll, Self.push, #"{"TagsAnd":["vip"],"TagsOr":["london","paris"]}"#),
            (Self.messageAll, Self.message, #"{"TagsOr":["london"]}"#),
        ] {
            try await expectFailure(path, try body.breaking(known, condition), code: code, field: field)
        }
    }

    @Test(
        "other faults of pushes to all",
        arguments: [
            (pushAll, #""MsgRandom":1287657,"#, "", 90005, "MsgRandom"),
            (pushAll, #""From_Account":"shop""#, #""From_Account":1"#, 90008, "From_Account"),
            (pushAll, #""OfflinePushInfo":"#, #""Other":"#, 90043, "OfflinePushInfo: missing"),
            (messageAll, #""MsgBody":["#, #""Other":["#, 90007, "MsgBody"),
            (messageAll, #""MsgLifeTime":60"#, #""MsgLifeTime":-1"#, 90026, "MsgLifeTime"),
            (messageAll, #""MsgRandom":1287657"#, #""MsgRandom":"1""#, 90005, "MsgRandom"),
            (messageAll, #"{"From_Account""#, "[", 90001, "Fail to Parse"),
        ] as [(String, String, String, Int64, String)]
    )
    func faults(path: String, part: String, replacement: String, code: Int64, field: String) async throws {
        let body = try (path == Self.pushAll ? Self.push : Self.message).breaking(part, replacement)
        try await expectFailure(path, body, code: code, field: field)
    }

    @Test("the longest bodies: 12 KB of a push, 10 KB of a message to all")
    func sizes() async throws {
        for (path, body, bytes, code) in [
            (Self.pushAll, Self.push, 12 * 1024, 90055), (Self.messageAll, Self.message, 10 * 1024, 90056),
        ] as [(String, String, Int, Int64)] {
            let filler = #"{"x":""# + String(repeating: "x", count: bytes) + #"","From_Account""#
            try await expectFailure(path, try body.breaking(#"{"From_Account""#, filler), code: code, field: "the body")
        }
    }

    /// The answer has an empty TaskId as well.
    private func expectFailure(
        _ path: String,
        _ body: String,
        code: Int64,
        field: String,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) async throws {
        let backend = Backend()
        let answer = try await backend.post(path, body)
        #expect(answer["ErrorCode"]?.integer == code, sourceLocation: sourceLocation)
        let info = try #require(answer["ErrorInfo"]?.string)
        #expect(info.hasPrefix(field), "\(info)", sourceLocation: sourceLocation)
        #expect(answer["TaskId"]?.string == "", sourceLocation: sourceLocation)
        #expect(backend.gateway.orders.isEmpty, sourceLocation: sourceLocation)
    }
}
