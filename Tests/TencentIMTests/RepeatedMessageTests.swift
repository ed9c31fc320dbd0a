import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("A message that is posted twice", .timeLimit(.minutes(5)))
struct RepeatedMessageTests {
    @Test(
        "it is one message: the same answer, with the first one's key, time and id, though a second has passed",
        arguments: ["openim/sendmsg", "openim/batchsendmsg", "timpush/batch"]
    )
    func same(path: String) async throws {
        let backend = Backend()
        let body =
            switch path {
            case "openim/sendmsg": ValidRequest.single
            case "openim/batchsendmsg": ValidRequest.batch
            default: ValidRequest.pushBatch
            }
        let first = try await backend.post(path, body)
        backend.gateway.seconds += 3
        let second = try await backend.post(path, body)
        #expect(first["ActionStatus"]?.string == "OK")
        #expect(String(decoding: first.verbatim, as: UTF8.self) == String(decoding: second.verbatim, as: UTF8.self))
        #expect(backend.gateway.orders.count == 1)
    }

    @Test("where the caller leaves MsgSeq to the server, the first number stands")
    func withoutSequence() async throws {
        let backend = Backend()
        let body = try ValidRequest.single.breaking(#""MsgSeq":93847636,"#, "")
        let first = try await backend.send(body)
        let second = try await backend.send(body)
        #expect(first["MsgKey"]?.string == second["MsgKey"]?.string)
        #expect(first["MsgId"]?.string == second["MsgId"]?.string)
        #expect(backend.gateway.orders.count == 1)
    }

    @Test(
        "what does not make it another message",
        arguments: [
            (#""MsgTimeStamp":1557387418"#, #""MsgTimeStamp":1557387419"#),
            (#""SyncOtherMachine":2"#, #""SyncOtherMachine":1"#),
            (#"{"MsgType":"TIMTextElem","MsgContent":"#, #"{ "MsgType" : "TIMTextElem", "MsgContent":"#),
            (#""Title":"Order","Desc":"On its way""#, #""Desc":"On its way","Title":"Order""#),
            (#""From_Account":"shop","To_Account":"alice""#, #""To_Account":"alice","From_Account":"shop""#),
        ]
    )
    func equal(part: String, replacement: String) async throws {
        let backend = Backend()
        let first = try await backend.send(ValidRequest.single)
        let second = try await backend.send(try ValidRequest.single.breaking(part, replacement))
        #expect(second["MsgKey"]?.string == first["MsgKey"]?.string)
        #expect(backend.gateway.orders.count == 1)
    }

    @Test(
        "what makes it another message",
        arguments: [
            (#""MsgRandom":1287657"#, #""MsgRandom":1287658"#), (#""MsgSeq":93847636"#, #""MsgSeq":93847637"#),
            (#""MsgSeq":93847636,"#, ""), (#""From_Account":"shop""#, #""From_Account":"shop2""#),
            (#""From_Account":"shop","#, ""), (#""To_Account":"alice""#, #""To_Account":"bob""#),
            (#""Text":"hi, beauty""#, #""Text":"hi, beauty!""#), (#""MsgLifeTime":60"#, #""MsgLifeTime":61"#),
            (#""OnlineOnlyFlag":0"#, #""OnlineOnlyFlag":1"#), (#""PushFlag":0"#, #""PushFlag":1"#),
            (#""CloudCustomData":"cloud""#, #""CloudCustomData":"""#), (#""e":1.0"#, #""e":1"#),
            (#""Event":"end""#, #""Event":"update""#), (#""DismissalDate":1796007772"#, #""DismissalDate":1796007773"#),
            (#""Sound":"ding.caf""#, #""Sound":"ding2.caf""#), (#""BadgeSetNum":5"#, #""BadgeSetNum":6"#),
        ]
    )
    func another(part: String, replacement: String) async throws {
        let backend = Backend()
        _ = try await backend.send(ValidRequest.single)
        let second = try await backend.send(try ValidRequest.single.breaking(part, replacement))
        #expect(second["ActionStatus"]?.string == "OK")
        #expect(backend.gateway.orders.count == 2)
    }

    @Test("bodies that differ are two messages, though their notifications show the same text")
    func sameText() async throws {
        let backend = Backend()
        for data in ["x", "y"] {
            let element = #"{"MsgType":"TIMCustomElem","MsgContent":{"Data":"\#(data)","Desc":"hello"}}"#
            _ = try await backend.send(ValidRequest.minimal(element))
        }
        #expect(backend.gateway.orders.count == 2)
        #expect(backend.gateway.orders[0].notification == backend.gateway.orders[1].notification)
    }

    @Test("the routes are apart, and a batch's order of accounts counts")
    func routes() async throws {
        let backend = Backend()
        let batch = try ValidRequest.batch.breaking(#"["alice","bob"]"#, #"["alice"]"#)
        _ = try await backend.sendBatch(batch)
        _ = try await backend.send(try batch.breaking(#"["alice"]"#, #""alice""#))
        _ = try await backend.sendBatch(ValidRequest.batch)
        _ = try await backend.sendBatch(try ValidRequest.batch.breaking(#""alice","bob""#, #""bob","alice""#))
        #expect(backend.gateway.orders.count == 4)
    }

    @Test("a recipient that failed and is imported now gets the repeat")
    func importedMeanwhile() async throws {
        let backend = Backend()
        backend.gateway.app.requiresImportedAccounts = true
        backend.gateway.profiles["alice"] = .named("alice")
        let first = try await backend.sendBatch(ValidRequest.batch)
        #expect(first["ActionStatus"]?.string == "SomeError")
        backend.gateway.profiles["bob"] = .named("bob")
        let second = try await backend.sendBatch(ValidRequest.batch)
        #expect(second["ActionStatus"]?.string == "OK")
        #expect(backend.gateway.orders.map(\.recipients) == [["alice"], ["alice", "bob"]])
    }

    @Test("a refused request is not remembered")
    func refused() async throws {
        let backend = Backend()
        backend.gateway.unavailable = .init(.databaseAway)
        let refused = try await backend.send(ValidRequest.single)
        #expect(refused["ErrorCode"]?.integer == 20004)
        backend.gateway.unavailable = nil
        let accepted = try await backend.send(ValidRequest.single)
        #expect(accepted["ActionStatus"]?.string == "OK")
        #expect(backend.gateway.orders.count == 1)
    }
}
