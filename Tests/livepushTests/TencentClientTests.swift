import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Public clients of Tencent's API.
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
                try gateway.sql(
                    """
                    INSERT INTO segment (sdk_app_id, name, account) VALUES (\(GatewayUnderTest.sdkAppID), 'team', 'bob')
                    """
                )
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
                #expect(answers.map { $0["status"]?.integer } == [200, 200, 200, 200, 200])
                #expect(answers.allSatisfy { $0["body"]?["ActionStatus"]?.string == "OK" }, "\(client.output)")
                #expect(answers.allSatisfy { $0["body"]?["ErrorCode"]?.integer == 0 })
                #expect(answers[1]["body"]?["MsgTime"]?.integer != nil)
                #expect(answers[1]["body"]?["MsgKey"]?.string?.isEmpty == false)
                #expect(answers[2]["body"]?["MsgKey"]?.string?.isEmpty == false)

                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.pushes(2)
                let updates = pushes.filter { $0.token == alice.activityToken }
                #expect(updates.allSatisfy { $0.event == "update" && $0.status == 200 })
                #expect(!updates.isEmpty)
                #expect(answers[3]["body"]?["MsgSeq"]?.integer != nil && answers[3]["body"]?["MsgTime"]?.integer != nil)
                // Of the batch, of the group, and as one of its members.
                let ofBob = pushes.filter { $0.token == bob.deviceToken }
                #expect(ofBob.count == 3)
                let fallback = try #require(ofBob.first { $0.aps?["alert"]?["title"] != nil })
                #expect(fallback.aps?["alert"]?["title"]?.string == "Your order")
                #expect(fallback.aps?["sound"]?.string == "ding.aiff")
                #expect(try gateway.sql("SELECT nickname FROM account") == "Nick")
            }
        }

        @Test(
            "PyPI's timsdk, its host apart, imports accounts and sends text to one and to many",
            .enabled(if: Paths.python != nil, "Deploy/test makes .build/python, with the client in it"),
        )
        func timsdkPosts() throws {
            let python = try #require(Paths.python)
            try GatewayUnderTest.run { gateway in
                let server = try gateway.serve()
                let alice = try gateway.register(laID: nil)
                let bob = try gateway.register("bob", phone: "phone-2", laID: nil)
                let client = try ChildProcess.run(
                    python,
                    [
                        "\(Paths.peers)/timsdk_client.py", "http://127.0.0.1:\(server.port)",
                        String(GatewayUnderTest.sdkAppID), GatewayUnderTest.secretKey, "administrator",
                    ],
                    input: #"{"to":["alice","bob"],"text":"您的订单 is on its way"}"#,
                )
                #expect(client.status == 0, "\(client.errors)")
                let answers = try JSONDocument(parsing: Array(client.output.utf8)).root.elements
                #expect(answers.map { $0["ActionStatus"]?.string } == ["OK", "OK", "OK", "OK"], "\(client.output)")
                #expect(try gateway.sql("SELECT account FROM account ORDER BY account") == "alice\nbob")

                let pushes = try gateway.peer.exactly(3)
                #expect(pushes.filter { $0.token == alice.deviceToken }.count == 2)
                #expect(pushes.filter { $0.token == bob.deviceToken }.count == 1)
                for push in pushes {
                    let text = try #require(push.aps?["alert"]?["body"]?.string)
                    #expect(text.hasSuffix("您的订单 is on its way"), "\(text)")
                }
            }
        }

        @Test(
            "UserSigs of PyPI's tls-sig-api-v2 are taken, with userbuf and in any language, and it would sign ours alike",
            .enabled(if: Paths.python != nil, "Deploy/test makes .build/python, with the generator in it"),
        )
        func generatedUserSigsAreTaken() throws {
            let python = try #require(Paths.python)
            try GatewayUnderTest.run { gateway in
                let administrator = "管理员é"
                try gateway.setAdministrators(administrator)
                let server = try gateway.serve()
                let userSig = try gateway.userSig(administrator)
                let accounts = ["alice", "用户1", "a b*&+=/ё"]
                let list = accounts.map { "\"\($0)\"" }.joined(separator: ",")
                let client = try ChildProcess.run(
                    python,
                    [
                        "\(Paths.peers)/tls_sig_client.py", "http://127.0.0.1:\(server.port)",
                        String(GatewayUnderTest.sdkAppID), GatewayUnderTest.secretKey, administrator, userSig,
                    ],
                    input: #"{"message":\#(TestMessage().json),"accounts":[\#(list)]}"#,
                )
                #expect(client.status == 0, "\(client.errors)")
                let answers = try JSONDocument(parsing: Array(client.output.utf8)).root.elements
                #expect(answers.map { $0["status"]?.integer } == Array(repeating: 200, count: 2 + 2 * accounts.count))
                for answer in answers.prefix(2) {
                    #expect(answer["body"]?["ErrorCode"]?.integer == 0, "\(answer.text)")
                }
                for answer in answers.dropFirst(2) {
                    #expect(answer["body"]?["registrations"]?.elements.isEmpty == true, "\(answer.text)")
                }
            }
        }
    }
}
