import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What would become of a message: `explain=1` and `livepush explain`.
    @Suite
    struct ExplainTests {
        static let app = "\(GatewayUnderTest.sdkAppID)"

        /// Asks what would become of a message, and finds that nothing was sent or written.
        func explain(
            _ gateway: GatewayUnderTest,
            path: String? = nil,
            body: String? = nil,
            sourceLocation: SourceLocation = #_sourceLocation,
            _ change: (inout TestMessage) -> Void = { _ in },
        ) throws -> JSONValue {
            let message = TestMessage(change)
            let query = "sdkappid=\(Self.app)&identifier=administrator&usersig=\(try gateway.userSig("administrator"))"
            let target = "\(path ?? message.path)?\(query)&contenttype=json&explain=1"
            let before = try tables(gateway)
            let pushes = try gateway.peer.pushes().count
            let answer = try HTTPExchange("POST", port: gateway.port, target, body: body ?? message.json).answer()
            #expect(answer.status == 200, sourceLocation: sourceLocation)
            #expect(try gateway.peer.pushes().count == pushes, sourceLocation: sourceLocation)
            let after = try tables(gateway)
            #expect(after == before, sourceLocation: sourceLocation)
            return try answer.json
        }

        /// Every row of every table, as a digest, but for the heartbeats.
        func tables(_ gateway: GatewayUnderTest) throws -> String {
            try gateway.sql(
                """
                SELECT relname, md5(query_to_xml(
                    format('SELECT row_to_json(t)::text AS r FROM %I AS t ORDER BY 1', relname), true, false, '')::text)
                FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
                    AND relname <> 'instance'
                UNION ALL SELECT 'message_id', last_value::text FROM message_id
                ORDER BY 1
                """
            )
        }

        func only(_ answer: JSONValue, sourceLocation: SourceLocation = #_sourceLocation) throws -> JSONValue {
            #expect(answer["ActionStatus"]?.string == "OK", "\(answer.text)", sourceLocation: sourceLocation)
            let explained = answer["Explain"]?.elements ?? []
            #expect(explained.count == 1, "\(answer.text)", sourceLocation: sourceLocation)
            return try #require(explained.first, sourceLocation: sourceLocation)
        }

        /// `Result|Route|Outcome|Reason`, the last three of each target.
        func summary(_ recipient: JSONValue) -> String {
            let targets = (recipient["Targets"]?.elements ?? []).map { target in
                ["Route", "Outcome", "Reason"].map { target[$0]?.string ?? "" }.joined(separator: "|")
            }
            return ([recipient["Result"]?.string ?? ""] + targets).joined(separator: "|")
        }

        func codes(_ object: JSONValue?) -> [String] {
            (object?["Warnings"]?.elements ?? []).compactMap { $0["Code"]?.string }
        }

        // MARK: - What is sent

        @Test("What is explained is what is sent, byte for byte but for the time")
        func isWhatIsSent() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                let message = TestMessage {
                    $0.recipients = ["alice", "bob"]
                    $0.contentState = #"{"minutes": 12.50}"#
                }
                try gateway.register("bob", phone: "phone-2", laID: nil)
                let answer = try explain(gateway) { $0 = message }
                #expect(answer["MsgKey"]?.string == "")
                #expect(!answer.text.contains(phone.activityToken))
                let explained = try #require(answer["Explain"]?.elements)
                #expect(
                    explained.map(summary) == [
                        "push|live_activity|to_be_sent|activity_registered",
                        "push|notification|to_be_sent|activity_not_registered",
                    ]
                )
                let registrations = try #require(explained.first?["Registrations"]?.elements)
                #expect(registrations.map { $0["Kind"]?.string } == ["device", "activity"])
                #expect(
                    registrations.allSatisfy { $0["State"]?.string == "live" && $0["AgeSeconds"]?.integer ?? 99 < 60 }
                )
                let fingerprint = try gateway.sql("SELECT token_fingerprint(token) FROM live_activity")
                #expect(registrations.last?["TokenFingerprint"]?.string == fingerprint)
                #expect(codes(explained[0]["Targets"]?.elements.first) == ["environment_unknown"])

                #expect(try gateway.post(message)["ActionStatus"]?.string == "OK")
                let sent = try gateway.peer.exactly(2)
                for (recipient, type) in zip(explained, ["liveactivity", "alert"]) {
                    let push = try #require(recipient["Targets"]?.elements.first?["Push"])
                    let real = try #require(sent.first { $0.pushType == type })
                    #expect(timeless(push["Payload"]?.text ?? "") == timeless(real.body))
                    #expect(push["PayloadBytes"]?.integer == Int64(real.body.utf8.count))
                    for name in ["apns-topic", "apns-push-type", "apns-priority"] {
                        #expect(push["Headers"]?[name]?.string == real[name])
                    }
                    #expect(push["Headers"]?[":path"]?.string?.contains(real.token) == false)
                    let expiration = real["apns-expiration"].flatMap(Int64.init) ?? 0
                    #expect(abs((push["Expiration"]?.integer ?? 0) - expiration) < 10)
                }
            }
        }

        private func timeless(_ payload: String) -> String {
            payload.replacing(#/"timestamp":\d+/#, with: "")
        }

        @Test("Where no push goes out, the reason is told: each case of it")
        func reasons() throws {
            try GatewayUnderTest.run(flags: ["--activity-interval", "60", "--activity-budget", "1"]) { gateway in
                #expect(summary(try only(explain(gateway))) == "nothing|none|nothing_to_send|no_device")
                #expect(codes(try only(explain(gateway))) == ["nothing_registered"])
                let phone = try gateway.register()

                // Of the activity.
                let other = try only(explain(gateway) { $0.laID = "order-2" })
                #expect(summary(other) == "push|notification|to_be_sent|activity_not_registered")
                #expect(codes(other) == ["other_activities"])
                #expect(other.text.contains("the account has: order-1"))
                let silent = try only(
                    explain(gateway) {
                        $0.laID = "order-2"
                        $0.event = "end"
                        $0.title = nil
                        $0.desc = nil
                    }
                )
                #expect(summary(silent) == "nothing|none|nothing_to_send|no_text")
                #expect(
                    summary(try only(explain(gateway) { $0.lifetime = 0 })) == "nothing|none|suppressed|no_lifetime"
                )
                try gateway.send { $0.contentState = #"{"step":1}"# }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    summary(try only(explain(gateway) { $0.contentState = #"{"step":1}"# }))
                        == "nothing|live_activity|unchanged|state_unchanged"
                )
                let paced = try only(explain(gateway) { $0.contentState = #"{"step":2}"# })
                #expect(summary(paced) == "push|live_activity|to_be_sent|activity_registered")
                let target = try #require(paced["Targets"]?.elements.first)
                #expect(codes(target) == ["priority_lowered", "paced"])
                #expect(target["Push"]?["Priority"]?.integer == 5)
                #expect(target["Push"]?["PriorityReason"]?.string == "budget_spent")
                #expect(target["WaitsUntil"]?.integer ?? 0 > (try gateway.now()))
                try gateway.sql("UPDATE live_activity SET quarantined_at = now()")
                #expect(
                    summary(try only(explain(gateway)))
                        == "push|notification|to_be_sent|activity_token_quarantined"
                )
                try gateway.sql("UPDATE live_activity SET quarantined_at = NULL")
                try gateway.send {
                    $0.event = "end"
                    $0.contentState = "{}"
                }
                try gateway.expectSQL("SELECT count(*) FROM live_activity WHERE ended_at IS NOT NULL", "1")
                #expect(
                    summary(try only(explain(gateway))) == "nothing|live_activity|activity_ended|activity_ended"
                )
                try gateway.sql("UPDATE live_activity SET ended_at = now() - interval '2 minutes'")
                let late = try only(explain(gateway))
                #expect(summary(late) == "push|notification|to_be_sent|activity_not_registered")
                #expect(late["Registrations"]?.elements.map { $0["State"]?.string } == ["live", "ended"])

                // Of the device.
                try gateway.report("alice", "foreground", of: phone)
                let front = try only(explain(gateway) { $0.laID = nil })
                #expect(summary(front) == "nothing|notification|foreground|app_in_foreground")
                try gateway.register("alice", device: phone, more: #","notificationPermission":"denied""#)
                #expect(
                    summary(try only(explain(gateway) { $0.laID = nil }))
                        == "nothing|notification|nothing_to_send|permission_denied"
                )
                try gateway.sql("UPDATE device SET quarantined_at = now()")
                #expect(
                    summary(try only(explain(gateway) { $0.laID = nil }))
                        == "nothing|notification|nothing_to_send|token_quarantined"
                )
                try gateway.sql(
                    "UPDATE device SET quarantined_at = NULL, notification_permission = NULL, business_id = 9, "
                        + "foreground_until = NULL"
                )
                #expect(
                    summary(try only(explain(gateway) { $0.laID = nil }))
                        == "nothing|notification|waiting|certificate_missing"
                )
            }
        }

        @Test("The badge that a notification would bring is told and not counted, and the fallback's rule is kept")
        func badge() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register(laID: nil)
                try gateway.sql("UPDATE device SET badge = 4")
                for _ in 1...2 {
                    let explained = try only(explain(gateway) { $0.laID = nil })
                    let push = explained["Targets"]?.elements.first?["Push"]
                    #expect(push?["Payload"]?["aps"]?["badge"]?.integer == 5)
                }
            }
        }

        @Test("Starts: guarded, delayed, coming up, and what waits for them")
        func starts() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.succeed("app", "set", "--extensions", "on", "--sdk-app-id", Self.app)
            try gateway.serve(["--start-guard-limit", "1", "--start-guard-policy", "delay"])
            try gateway.register(laID: nil)
            let token = TestPhone.token(bytes: 64)
            let body = #"{"token":"\#(token)","businessId":1,"installation":"phone-1","osVersion":"18.1"}"#
            try gateway.phone("alice", "PUT", "/v1/start-tokens/Order", body)
            func start(_ laID: String, type: String = "Order") -> (inout TestMessage) -> Void {
                { message in
                    message.laID = laID
                    message.event = "start"
                    message.activityMembers =
                        #""AttributesType":"\#(type)","Attributes":{},"Alert":{"title":"T","body":"B"}"#
                }
            }
            let first = try only(explain(gateway, start("order-1")))
            #expect(summary(first) == "push|live_activity|to_be_sent|start_token_registered")
            #expect(first["Targets"]?.elements.first?["Push"]?["Payload"]?["aps"]?["event"]?.string == "start")
            #expect(first["Registrations"]?.elements.map { $0["Kind"]?.string } == ["device", "start"])
            #expect(codes(try only(explain(gateway, start("order-1", type: "Ride")))) == ["other_attributes_types"])
            try gateway.send(start("order-1"))
            _ = try gateway.peer.exactly(1)
            try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            #expect(
                summary(try only(explain(gateway))) == "later|live_activity|waiting|update_token_awaited"
            )
            #expect(
                summary(try only(explain(gateway, start("order-2")))) == "later|live_activity|waiting|start_guarded"
            )
        }

        @Test(
            "What a schema says is told for each phone",
            arguments: [
                ("reject", "nothing|live_activity|refused|activity_registered", "refused"),
                (
                    "fallback",
                    "push|live_activity|refused|activity_registered|notification|to_be_sent|activity_push_refused",
                    "replaced"
                ),
                ("warn", "push|live_activity|to_be_sent|activity_registered", "sent_all_the_same"),
            ]
        )
        func schema(policy: String, expected: String, word: String) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let source = """
                struct RideAttributes: ActivityAttributes {
                    struct ContentState: Codable, Hashable { var courier: String }
                }
                """
            let file = "\(gateway.folder)/RideAttributes.swift"
            _ = try ChildProcess.run("tee", [file], input: source)
            try gateway.succeed("schema", "import", file, "--sdk-app-id", Self.app)
            try gateway.succeed("app", "set", "--sdk-app-id", Self.app, "--content-state-policy", policy)
            try gateway.serve()
            try gateway.register()
            // Of a phone whose type has no schema nothing is checked, so that the request is not refused as a whole.
            try gateway.register("bob", phone: "phone-2", laID: nil)
            let body = #"""
                {"token":"\#(TestPhone.token(bytes: 80))","businessId":1,"installation":"phone-2",
                 "attributesType":"Other"}
                """#
            try gateway.phone("bob", "PUT", "/v1/activities/order-1", body)
            let answer = try explain(gateway) {
                $0.recipients = ["alice", "bob"]
                $0.contentState = #"{"rider":"Ann"}"#
            }
            #expect(codes(answer).contains("content_state_unfit"))
            let explained = try #require(answer["Explain"]?.elements)
            #expect(summary(explained[0]) == expected, "\(answer.text)")
            let content = explained[0]["Targets"]?.elements.first?["Content"]
            #expect(content?["Verdict"]?.string == word)
            #expect(content?["Schema"]?.string == "version 1 of RideAttributes")
            #expect(content?["Notices"]?.elements.first?["Place"]?.string == "content-state.courier")
            #expect(summary(explained[1]) == "push|live_activity|to_be_sent|activity_registered")
            #expect(explained[1]["Targets"]?.elements.first?["Content"]?["Verdict"]?.string == "unchecked")
            // Of alice alone, whose app cannot decode it, the request is refused where the policy says so.
            let refused = try explain(gateway) { $0.contentState = #"{"rider":"Ann"}"# }
            #expect((refused["ErrorCode"]?.integer == 90043) == (policy == "reject"))
        }

        // MARK: - What is refused, and what is not counted

        @Test("A request that came before is told, and limits are not spent")
        func repeatsAndLimits() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.succeed("app", "set", "--sdk-app-id", Self.app, "--requests-per-second", "1")
                let isLimited = try eventually(within: 10) {
                    try (1...2).map { _ in try gateway.post(TestMessage())["ErrorCode"]?.integer }.contains(60007)
                }
                #expect(isLimited)
                try gateway.register()
                for _ in 1...4 {
                    #expect(try explain(gateway)["ErrorCode"]?.integer == 0)
                }
                try gateway.succeed("app", "set", "--sdk-app-id", Self.app, "--requests-per-second", "off")
                let message = TestMessage()
                var key = ""
                let isAccepted = try eventually(within: 10) {
                    key = try gateway.post(message)["MsgKey"]?.string ?? ""
                    return !key.isEmpty
                }
                #expect(isAccepted)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let explained = try only(explain(gateway) { $0 = message })
                #expect(explained["Result"]?.string == "nothing")
                #expect(codes(explained) == ["repeated_request"])
                #expect(explained.text.contains(key))
            }
        }

        @Test("A refusal is the one that sending would get, and what sends nothing is not done")
        func refusals() throws {
            try GatewayUnderTest.run { gateway in
                #expect(try explain(gateway) { $0.event = "stop" }["ErrorCode"]?.integer == 90043)
                let account = #"{"UserID":"carol"}"#
                let imported = try explain(gateway, path: "/v4/im_open_login_svc/account_import", body: account)
                #expect(imported["ErrorCode"]?.integer == 60025)
                #expect(try explain(gateway, path: "/v4/openim/nothing", body: "{}")["ErrorCode"]?.integer == 60009)
                let query = "sdkappid=\(Self.app)&identifier=alice&usersig=\(try gateway.userSig("alice"))&explain=1"
                let answer = try HTTPExchange(
                    "POST",
                    port: gateway.port,
                    "/v4/openim/sendmsg?\(query)",
                    body: TestMessage().json,
                ).answer()
                #expect(try answer.json["ErrorCode"]?.integer == 60010)
                #expect(
                    try HTTPExchange("GET", port: gateway.port, "/v1/registrations?explain=1").answer().status == 400
                )
            }
        }

        @Test("timpush/batch is explained, with those that fail beside those that do not")
        func batch() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                let body = #"""
                    {"From_Account":"administrator","To_Account":["alice","alice",""],"MsgRandom":7,
                     "OfflinePushInfo":{"Title":"T","Desc":"D"}}
                    """#
                let answer = try explain(gateway, path: "/v4/timpush/batch", body: body)
                #expect(answer["TaskId"]?.string == "")
                #expect(answer["ErrorList"]?.elements.count == 1)
                #expect(
                    answer["Explain"]?.elements.map(summary) == ["push|notification|to_be_sent|no_activity_in_message"]
                )
            }
        }

        @Test("Of an audience the first are explained, and a request in Pushwoosh's form in its own answer")
        func audiences() throws {
            try GatewayUnderTest.run { gateway in
                let push = #""OfflinePushInfo":{"Title":"T","Desc":"D"}"#
                let everyone = #"{"From_Account":"administrator","MsgRandom":7,\#(push)}"#
                let nobody = try explain(gateway, path: "/v4/timpush/push", body: everyone)
                #expect(nobody["Explain"]?.elements.isEmpty == true, "\(nobody.text)")
                #expect(nobody["ExplainWarnings"]?.elements.map { $0["Code"]?.string } == ["audience_empty"])
                try gateway.register()
                try gateway.register("bob", phone: "phone-2", laID: nil)
                let answer = try explain(gateway, path: "/v4/timpush/push", body: everyone)
                let expected = "push|notification|to_be_sent|no_activity_in_message"
                #expect(answer["Explain"]?.elements.map(summary) == [expected, expected], "\(answer.text)")

                let code = ["--sdk-app-id", Self.app, "--code", "A1B2C-3D4E5", "--business-id", "1"]
                #expect(try gateway.livepush(["app", "code", "add"] + code).status == 0)
                let token = try gateway.succeed(
                    "app",
                    "token",
                    "add",
                    "--sdk-app-id",
                    Self.app,
                    "--name",
                    "server",
                    "--scope",
                    "server"
                )
                let body = #"""
                    {"request":{"application":"A1B2C-3D4E5","auth":"\#(token.trimmed)","notifications":[
                     {"live_activity":{"event":"update","content-state":{"step":1}},"live_activity_id":"order-1"}]}}
                    """#
                let file = "\(gateway.folder)/request.json"
                _ = try ChildProcess.run("tee", [file], input: body)
                let before = try tables(gateway)
                let command = ["explain", file, "--sdk-app-id", Self.app, "--path", "/json/1.3/updateLiveActivity"]
                let outcome = try gateway.livepush(command + ["--json"])
                #expect(outcome.status == 0, "\(outcome.errors)")
                let told = try JSONDocument(parsing: Array(outcome.output.utf8)).root
                #expect(told["status_code"]?.integer == 200)
                #expect(
                    told["Explain"]?.elements.map(summary) == ["push|live_activity|to_be_sent|activity_registered"]
                )
                let device = #"{"request":{"application":"A1B2C-3D4E5","hwid":"H","push_token":"00","device_type":1}}"#
                _ = try ChildProcess.run("tee", [file], input: device)
                let registering = ["explain", file, "--sdk-app-id", Self.app, "--path", "/json/1.3/registerDevice"]
                #expect(try gateway.livepush(registering).status == 1)
                // Whatever is under /json is answered in Pushwoosh's envelope.
                for path in ["/json", "/json/1.3/nothing", "/json/1.3/registerDevice"] {
                    let answer = try HTTPExchange("POST", port: gateway.port, path + "?explain=1", body: device)
                        .answer()
                    let words = Set(try answer.json.members.map(\.key))
                    #expect(words == ["status_code", "status_message", "response"], "\(answer.text)")
                }
                #expect(try tables(gateway) == before)
            }
        }

        // MARK: - The command

        @Test("The command tells the same for people and for machines, and exits 1 if anyone gets nothing")
        func command() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                let file = "\(gateway.folder)/message.json"
                let one = TestMessage { $0.contentState = #"{"minutes":3}"# }
                _ = try ChildProcess.run("tee", [file], input: one.json)
                let before = try tables(gateway)
                let text = try gateway.succeed("explain", file, "--sdk-app-id", Self.app)
                #expect(text.contains("alice: gets a push"))
                #expect(text.contains("live_activity to phone-1: to_be_sent, activity_registered"))
                #expect(text.contains("apns-topic: com.ex.app.push-type.liveactivity"))
                #expect(text.contains(#""content-state":{"minutes":3}"#))
                #expect(!text.contains(phone.activityToken))
                let json = try gateway.succeed("explain", file, "--sdk-app-id", Self.app, "--json")
                let answer = try JSONDocument(parsing: Array(json.utf8)).root
                #expect(summary(try only(answer)) == "push|live_activity|to_be_sent|activity_registered")

                let two = TestMessage { $0.recipients = ["alice", "nobody"] }
                _ = try ChildProcess.run("tee", [file], input: two.json)
                let batch = ["explain", file, "--sdk-app-id", Self.app, "--path", "/v4/openim/batchsendmsg"]
                let missed = try gateway.livepush(batch)
                #expect(missed.status == 1)
                #expect(missed.output.contains("nobody: gets nothing"))
                #expect(missed.errors.contains("nothing goes to nobody"))
                let refused = try gateway.livepush(["explain", file, "--sdk-app-id", Self.app])
                #expect(refused.status == 1)
                #expect(refused.errors.contains("90003"))
                #expect(try gateway.livepush(["explain", "--sdk-app-id", Self.app]).status == 64)
                #expect(try tables(gateway) == before)
            }
        }
    }
}
