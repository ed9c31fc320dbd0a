import Gateway
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("timpush/batch", .timeLimit(.minutes(5)))
struct PushBatchTests {
    private static let path = "timpush/batch"

    @Test("a right request: the answer has these fields and no others, and a TaskId that is the message's key")
    func answer() async throws {
        let backend = Backend()
        let answer = try await backend.post(Self.path, ValidRequest.pushBatch)
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "TaskId", "ErrorList"])
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(answer["ErrorList"]?.elements.isEmpty == true)
        let taskID = try #require(answer["TaskId"]?.string)
        #expect(taskID.wholeMatch(of: /batch_6b0ce504_53724e00_[0-9a-f]{1,16}/) != nil, "\(taskID)")
        let order = try #require(backend.gateway.orders.first)
        #expect(order.messageKey == taskID)
        #expect(taskID.utf8.count <= 50)
    }

    @Test("a right request becomes an order: text from Title and Desc, seven days")
    func order() async throws {
        let backend = Backend()
        _ = try await backend.post(Self.path, ValidRequest.pushBatch)
        let order = try #require(backend.gateway.orders.first)
        #expect(order.endpoint == Self.path)
        #expect(order.sender == "shop")
        #expect(order.recipients == ["alice", "bob"])
        #expect(order.activity?.laID == "order-1")
        #expect(order.notification.title == "Your order")
        #expect(order.notification.body == "On its way")
        #expect(order.lifetime == 604_800)
        #expect(order.suppression == nil)
    }

    @Test("fields of chat mean nothing: no text from MsgBody, no lifetime, no sequence")
    func chatFields() async throws {
        let backend = Backend()
        let chat = #""MsgSeq":7,"MsgLifeTime":0,"OnlineOnlyFlag":1,"MsgBody":[\#(ValidRequest.text)],"#
        let body = try ValidRequest.pushBatch
            .breaking(#""MsgRandom""#, chat + #""MsgRandom""#)
            .breaking(#""OfflinePushInfo":\#(ValidRequest.push)"#, #""OfflinePushInfo":{"Ext":"x"}"#)
        let answer = try await backend.post(Self.path, body)
        #expect(answer["ActionStatus"]?.string == "OK")
        let order = try #require(backend.gateway.orders.first)
        #expect(order.notification.isEmpty)
        #expect(order.suppression == nil)
        #expect(order.lifetime == 604_800)
        #expect(backend.gateway.nicknameLookups == 0)
    }

    @Test("From_Account is absent: the administrator who calls sends, as in chat")
    func sender() async throws {
        let backend = Backend()
        _ = try await backend.post(Self.path, try ValidRequest.pushBatch.breaking(#""From_Account":"shop","#, ""))
        #expect(backend.gateway.orders.first?.sender == "administrator")
    }

    @Test("PushFlag 1: no push, as in chat")
    func pushFlag() async throws {
        let backend = Backend()
        _ = try await backend.post(Self.path, try ValidRequest.pushBatch.breaking(#""PushFlag":0"#, #""PushFlag":1"#))
        #expect(backend.gateway.orders.first?.suppression == .pushFlag)
    }

    @Test("each push has a TaskId of its own")
    func unique() async throws {
        let backend = Backend()
        var taskIDs: Set<String> = []
        for random in 1...20 {
            let body = try ValidRequest.pushBatch.breaking("1287657", "\(random)")
            taskIDs.insert(try #require(try await backend.post(Self.path, body)["TaskId"]?.string))
        }
        #expect(taskIDs.count == 20)
    }

    @Test(
        "one thing wrong: a failure with an empty TaskId",
        arguments: [
            RequestFault(#""From_Account":"shop""#, #""From_Account":1"#, 90008, "From_Account"),
            RequestFault(#""From_Account":"shop""#, #""From_Account":"""#, 90008, "From_Account"),
            RequestFault(#""To_Account":["alice","bob"],"#, "", 90028, "To_Account"),
            RequestFault(#"["alice","bob"]"#, #""alice""#, 90028, "To_Account"),
            RequestFault(#"["alice","bob"]"#, "[]", 90029, "To_Account"),
            RequestFault(#"["alice","bob"]"#, #"["alice",1]"#, 90028, "To_Account[1]"),
            RequestFault(#"["alice","bob"]"#, #"[""]"#, 90012, "invalid To_Account"),
            RequestFault(#""MsgRandom":1287657,"#, "", 90001, "Invalid format of MsgRandom"),
            RequestFault(#""MsgRandom":1287657"#, #""MsgRandom":"1""#, 90001, "Invalid format of MsgRandom"),
            RequestFault(#""MsgRandom":1287657"#, #""MsgRandom":4294967296"#, 90001, "Invalid format of MsgRandom"),
            RequestFault(#""MsgRandom":1287657"#, #""MsgRandom":-1"#, 90001, "Invalid format of MsgRandom"),
            RequestFault(#""DataId":"data-1""#, #""DataId":1"#, 90001, "DataId"),
            RequestFault(
                #""DataId":"data-1""#,
                #""DataId":""# + String(repeating: "é", count: 32) + #"x""#,
                90057,
                "DataId",
            ),
            RequestFault(#""OfflinePushInfo":\#(ValidRequest.push)"#, #""x":1"#, 90043, "OfflinePushInfo: missing"),
            RequestFault(
                #""OfflinePushInfo":\#(ValidRequest.push)"#,
                #""OfflinePushInfo":[]"#,
                90043,
                "OfflinePushInfo"
            ),
            RequestFault(#""LaId":"order-1""#, #""LaId":"""#, "ApnsInfo.LiveActivity.LaId"),
            RequestFault(#"{"From_Account""#, #"{,"From_Account""#, 90001, "Fail to Parse"),
        ]
    )
    func refused(fault: RequestFault) async throws {
        let body = try ValidRequest.pushBatch.breaking(fault.part, fault.replacement)
        try await expectFailure(body, code: fault.code, field: fault.field)
    }

    @Test("a failure of the envelope has an empty TaskId as well")
    func envelope() async throws {
        for (query, code) in [("sdkappid=1&identifier=a&usersig=b", 70020), ("", 60012)] as [(String, Int64)] {
            try await expectFailure(ValidRequest.pushBatch, query: query, code: code, field: "sdkappid")
        }
    }

    @Test("a body over 12 KB without To_Account is refused, 501 accounts are, and a DataId of 64 bytes is not")
    func limits() async throws {
        let filler = #""x":""# + String(repeating: "x", count: 12 * 1024) + #"","#
        try await expectFailure(
            try ValidRequest.pushBatch.breaking(#""MsgRandom""#, filler + #""MsgRandom""#),
            code: 90055,
            field: "the body",
        )
        let accounts = (0...500).map { #""account-\#($0)""# }.joined(separator: ",")
        try await expectFailure(
            try ValidRequest.pushBatch.breaking(#""alice","bob""#, accounts),
            code: 90011,
            field: "To_Account: has 501",
        )
        let longest = try ValidRequest.pushBatch.breaking("data-1", String(repeating: "é", count: 32))
        #expect(try await Backend().post(Self.path, longest)["ActionStatus"]?.string == "OK")
    }

    @Test("accounts that fail are listed with words, and the status stays OK")
    func partialFailure() async throws {
        let backend = Backend()
        backend.gateway.app.requiresImportedAccounts = true
        backend.gateway.profiles["bob"] = .named("bob")
        let body = try ValidRequest.pushBatch.breaking(#"["alice","bob"]"#, #"["alice","","bob"]"#)
        let answer = try await backend.post(Self.path, body)
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(answer["ErrorCode"]?.integer == 0)
        let list = try #require(answer["ErrorList"]?.elements)
        #expect(list.map { $0["To_Account"]?.string } == ["", "alice"])
        #expect(list.map { $0["ErrorCode"]?.integer } == [90012, 70107])
        #expect(
            list.map { $0["ErrorInfo"]?.string } == ["invalid To_Account", "Err_TLS_PT_Open_Login_Account_Not_Exist"]
        )
        #expect(backend.gateway.orders.first?.recipients == ["bob"])
    }

    private func expectFailure(
        _ body: String,
        query: String? = Backend.query,
        code: Int64,
        field: String,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) async throws {
        let backend = Backend()
        let answer = try await backend.post(Self.path, body, query: query)
        #expect(answer["ActionStatus"]?.string == "FAIL", sourceLocation: sourceLocation)
        #expect(answer["ErrorCode"]?.integer == code, sourceLocation: sourceLocation)
        let info = try #require(answer["ErrorInfo"]?.string)
        #expect(info.hasPrefix(field), "\(info)", sourceLocation: sourceLocation)
        #expect(
            keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "TaskId"],
            sourceLocation: sourceLocation,
        )
        #expect(answer["TaskId"]?.string == "", sourceLocation: sourceLocation)
        #expect(backend.gateway.orders.isEmpty, sourceLocation: sourceLocation)
    }
}

extension AccountProfile {
    /// An imported account without a nickname.
    static func named(_ account: String) -> AccountProfile {
        AccountProfile(account: account, nickname: nil, faceURL: nil)
    }
}
