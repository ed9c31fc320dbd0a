import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Pushes that are taken back, and what became of pushes.
    @Suite
    struct RevokeTests {
        private func post(_ gateway: GatewayUnderTest, _ command: String, _ body: String) throws -> JSONValue {
            let sdkAppID = GatewayUnderTest.sdkAppID
            let query = "sdkappid=\(sdkAppID)&identifier=administrator&usersig=\(try gateway.userSig("administrator"))"
            let target = "/v4/timpush/\(command)?\(query)&contenttype=json"
            return try HTTPExchange("POST", port: gateway.port, target, body: body).answer().json
        }

        /// Pushes a notification.
        ///
        /// - Returns: its TaskId.
        @discardableResult
        private func push(_ gateway: GatewayUnderTest, to accounts: String..., title: String = "Sale") throws -> String
        {
            let list = accounts.map { "\"\($0)\"" }.joined(separator: ",")
            let answer = try post(
                gateway,
                "batch",
                #"""
                {"From_Account":"administrator","To_Account":[\#(list)],"MsgRandom":\#(UInt32.random(in: 1 ... .max)),
                 "OfflinePushInfo":{"Title":"\#(title)","Desc":"half price"}}
                """#,
            )
            let task = answer["TaskId"]?.string ?? ""
            #expect(!task.isEmpty, "\(answer.text)")
            return task
        }

        private func revoke(
            _ gateway: GatewayUnderTest,
            _ task: String,
            info: String? = #"{"Title":"Gone","Desc":"was a mistake"}"#,
        ) throws -> JSONValue {
            try post(
                gateway,
                "revoke",
                #"{"TaskId":"\#(task)"\#(info.map { #","OfflinePushInfo":\#($0)"# } ?? "")}"#,
            )
        }

        @Test("What waits is cancelled; what APNs accepted is replaced there and nowhere else, under its collapse id")
        func revocation() throws {
            try GatewayUnderTest.run(flags: ["--retry-schedule", "600"]) { gateway in
                let phones = try ["alice", "bob", "carol"].map { account in
                    try gateway.register(account, phone: "\(account)-1", laID: nil)
                }
                try gateway.peer.answer(phones[1].deviceToken, .status(503))
                try gateway.peer.answer(phones[2].deviceToken, .status(400, "BadMessageId"))
                let task = try push(gateway, to: "alice", "bob", "carol")
                _ = try gateway.peer.exactly(3)
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE account = 'bob'", "1")
                try gateway.expectSQL("SELECT count(*) FROM pending WHERE instance_id IS NOT NULL", "0")

                #expect(try revoke(gateway, "batch_0_0_0")["ErrorCode"]?.integer == 90049)
                #expect(try revoke(gateway, task, info: nil)["ErrorCode"]?.integer == 90053)
                #expect(try revoke(gateway, task, info: "{}")["ErrorCode"]?.integer == 90043)
                let answer = try revoke(gateway, task)
                #expect(answer["ErrorCode"]?.integer == 0, "\(answer.text)")
                #expect(try revoke(gateway, task)["ErrorCode"]?.integer == 90050)
                let pushes = try gateway.peer.exactly(4)
                #expect(pushes[3].token == phones[0].deviceToken)
                #expect(pushes[3].aps?["alert"]?["title"]?.string == "Gone")
                let first = try #require(pushes.first { $0.token == phones[0].deviceToken })
                #expect(pushes[3]["apns-collapse-id"] == first["apns-collapse-id"])
                #expect(pushes[3]["apns-id"] != first["apns-id"])
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    try gateway.sql(
                        "SELECT account, outcome, route_reason FROM delivery ORDER BY message_id, account"
                    ) == """
                        alice|accepted_by_apns|no_activity_in_message
                        bob|cancelled|revoked
                        carol|refused|no_activity_in_message
                        alice|accepted_by_apns|revoked
                        bob|nothing_to_send|nothing_shown
                        """
                )
                let other = try push(gateway, to: "alice")
                try gateway.sql("UPDATE revocation SET revoked_at = clock_timestamp()")
                #expect(try revoke(gateway, other)["ErrorCode"]?.integer == 90051)
                try gateway.sql("UPDATE revocation SET revoked_at = revoked_at - interval '2 seconds'")
                #expect(try revoke(gateway, other, info: #"{"PushFlag":1}"#)["ErrorCode"]?.integer == 0)
                _ = try gateway.peer.exactly(5)
            }
        }

        @Test("A push can be taken back for 24 hours, and a second one a second after the first")
        func tooLate() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register("alice", phone: "phone-1", laID: nil)
                let task = try push(gateway, to: "alice")
                let other = try push(gateway, to: "alice")
                _ = try gateway.peer.exactly(2)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let isOld = "UPDATE message SET accepted_at = accepted_at - interval '24 hours 1 second'"
                try gateway.sql("\(isOld) WHERE msg_key = '\(task)'")
                let answer = try revoke(gateway, task)
                #expect(answer["ErrorCode"]?.integer == 90052)
                #expect(answer["ErrorInfo"]?.string == "TaskId: a push can be revoked for 24 hours")
                #expect(try gateway.sql("SELECT count(*) FROM revocation") == "0")
                #expect(try revoke(gateway, other)["ErrorCode"]?.integer == 0)
                _ = try gateway.peer.exactly(3)
            }
        }

        @Test("A push that is under way is recorded by what APNs answers, and replaced after that")
        func underWay() throws {
            try GatewayUnderTest.run(flags: ["--retry-schedule", "600"]) { gateway in
                let alice = try gateway.register("alice", phone: "phone-1", laID: nil)
                let bob = try gateway.register("bob", phone: "phone-2", laID: nil)
                try gateway.peer.answer(alice.deviceToken, .late(1.5))
                try gateway.peer.answer(bob.deviceToken, APNsPeer.Action(json: #"{"delay":1.5,"status":503}"#))
                let task = try push(gateway, to: "alice", "bob")
                _ = try gateway.peer.pushes(2)
                #expect(try revoke(gateway, task)["ErrorCode"]?.integer == 0)
                let pushes = try gateway.peer.exactly(3)
                #expect(pushes[2].token == alice.deviceToken)
                #expect(
                    pushes[2]["apns-collapse-id"] == pushes.first { $0.token == alice.deviceToken }?["apns-collapse-id"]
                )
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    try gateway.sql(
                        "SELECT account, outcome, route_reason FROM delivery ORDER BY message_id, account"
                    ) == """
                        alice|accepted_by_apns|no_activity_in_message
                        bob|cancelled|revoked
                        alice|accepted_by_apns|revoked
                        bob|nothing_to_send|nothing_shown
                        """
                )
            }
        }

        @Test("Of an activity's message the notification that stood in is replaced, and the activity stays as it is")
        func activity() throws {
            // Before the only gateway begins: one that runs already follows within seconds.
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.succeed(
                "app",
                "set",
                "--fallback-collapse",
                "activity",
                "--sdk-app-id",
                "\(GatewayUnderTest.sdkAppID)"
            )
            try gateway.serve()
            try gateway.register("alice", phone: "phone-1")
            try gateway.register("bob", phone: "phone-2", laID: nil)
            let key = try gateway.send { $0.recipients = ["alice", "bob"] }
            let sent = try gateway.peer.exactly(2)
            try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            #expect(try revoke(gateway, key)["ErrorCode"]?.integer == 0)
            let replacement = try gateway.peer.exactly(3)[2]
            let fallback = try #require(sent.first { $0.pushType == "alert" })
            #expect(replacement.token == fallback.token)
            #expect(replacement["apns-collapse-id"] == fallback["apns-collapse-id"])
            #expect(fallback["apns-collapse-id"]?.hasPrefix("a") == true)
        }

        @Test("What was taken back is not sent after a crash of its gateway either")
        func crash() throws {
            let flags = [
                "--heartbeat-interval", "0.1", "--send-stop-after", "0.5", "--takeover-after", "1", "--retry-schedule",
                "0.2",
            ]
            try GatewayUnderTest.run(flags: flags) { gateway in
                let phone = try gateway.register(laID: nil)
                try gateway.peer.answer(phone.deviceToken, .silence(times: 9))
                let task = try push(gateway, to: "alice")
                _ = try gateway.peer.pushes(1)
                #expect(try revoke(gateway, task)["ErrorCode"]?.integer == 0)
                try gateway.crash()
                try gateway.peer.reset()
                try gateway.serve(flags)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                _ = try gateway.peer.exactly(0)
                #expect(
                    try gateway.sql("SELECT outcome, route_reason FROM delivery ORDER BY message_id")
                        == "cancelled|revoked\nnothing_to_send|nothing_shown"
                )
            }
        }

        @Test(
            "Statistics count the phones that pushes were for, and those whose push APNs accepted, but no pushes to all"
        )
        func statistics() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register("alice", phone: "phone-1", laID: nil)
                let bob = try gateway.register("bob", phone: "phone-2", laID: nil)
                try gateway.peer.answer(bob.deviceToken, .status(400, "BadMessageId"))
                let old = try push(gateway, to: "alice")
                try push(gateway, to: "alice", "bob", "nobody")
                let all = try post(gateway, "push", #"{"MsgRandom":1,"OfflinePushInfo":{"Title":"Sale"}}"#)
                #expect(all["ErrorCode"]?.integer == 0)
                _ = try gateway.peer.exactly(5)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let ten = "interval '10 seconds'"
                for table in ["delivery", "message"] {
                    let id = table == "message" ? "id" : "message_id"
                    try gateway.sql(
                        """
                        UPDATE \(table) SET accepted_at = accepted_at - \(ten)
                        WHERE \(id) = (SELECT id FROM message WHERE msg_key = '\(old)')
                        """
                    )
                }
                func statistics(_ body: String) throws -> JSONValue {
                    try post(gateway, "normal_push_statistics", body)
                }
                let now = try #require(Int(try gateway.sql("SELECT extract(epoch FROM now())::bigint")))
                let whole = try statistics(#"{"StartTime":\#(now - 30 * 86_400),"EndTime":\#(now)}"#)
                #expect(
                    whole.text == """
                        {"ActionStatus":"OK","ErrorInfo":"","ErrorCode":0,"TotalCount":3,"SentCount":2,"DeliveredCount":0,\
                        "ClickCount":0,"PlatformStatistics":[{"PushPlatform":1,"TotalCount":3,"SentCount":2,\
                        "DeliveredCount":0,"ClickCount":0}]}
                        """
                )
                let late = try statistics(#"{"StartTime":\#(now - 9),"EndTime":\#(now)}"#)
                #expect(late["TotalCount"]?.integer == 2 && late["SentCount"]?.integer == 1)
                let before = try statistics(#"{"StartTime":\#(now - 86_400),"EndTime":\#(now - 3600)}"#)
                #expect(before["ErrorCode"]?.integer == 0 && before["TotalCount"]?.integer == 0)
                for (body, field) in [
                    (#"{"EndTime":1}"#, "StartTime: missing"), (#"{"StartTime":1}"#, "EndTime: missing"),
                    (#"{"StartTime":"1","EndTime":1}"#, "StartTime: must be an integer"),
                    (#"{"StartTime":2,"EndTime":1}"#, "EndTime: is before StartTime"),
                    (#"{"StartTime":0,"EndTime":2592001}"#, "StartTime: is more than 30 days"),
                    (#"{"StartTime":-1,"EndTime":1}"#, "StartTime: must be in Unix seconds"),
                    (#"{"StartTime":1,"EndTime":1796007172000}"#, "EndTime: must be in Unix seconds"), ("[]", "Fail"),
                ] {
                    let answer = try statistics(body)
                    #expect(answer["ErrorCode"]?.integer == 90001, "\(body)")
                    #expect(answer["ErrorInfo"]?.string?.hasPrefix(field) == true, "\(answer.text)")
                }
            }
        }

        @Test("A trace tells of each phone what became of a push, without its token")
        func trace() throws {
            try GatewayUnderTest.run { gateway in
                let alice = try gateway.register("alice", phone: "phone-1", laID: nil)
                let bob = try gateway.register("bob", phone: "phone-2", laID: nil)
                try gateway.sql("UPDATE device SET os_version = '18.1' WHERE account = 'alice'")
                try gateway.peer.answer(bob.deviceToken, .status(400, "BadMessageId"))
                let task = try push(gateway, to: "alice", "bob", "nobody")
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let answer = try post(gateway, "normal_push_trace", #"{"PushID":"\#(task)"}"#)
                #expect(answer["ErrorCode"]?.integer == 0)
                let traces = try #require(answer["InstanceTrace"]?.elements)
                #expect(
                    traces.map { "\($0["To_Account"]?.string ?? "")|\($0["Outcome"]?.string ?? "")" }
                        == ["alice|accepted_by_apns", "bob|refused", "nobody|nothing_to_send"]
                )
                #expect(traces[0]["InstanceId"]?.string == "phone-1")
                #expect(traces[0]["CertId"]?.integer == 1)
                #expect(traces.map { $0["SystemVersion"]?.string } == ["18.1", "", ""])
                let channel = traces[0]["OfflinePushStat"]?["ChannelStat"]
                #expect(channel?["PushStatus"]?.integer == 1)
                #expect(channel?["ErrorInfo"]?.string == "success")
                #expect(traces[1]["OfflinePushStat"]?["ChannelStat"]?["ErrorCode"]?.integer == 400)
                #expect(traces[1]["OfflinePushStat"]?["ChannelStat"]?["ErrorInfo"]?.string == "BadMessageId")
                #expect(traces[2]["OfflinePushStat"]?["OfflineStat"]?["ErrorInfo"]?.string == "no_device")
                #expect(!answer.text.contains(alice.deviceToken))
                let member = try post(gateway, "all_member_push_trace", #"{"TaskID":"\#(task)","UserID":"bob"}"#)
                #expect(member["InstanceTrace"]?.elements.map { $0["To_Account"]?.string } == ["bob"])
                #expect(try post(gateway, "normal_push_trace", #"{"PushID":"x"}"#)["ErrorCode"]?.integer == 90049)
                #expect(try post(gateway, "normal_push_trace", "{}")["ErrorCode"]?.integer == 90001)
            }
        }
    }
}
