import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What a chat backend relies on beside the push itself: repeats, pushes that are no chat, and the outcome.
    @Suite
    struct BackendTests {
        @Test("The same request to two gateways, at once and again: one push, one MsgKey")
        func repeatedRequest() throws {
            try GatewayUnderTest.run { gateway in
                let first = try gateway.serve()
                let second = try gateway.serve()
                try gateway.register()
                let message = TestMessage()
                let exchanges = try [first, second, first, second].map { try gateway.begin(message, through: $0) }
                var answers = try exchanges.map { try $0.answer().text }
                answers.append(try gateway.begin(message, through: first).answer().text)
                #expect(Set(answers).count == 1, "\(answers)")
                let answer = try JSONDocument(parsing: Array(answers[0].utf8)).root
                #expect(answer["ActionStatus"]?.string == "OK")
                _ = try gateway.peer.exactly(1)
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(try gateway.sql("SELECT repeats FROM recent_request") == "4")

                let other = try gateway.send(through: second) { $0.contentState = #"{"step":2}"# }
                #expect(other != answer["MsgKey"]?.string)
                _ = try gateway.peer.exactly(2)
            }
        }

        @Test(
            "The answer was lost with the gateway: the repeat through another one is answered and pushes nothing more"
        )
        func lostAnswer() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                let victim = try gateway.serve()
                let message = TestMessage()
                _ = try gateway.begin(message, through: victim)
                try gateway.expectSQL("SELECT count(*) FROM message", "1")
                _ = try gateway.peer.exactly(1)
                try gateway.crash()
                let answer = try gateway.post(message)
                #expect(answer["ActionStatus"]?.string == "OK")
                #expect(answer["MsgKey"]?.string == (try gateway.sql("SELECT msg_key FROM message")))
                _ = try gateway.peer.exactly(1)
            }
        }

        @Test("timpush/batch with curl: a TaskId, a push to each, and what became of it under that TaskId")
        func pushBatch() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register("alice", phone: "phone-1")
                try gateway.register("bob", phone: "phone-2", laID: nil)
                let body = """
                    {"From_Account":"shop","To_Account":["alice","bob",""],"MsgRandom":1287657,"OfflinePushInfo":{\
                    "Title":"Your order","Desc":"is on its way","ApnsInfo":{"LiveActivity":{"LaId":"order-1",\
                    "Event":"update","ContentState":{"step":1}}}}}
                    """
                let query = "sdkappid=\(GatewayUnderTest.sdkAppID)&identifier=administrator&random=1&contenttype=json"
                let target = "/v4/timpush/batch?\(query)&usersig=\(try gateway.userSig("administrator"))"
                func curl() throws -> JSONValue {
                    let url = "http://127.0.0.1:\(try gateway.port)\(target)"
                    let outcome = try ChildProcess.run("curl", ["--silent", "--show-error", url, "--data", body])
                    return try JSONDocument(parsing: Array(outcome.output.utf8)).root
                }
                let answer = try curl()
                #expect(answer["ActionStatus"]?.string == "OK", "\(answer.text)")
                let taskID = try #require(answer["TaskId"]?.string)
                #expect(taskID.hasPrefix("batch_"))
                let failure = #"[{"To_Account":"","ErrorCode":90012,"ErrorInfo":"invalid To_Account"}]"#
                #expect(answer["ErrorList"]?.text == failure)
                #expect(try curl()["TaskId"]?.string == taskID)

                let pushes = try gateway.peer.exactly(2)
                #expect(Set(pushes.map(\.pushType)) == ["liveactivity", "alert"])
                let alert = try #require(pushes.first { $0.pushType == "alert" })
                #expect(alert.aps?["alert"]?.text == #"{"title":"Your order","body":"is on its way"}"#)
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||accepted_by_apns|",
                    "bob|phone-2|notification|fallback|accepted_by_apns|",
                )
                let shown = try gateway.phone("administrator", "GET", "/v1/messages/\(taskID)")
                let recipients = try #require(shown["messages"]?.elements.first?["recipients"]?.elements)
                #expect(recipients.map { $0["account"]?.string } == ["alice", "bob"])
                #expect(recipients.map { $0["outcome"]?.string } == ["accepted_by_apns", "accepted_by_apns"])
            }
        }

        @Test("GET /v1/messages says why a push is retried and when it goes on, and what became of it afterwards")
        func shownMessage() throws {
            try GatewayUnderTest.run(flags: ["--retry-schedule", "3"]) { gateway in
                let phone = try gateway.register()
                try gateway.peer.answer(phone.activityToken, .status(503, "ServiceUnavailable"))
                let key = try gateway.send()
                try gateway.expectSQL("SELECT reason FROM pending WHERE account = 'alice'", "ServiceUnavailable")
                func shown() throws -> JSONValue {
                    let answer = try gateway.phone("administrator", "GET", "/v1/messages/\(key)")
                    let message = try #require(answer["messages"]?.elements.first)
                    #expect(message["sender"]?.string == "administrator")
                    #expect(message["endpoint"]?.string == "openim/sendmsg")
                    #expect(message["laId"]?.string == "order-1")
                    let recipients = try #require(message["recipients"]?.elements)
                    #expect(recipients.count == 1)
                    return try #require(recipients.first)
                }
                let before = try shown()
                #expect(before["account"]?.string == "alice")
                #expect(before["outcome"]?.string == "retrying")
                #expect(before["apnsStatus"]?.integer == 503)
                #expect(before["reason"]?.string == "ServiceUnavailable")
                #expect(before["installation"]?.string == "phone-1")
                #expect(try #require(before["nextAttemptAt"]?.integer) >= Int64(time(nil)) - 3)

                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                let after = try shown()
                #expect(after["outcome"]?.string == "accepted_by_apns")
                #expect(after["apnsStatus"]?.integer == 200)
                #expect(after["attempts"]?.integer == 2)
                #expect(after["apnsId"]?.string == before["apnsId"]?.string)
                #expect(after["apnsId"]?.string == (try gateway.peer.exactly(2)[1]["apns-id"]))
                #expect(after["nextAttemptAt"]?.kind == .null)
                #expect(after["finishedAt"]?.integer != nil)

                #expect(try gateway.phoneAnswer("alice", "GET", "/v1/messages/\(key)").status == 403)
                let unknown = try gateway.phoneAnswer("administrator", "GET", "/v1/messages/\(key)9")
                #expect(unknown.status == 404)
            }
        }
    }
}
