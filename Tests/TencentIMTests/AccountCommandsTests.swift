import Gateway
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("im_open_login_svc", .timeLimit(.minutes(5)))
struct AccountCommandsTests {
    private static let folder = "im_open_login_svc/"

    @Test("account_import takes UserID, or Identifier as older clients say", arguments: ["UserID", "Identifier"])
    func importOne(name: String) async throws {
        let backend = Backend()
        let answer = try await backend.post(
            Self.folder + "account_import",
            #"{""# + name + #"":"alice","Nick":"Alice","FaceUrl":"https://a.b"}"#,
        )
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode"])
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(
            backend.gateway.profiles["alice"]
                == AccountProfile(account: "alice", nickname: "Alice", faceURL: "https://a.b")
        )
    }

    @Test("multiaccount_import takes names, or profiles in AccountList; bad ones are named and the others imported")
    func importMany() async throws {
        let backend = Backend()
        let path = Self.folder + "multiaccount_import"
        var answer = try await backend.post(path, #"{"Accounts":["alice","bob"]}"#)
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "FailAccounts"])
        #expect(answer["FailAccounts"]?.elements.isEmpty == true)
        answer = try await backend.post(path, #"{"AccountList":[{"UserID":"carol","Nick":"C"},{"UserID":""}]}"#)
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(answer["FailAccounts"]?.elements.map(\.string) == [""])
        #expect(Set(backend.gateway.profiles.keys) == ["alice", "bob", "carol"])
        #expect(backend.gateway.profiles["carol"]?.nickname == "C")
        answer = try await backend.post(path, #"{"Accounts":[""]}"#)
        #expect(answer["ActionStatus"]?.string == "FAIL")
        #expect(answer["ErrorCode"]?.integer == 70402)
    }

    @Test("an account that occurs twice is imported once, with its last profile; null is as good as absent")
    func duplicates() throws {
        let body =
            #"{"AccountList":[{"UserID":"a","Nick":"1"},{"UserID":"b"},{"UserID":"a","Nick":"2","FaceUrl":null}]}"#
        let request = try AccountsImport(decoding: Array(body.utf8))
        #expect(
            request.profiles == [
                AccountProfile(account: "a", nickname: "2", faceURL: nil),
                AccountProfile(account: "b", nickname: nil, faceURL: nil),
            ]
        )
    }

    @Test("account_check tells imported from not imported")
    func check() async throws {
        let backend = Backend()
        backend.gateway.profiles["alice"] = AccountProfile(account: "alice", nickname: nil, faceURL: nil)
        let answer = try await backend.post(
            Self.folder + "account_check",
            #"{"CheckItem":[{"UserID":"alice"},{"UserID":"bob"}]}"#,
        )
        let items = try #require(answer["ResultItem"]?.elements)
        #expect(items.allSatisfy { keys(of: $0) == ["UserID", "ResultCode", "ResultInfo", "AccountStatus"] })
        #expect(items.map { $0["AccountStatus"]?.string } == ["Imported", "NotImported"])
        #expect(items.map { $0["ResultCode"]?.integer } == [0, 0])
    }

    @Test("accounts are bytes: one that only looks like an imported one is not imported, and nothing of it is deleted")
    func canonicallyEquivalent() async throws {
        let backend = Backend()
        backend.gateway.app.requiresImportedAccounts = true
        backend.gateway.profiles["caf\u{E9}"] = AccountProfile(account: "caf\u{E9}", nickname: nil, faceURL: nil)
        let accounts = #"[{"UserID":"caf\u00e9"},{"UserID":"cafe\u0301"}]"#
        let checked = try await backend.post(Self.folder + "account_check", #"{"CheckItem":\#(accounts)}"#)
        #expect(
            checked["ResultItem"]?.elements.map { $0["AccountStatus"]?.string } == ["Imported", "NotImported"]
        )
        let sent = try await backend.post(
            "openim/batchsendmsg",
            try ValidRequest.batch.breaking(#"["alice","bob"]"#, #"["caf\u00e9","cafe\u0301"]"#),
        )
        #expect(sent["ErrorList"]?.elements.map { $0["ErrorCode"]?.integer } == [70107])
        let deleted = try await backend.post(Self.folder + "account_delete", #"{"DeleteItem":\#(accounts)}"#)
        #expect(deleted["ResultItem"]?.elements.map { $0["ResultCode"]?.integer } == [0, 70107])
    }

    @Test("account_delete answers 70107 for an account that was never imported")
    func delete() async throws {
        let backend = Backend()
        backend.gateway.profiles["alice"] = AccountProfile(account: "alice", nickname: nil, faceURL: nil)
        let answer = try await backend.post(
            Self.folder + "account_delete",
            #"{"DeleteItem":[{"UserID":"alice"},{"UserID":"bob"}]}"#,
        )
        #expect(answer["ActionStatus"]?.string == "OK")
        let items = try #require(answer["ResultItem"]?.elements)
        #expect(items.allSatisfy { keys(of: $0) == ["UserID", "ResultCode", "ResultInfo"] })
        #expect(items.map { $0["UserID"]?.string } == ["alice", "bob"])
        #expect(items.map { $0["ResultCode"]?.integer } == [0, 70107])
        #expect(items.map { $0["ResultInfo"]?.string } == ["", "Err_TLS_PT_Open_Login_Account_Not_Exist"])
        #expect(backend.gateway.profiles.isEmpty)
    }

    @Test(
        "one thing wrong",
        arguments: [
            ("account_import", "[", 90001, "Fail to Parse"), ("account_import", "{}", 70402, "UserID"),
            ("account_import", #"{"UserID":1}"#, 60015, "UserID"),
            ("account_import", #"{"UserID":""}"#, 70402, "UserID"),
            ("account_import", #"{"UserID":"a","Nick":1}"#, 70402, "Nick"),
            ("multiaccount_import", "{}", 70402, "Accounts"),
            ("multiaccount_import", #"{"Accounts":[]}"#, 70402, "Accounts"),
            ("multiaccount_import", #"{"Accounts":["a",1]}"#, 60015, "Accounts[1]"),
            ("multiaccount_import", #"{"AccountList":[1]}"#, 70402, "AccountList[0]"),
            ("account_check", #"{"CheckItem":{}}"#, 70402, "CheckItem"),
            ("account_check", #"{"CheckItem":[{"UserID":"a"},{}]}"#, 70402, "CheckItem[1].UserID"),
            ("account_delete", #"{"DeleteItem":[{"UserID":[]}]}"#, 60015, "DeleteItem[0].UserID"),
        ] as [(String, String, Int64, String)]
    )
    func refused(command: String, body: String, code: Int64, field: String) async throws {
        let backend = Backend()
        try await backend.expectRefusal(Self.folder + command, body, code: code, field: field)
        #expect(backend.gateway.profiles.isEmpty)
    }

    @Test("100 accounts pass, 101 do not: 70402", arguments: [(100, 0), (101, 70402)] as [(Int, Int64)])
    func limit(count: Int, code: Int64) async throws {
        let accounts = (0..<count).map { "\"user\($0)\"" }.joined(separator: ",")
        let answer = try await Backend().post(Self.folder + "multiaccount_import", "{\"Accounts\":[\(accounts)]}")
        #expect(answer["ErrorCode"]?.integer == code)
    }

    @Test(
        "the database is away: 20004",
        arguments: ["account_import", "multiaccount_import", "account_check", "account_delete"]
    )
    func unavailable(command: String) async throws {
        let backend = Backend()
        backend.gateway.unavailable = GatewayUnavailable(.databaseAway)
        let body =
            #"{"UserID":"a","Accounts":["a"],"CheckItem":[{"UserID":"a"}],"DeleteItem":[{"UserID":"a"}]}"#
        let answer = try await backend.post(Self.folder + command, body)
        #expect(answer["ErrorCode"]?.integer == 20004)
    }
}
