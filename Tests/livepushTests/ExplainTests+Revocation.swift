import TestSupport
import Testing
import VerbatimJSON

/// What taking a message back would do.
extension EndToEndTests.ExplainTests {
    private func post(_ gateway: GatewayUnderTest, _ command: String, _ body: String) throws -> JSONValue {
        let query = "sdkappid=\(Self.app)&identifier=administrator&usersig=\(try gateway.userSig("administrator"))"
        let target = "/v4/timpush/\(command)?\(query)&contenttype=json"
        return try HTTPExchange("POST", port: gateway.port, target, body: body).answer().json
    }

    private func push(_ gateway: GatewayUnderTest, to accounts: String...) throws -> String {
        let list = accounts.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"""
            {"From_Account":"administrator","To_Account":[\#(list)],"MsgRandom":\#(UInt32.random(in: 1 ... .max)),
             "OfflinePushInfo":{"Title":"Sale","Desc":"half price"}}
            """#
        return try #require(post(gateway, "batch", body)["TaskId"]?.string)
    }

    private func explain(
        _ gateway: GatewayUnderTest,
        revoking task: String,
        _ info: String = #"{"Title":"Gone","Desc":"was a mistake"}"#,
    ) throws -> JSONValue {
        try explain(
            gateway,
            path: "/v4/timpush/revoke",
            body: #"{"TaskId":"\#(task)","OfflinePushInfo":\#(info)}"#,
        )
    }

    @Test("A revocation: what waits and would be cancelled, what was shown and by what it would be replaced")
    func revocation() throws {
        try GatewayUnderTest.run(flags: ["--retry-schedule", "600"]) { gateway in
            let phones = try ["alice", "bob", "carol"].map { account in
                try gateway.register(account, phone: "\(account)-1", laID: nil)
            }
            // Gets nothing now, and so nothing in its place.
            try gateway.register("alice", phone: "alice-2", laID: nil)
            try gateway.sql("UPDATE device SET notification_permission = 'denied' WHERE installation = 'alice-2'")
            try gateway.peer.answer(phones[1].deviceToken, .status(503))
            try gateway.peer.answer(phones[2].deviceToken, .status(400, "BadMessageId"))
            let task = try push(gateway, to: "alice", "bob", "carol")
            let first = try gateway.peer.exactly(3)
            try gateway.expectSQL("SELECT count(*) FROM delivery", "3")
            try gateway.expectSQL("SELECT count(*) FROM pending WHERE account = 'bob'", "1")
            try gateway.expectSQL("SELECT count(*) FROM pending WHERE instance_id IS NOT NULL", "0")
            try gateway.sql("UPDATE device SET notification_permission = NULL")

            let info = #"{"Title":"Gone","Desc":"was a mistake","BadgeSetNum":3}"#
            for info in [#"{"Title":"Gone","Desc":"was a mistake"}"#, info] {
                let answer = try explain(gateway, revoking: task, info)
                #expect(answer["ErrorCode"]?.integer == 0 && answer["TaskId"]?.string == "", "\(answer.text)")
                let explained = try #require(answer["Explain"]?.elements)
                #expect(explained.map { $0["To_Account"]?.string } == ["alice", "bob"])
                #expect(
                    explained.map(summary) == [
                        "push|notification|to_be_sent|revoked", "cancelled|none|nothing_to_send|nothing_shown",
                    ],
                    "\(answer.text)"
                )
                #expect(explained[0]["Revoked"] == nil)
                #expect(explained[1]["Revoked"]?["Outcome"]?.string == "cancelled")
                #expect(explained[1]["Revoked"]?["Reason"]?.string == "ServiceUnavailable")
                let target = explained[0]["Targets"]?.elements.first
                #expect(target?["Installation"]?.string == "alice-1")
                let shown = try #require(first.first { $0.token == phones[0].deviceToken })
                #expect(target?["Push"]?["Headers"]?["apns-collapse-id"]?.string == shown["apns-collapse-id"])
                #expect(target?["Push"]?["Payload"]?["aps"]?["alert"]?["title"]?.string == "Gone")
            }

            let silent = try explain(gateway, revoking: task, #"{"PushFlag":1}"#)
            #expect(
                silent["Explain"]?.elements.map { $0["Result"]?.string } == ["nothing", "cancelled"],
                "\(silent.text)"
            )
            #expect(codes(silent["Explain"]?.elements.first) == ["not_replaced"])

            let file = "\(gateway.folder)/revoke.json"
            let body = #"{"TaskId":"\#(task)","OfflinePushInfo":\#(info)}"#
            _ = try ChildProcess.run("tee", [file], input: body)
            let before = try tables(gateway)
            let text = try gateway.succeed(
                "explain",
                file,
                "--sdk-app-id",
                Self.app,
                "--path",
                "/v4/timpush/revoke"
            )
            #expect(text.contains("bob: gets nothing more: what waits is cancelled"), "\(text)")
            #expect(text.contains("notification to alice-1: to_be_sent, revoked"), "\(text)")
            #expect(try tables(gateway) == before)

            // And that is what happens.
            #expect(try post(gateway, "revoke", body)["ErrorCode"]?.integer == 0)
            let replacement = try gateway.peer.exactly(4)[3]
            #expect(replacement.token == phones[0].deviceToken)
            #expect(replacement.aps?["badge"]?.integer == 3)
            try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            #expect(try explain(gateway, revoking: task)["ErrorCode"]?.integer == 90050)
        }
    }

    @Test("A revocation of what is under way, of an activity's pushes, of what waits for its time, and of nothing")
    func otherRevocations() throws {
        let gateway = try GatewayUnderTest()
        defer { gateway.end() }
        try gateway.succeed("app", "set", "--extensions", "on", "--sdk-app-id", Self.app)
        try gateway.serve(["--retry-schedule", "600"])
        #expect(try explain(gateway, revoking: "batch_0_0_0")["ErrorCode"]?.integer == 90049)
        try gateway.register("alice", phone: "phone-1")
        let key = try gateway.send { $0.recipients = ["alice"] }
        _ = try gateway.peer.exactly(1)
        try gateway.expectSQL("SELECT count(*) FROM pending", "0")
        let activity = try explain(gateway, revoking: key)
        #expect(activity["Explain"]?.elements.isEmpty == true, "\(activity.text)")
        #expect(
            activity["ExplainWarnings"]?.elements.map { $0["Code"]?.string } == ["nothing_to_revoke", "activity_stays"]
        )

        let time = try gateway.now() + 600
        let later = try gateway.send {
            $0.recipients = ["alice", "bob"]
            $0.sendTime = time
        }
        let scheduled = try explain(gateway, revoking: later)
        #expect(scheduled["Explain"]?.elements.map { $0["Result"]?.string } == ["cancelled", "cancelled"])
        #expect(
            scheduled["Explain"]?.elements.last?["Revoked"]?["WaitsUntil"]?.integer == time,
            "\(scheduled.text)"
        )

        let bob = try gateway.register("bob", phone: "phone-2", laID: nil)
        try gateway.peer.answer(bob.deviceToken, .late(3))
        let task = try push(gateway, to: "bob")
        _ = try gateway.peer.exactly(2)
        let underWay = try only(explain(gateway, revoking: task))
        #expect(underWay["Revoked"]?["Outcome"]?.string == "under_way")
        #expect(summary(underWay) == "later|notification|waiting|revoked_push_under_way")
    }
}
