import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// A public client of Tencent's API, unmodified.
    @Suite
    struct TencentClientTests {
        @Test(
            "PyPI's tencentcloud-sdk-python-im posts to the gateway as it does to Tencent",
            .enabled(if: Paths.python != nil, "Deploy/test makes .build/python, with the client in it"),
        )
        func pythonClientPosts() throws {
            let python = try #require(Paths.python)
            try GatewayUnderTest.run { gateway in
                let server = try gateway.serve()
                let alice = try gateway.register()
                let bob = try gateway.register("bob", phone: "phone-2", laID: nil)
                let push = """
                    {"PushFlag":0,"Title":"Your order","Desc":"is on its way","ApnsInfo":{"Sound":"ding.aiff",
                    "LiveActivity":{"LaId":"order-1","Event":"update","ContentState":{"minutes":12.0}}}}
                    """
                let client = try ChildProcess.run(
                    python,
                    [
                        "\(Paths.peers)/tencent_sdk_client.py", "http://127.0.0.1:\(server.port)/v4",
                        String(GatewayUnderTest.sdkAppID), GatewayUnderTest.secretKey, "administrator",
                    ],
                    input: #"{"to":"alice","batch":["alice","bob"],"push":\#(push)}"#,
                )
                #expect(client.status == 0, "\(client.errors)")
                let answers = try JSONDocument(parsing: Array(client.output.utf8)).root.elements
                #expect(answers.map { $0["status"]?.integer } == [200, 200, 200])
                #expect(answers.map { $0["body"]?["ActionStatus"]?.string } == ["OK", "OK", "OK"], "\(client.output)")
                #expect(answers.map { $0["body"]?["ErrorCode"]?.integer } == [0, 0, 0])
                #expect(answers[1]["body"]?["MsgTime"]?.integer != nil)
                #expect(answers[1]["body"]?["MsgKey"]?.string?.isEmpty == false)
                #expect(answers[2]["body"]?["MsgKey"]?.string?.isEmpty == false)

                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.pushes(2)
                let updates = pushes.filter { $0.token == alice.activityToken }
                #expect(updates.allSatisfy { $0.event == "update" && $0.status == 200 })
                #expect(!updates.isEmpty)
                let fallback = try #require(pushes.first { $0.token == bob.deviceToken })
                #expect(fallback.aps?["alert"]?["title"]?.string == "Your order")
                #expect(fallback.aps?["sound"]?.string == "ding.aiff")
                #expect(try gateway.sql("SELECT nickname FROM account") == "Nick")
            }
        }
    }
}
