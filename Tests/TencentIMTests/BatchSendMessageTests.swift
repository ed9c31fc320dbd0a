import Gateway
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("batchsendmsg", .timeLimit(.minutes(5)))
struct BatchSendMessageTests {
    private static let accounts = #"["alice","bob"]"#

    private func to(_ accounts: [String]) throws -> String {
        let list = accounts.map { #"""# + $0 + #"""# }.joined(separator: ",")
        return try ValidRequest.batch.breaking(Self.accounts, "[" + list + "]")
    }

    @Test("a right request: the answer has these fields and no others")
    func answer() async throws {
        let backend = Backend()
        let answer = try await backend.sendBatch(ValidRequest.batch)
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "MsgKey", "MsgId"])
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(answer["MsgKey"]?.string == "7_1287657_\(InMemoryGateway.time)")
        let order = try #require(backend.gateway.orders.first)
        #expect(order.endpoint == "openim/batchsendmsg")
        #expect(order.recipients == ["alice", "bob"])
        #expect(order.sender == "administrator")
    }

    @Test("one thing wrong", arguments: RequestFault.common)
    func refused(fault: RequestFault) async throws {
        let body = try ValidRequest.batch.breaking(fault.part, fault.replacement)
        try await Backend().expectRefusal("openim/batchsendmsg", body, code: fault.code, field: fault.field)
    }

    @Test(
        "To_Account is wrong",
        arguments: [
            (#""alice""#, 90028, "To_Account: "), ("{}", 90028, "To_Account: "), ("null", 90028, "To_Account: "),
            ("[]", 90029, "To_Account: "), (#"["alice",1]"#, 90028, "To_Account[1]: "),
            (#"["alice",null]"#, 90028, "To_Account[1]: "), (#"[""]"#, 90012, "invalid To_Account"),
        ] as [(String, Int64, String)]
    )
    func recipients(accounts: String, code: Int64, field: String) async throws {
        let body = try ValidRequest.batch.breaking(Self.accounts, accounts)
        try await Backend().expectRefusal("openim/batchsendmsg", body, code: code, field: field)
    }

    @Test("To_Account is missing: 90028")
    func missing() async throws {
        let body = try ValidRequest.batch.breaking(#""To_Account":["alice","bob"],"#, "")
        try await Backend().expectRefusal("openim/batchsendmsg", body, code: 90028, field: "To_Account: ")
    }

    @Test("500 accounts of 36 bytes pass: To_Account does not count towards 12 KB")
    func fiveHundred() async throws {
        let accounts = (0..<500).map { "01234567-89ab-cdef-0123-4567890" + String(10_000 + $0) }
        #expect(accounts.allSatisfy { $0.utf8.count == 36 })
        let backend = Backend()
        let answer = try await backend.sendBatch(try to(accounts))
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(backend.gateway.orders.first?.recipients == accounts)
    }

    @Test("501 accounts are refused, though they are one account 501 times: 90011")
    func tooMany() async throws {
        let body = try to(Array(repeating: "alice", count: 501))
        try await Backend().expectRefusal("openim/batchsendmsg", body, code: 90011, field: "To_Account: has 501")
    }

    @Test("an account that occurs twice is sent to once, in the caller's order")
    func duplicates() async throws {
        let backend = Backend()
        let answer = try await backend.sendBatch(try to(["carol", "alice", "carol", "bob", "alice"]))
        #expect(answer["ActionStatus"]?.string == "OK")
        #expect(backend.gateway.orders.first?.recipients == ["carol", "alice", "bob"])
    }

    @Test("accounts that only look the same are two")
    func canonicallyEquivalent() async throws {
        let backend = Backend()
        _ = try await backend.sendBatch(try to(["\u{E9}", "e\u{301}"]))
        #expect(backend.gateway.orders.first?.recipients.count == 2)
    }

    @Test("bad accounts fail alone: SomeError, ErrorCode 0, and a list of exactly these fields")
    func someError() async throws {
        let backend = Backend()
        let long = String(repeating: "x", count: 129)
        let answer = try await backend.sendBatch(try to(["alice", "", long, "bob", ""]))
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode", "MsgKey", "MsgId", "ErrorList"])
        #expect(answer["ActionStatus"]?.string == "SomeError")
        #expect(answer["ErrorCode"]?.integer == 0)
        #expect(answer["ErrorInfo"]?.string == "")
        let list = try #require(answer["ErrorList"]?.elements)
        #expect(list.allSatisfy { keys(of: $0) == ["To_Account", "ErrorCode"] })
        #expect(list.map { $0["To_Account"]?.string } == ["", long])
        #expect(list.map { $0["ErrorCode"]?.integer } == [90012, 90012])
        #expect(backend.gateway.orders.first?.recipients == ["alice", "bob"])
    }

    @Test("an app that wants imported accounts: 70107 for each that is not, FAIL 90012 for all")
    func requireImported() async throws {
        let backend = Backend()
        backend.gateway.app.requiresImportedAccounts = true
        try await backend.expectRefusal(
            "openim/batchsendmsg",
            ValidRequest.batch,
            code: 90012,
            field: "invalid To_Account"
        )
        try await backend.expectRefusal("openim/sendmsg", ValidRequest.single, code: 90012, field: "invalid To_Account")
        backend.gateway.profiles["bob"] = AccountProfile(account: "bob", nickname: nil, faceURL: nil)
        let answer = try await backend.sendBatch(ValidRequest.batch)
        #expect(answer["ActionStatus"]?.string == "SomeError")
        let item = try #require(answer["ErrorList"]?.elements.first)
        #expect(item["To_Account"]?.string == "alice")
        #expect(item["ErrorCode"]?.integer == 70107)
        #expect(backend.gateway.orders.first?.recipients == ["bob"])
    }

    @Test("a body over 12 KB: 90055")
    func bodyLimit() async throws {
        let filler = #""CloudCustomData":""# + String(repeating: "x", count: 12 * 1024) + #"","#
        let body = try ValidRequest.batch.breaking(#""MsgSeq""#, filler + #""MsgSeq""#)
        try await Backend().expectRefusal("openim/batchsendmsg", body, code: 90055, field: "the body")
    }
}
