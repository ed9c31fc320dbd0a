import TestSupport
import Testing
import VerbatimJSON

/// What an explanation says beside the outcome.
extension EndToEndTests.ExplainTests {
    /// The only target of the only recipient.
    private func onlyTarget(_ answer: JSONValue) throws -> JSONValue {
        let targets = try #require(only(answer)["Targets"]?.elements)
        #expect(targets.count == 1, "\(answer.text)")
        return try #require(targets.first)
    }

    private func messages(_ object: JSONValue?) -> [String] {
        (object?["Warnings"]?.elements ?? []).compactMap { $0["Message"]?.string }
    }

    // MARK: - Whether

    @Test(
        "Whatever has explain in its query is explained, but for explain=0 and what is only called alike",
        arguments: [
            ("explain=1", true), ("explain", true), ("explain=", true), ("explain=no", true), ("explain=0", false),
            ("explained=1", false), ("noexplain=1", false),
        ]
    )
    func query(member: String, isExplained: Bool) throws {
        try GatewayUnderTest.run { gateway in
            try gateway.register()
            let usual = "sdkappid=\(Self.app)&identifier=administrator&usersig=\(try gateway.userSig("administrator"))"
            for query in ["\(member)&\(usual)", "\(usual)&\(member)"] {
                let target = "/v4/openim/sendmsg?\(query)"
                let answer = try HTTPExchange("POST", port: gateway.port, target, body: TestMessage().json).answer()
                    .json
                #expect(answer["ErrorCode"]?.integer == 0)
                #expect((answer["Explain"] != nil) == isExplained)
                #expect((answer["MsgKey"]?.string == "") == isExplained)
            }
            _ = try gateway.peer.exactly(isExplained ? 0 : 2)
        }
    }

    // MARK: - The push

    @Test("The headers are those that are sent, without tokens and with what is not known yet in words")
    func headers() throws {
        try GatewayUnderTest.run { gateway in
            try gateway.register()
            for laID in ["order-1", nil] {
                let answer = try explain(gateway) {
                    $0.laID = laID
                    $0.lifetime = 600
                }
                let push = try #require(onlyTarget(answer)["Push"])
                let headers = try #require(push["Headers"])
                let table = laID == nil ? "device" : "live_activity"
                let fingerprint = try gateway.sql("SELECT token_fingerprint(token) FROM \(table)")
                #expect(headers[":path"]?.string == "/3/device/(token \(fingerprint))")
                #expect(headers["authorization"]?.string == "bearer (provider token)")
                #expect(headers["apns-id"]?.string == "(derives from the message)")
                #expect(headers["apns-push-type"]?.string == (laID == nil ? "alert" : "liveactivity"))
                let topic = GatewayUnderTest.bundleID + (laID == nil ? "" : ".push-type.liveactivity")
                #expect(headers["apns-topic"]?.string == topic)
                #expect(headers["apns-priority"]?.string == "10")
                let expiration = try #require(push["Expiration"]?.integer)
                #expect(headers["apns-expiration"]?.string == "\(expiration)")
                #expect(abs(expiration - (try gateway.now()) - 600) < 10)
                #expect(headers["apns-collapse-id"]?.string?.hasPrefix("m") == true)
                if laID == nil { #expect(headers["apns-collapse-id"]?.string == "m(id of the message)") }
                #expect(push["PayloadLimit"]?.integer == 4096)
                #expect(push["BusinessId"]?.integer == 1)
            }
        }
    }

    @Test("A token whose environment is not known is tried in both where the certificate is for both")
    func environments() throws {
        try GatewayUnderTest.run(certificate: "both") { gateway in
            try gateway.register()
            let target = try onlyTarget(explain(gateway))
            #expect(target["Push"]?["Environment"]?.string == "production")
            #expect(target["Push"]?["OtherEnvironment"]?.string == "sandbox")
            #expect(
                messages(target) == ["the token's environment is not known: production is tried, then sandbox"]
            )
            try gateway.sql("UPDATE live_activity SET environment = 'sandbox'")
            let known = try onlyTarget(explain(gateway))
            #expect(known["Push"]?["Environment"]?.string == "sandbox")
            #expect(known["Warnings"] == nil)
        }
        try GatewayUnderTest.run { gateway in
            try gateway.register()
            let target = try onlyTarget(explain(gateway))
            #expect(target["Push"]?["OtherEnvironment"] == nil)
            #expect(
                messages(target) == [
                    "the token's environment is not known: sandbox is tried; the app has no certificate for the other "
                        + "with this bundle id"
                ]
            )
        }
    }

    @Test("What keeps pushes from going out is told of those that it concerns, and of no others")
    func obstacles() throws {
        try GatewayUnderTest.run { gateway in
            try gateway.register()
            try gateway.sql(
                """
                UPDATE live_activity SET environment = 'sandbox';
                INSERT INTO alarm (kind, sdk_app_id, subject, business_id, environment, detail, fades_at, ended_at) VALUES
                    ('topic_refused', \(Self.app), 'a', 1, 'sandbox', 'TopicDisallowed', NULL, NULL),
                    ('signing_key_refused', \(Self.app), 'b', 2, 'sandbox', 'of another certificate', NULL, NULL),
                    ('provider_token_refused', \(Self.app), 'c', 1, 'production', 'of the other one', NULL, NULL),
                    ('mass_token_failure', \(Self.app), 'd', 1, 'sandbox', 'over', NULL, now()),
                    ('signing_key_refused', \(Self.app), 'e', 1, 'sandbox', 'faded', now() - interval '1 s', NULL),
                    ('apns_unreachable', 0, 'f', NULL, 'sandbox', 'no way to APNs', NULL, NULL),
                    ('database_refused', 0, 'g', NULL, NULL, 'is no obstacle', NULL, NULL);
                """
            )
            let target = try onlyTarget(explain(gateway))
            #expect(target["Outcome"]?.string == "to_be_sent")
            #expect(codes(target) == ["apns_unreachable", "topic_refused"])
            #expect(
                messages(target).last?.hasSuffix("see livepush doctor and the view alarms: TopicDisallowed") == true
            )
            // The certificate was mended since.
            try gateway.sql("UPDATE certificate SET updated_at = clock_timestamp()")
            #expect(codes(try onlyTarget(explain(gateway))) == ["apns_unreachable"])
        }
    }

    @Test("A token that APNs did not know lately, and an alert that was left behind, are told with the push")
    func tokenAndAlert() throws {
        let gateway = try GatewayUnderTest()
        defer { gateway.end() }
        try gateway.succeed("app", "set", "--live-activity-alert", "on", "--sdk-app-id", Self.app)
        try gateway.serve()
        try gateway.register()
        try gateway.sql("UPDATE live_activity SET environment = 'sandbox', bad_days = 1")
        #expect(codes(try onlyTarget(explain(gateway))) == ["token_suspect"])
        try gateway.sql(
            """
            UPDATE live_activity SET bad_days = 0;
            INSERT INTO waiting_alert (sdk_app_id, account, la_id, installation, message_id, content, until)
            SELECT sdk_app_id, account, la_id, installation, 7,
                convert_to('{"title":"Goal","body":"1:0"}', 'UTF8'), now() + interval '1 hour' FROM live_activity;
            """
        )
        let silent: (inout TestMessage) -> Void = {
            $0.title = nil
            $0.desc = nil
        }
        let taken = try onlyTarget(explain(gateway, silent))
        #expect(codes(taken) == ["alert_taken_along"])
        #expect(messages(taken).first?.contains("message 7") == true)
        #expect(taken["Push"]?["Payload"]?["aps"]?["alert"]?["title"]?.string == "Goal")
        let large = try onlyTarget(
            explain(gateway) {
                silent(&$0)
                $0.contentState = #"{"x":"\#(String(repeating: "x", count: 4005))"}"#
            }
        )
        #expect(codes(large) == ["alert_left_out"])
        #expect(large["Push"]?["Payload"]?["aps"]?["alert"] == nil)
    }

    // MARK: - The recipient

    @Test("A registration is told with all that is known of it, and each reason in whole words")
    func registration() throws {
        try GatewayUnderTest.run { gateway in
            let phone = TestPhone(installation: "phone-1")
            try gateway.register("alice", device: phone, more: #","osVersion":"18.1","language":"de""#)
            try gateway.register("alice", activity: "order-1", phone)
            try gateway.register("alice", phone: "phone-2", laID: "order-2")
            try gateway.send()
            try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            try gateway.sql("UPDATE live_activity SET registered_at = now() - interval '100 seconds'")
            let explained = try only(explain(gateway))
            let registrations = try #require(explained["Registrations"]?.elements)
            // The device of the other phone is there, its activity is another.
            #expect(
                registrations.map { "\($0["Kind"]?.string ?? "") \($0["Installation"]?.string ?? "")" }
                    == ["device phone-1", "device phone-2", "activity phone-1"]
            )
            let (device, activity) = (registrations[0], registrations[2])
            #expect(device["OsVersion"]?.string == "18.1" && device["Language"]?.string == "de")
            #expect(activity["LaId"]?.string == "order-1" && activity["Environment"]?.string == "sandbox")
            #expect(activity["BusinessId"]?.integer == 1)
            #expect(activity["BundleId"]?.string == GatewayUnderTest.bundleID)
            #expect(activity["LastOutcome"]?.string == "accepted_by_apns")
            #expect(abs((activity["LastPushAt"]?.integer ?? 0) - (try gateway.now())) < 30)
            #expect(100...130 ~= activity["AgeSeconds"]?.integer ?? 0)
            let seconds = (activity["RegisteredAt"]?.integer ?? 0) + (activity["AgeSeconds"]?.integer ?? 0)
            #expect(abs(seconds - (try gateway.now())) < 10)
            #expect(abs((activity["ExpiresAt"]?.integer ?? 0) - (try gateway.now()) - 8 * 3600) < 30)
            let target = try #require(explained["Targets"]?.elements.first)
            #expect(target["Means"]?.string == "the phone has registered the activity")
            #expect(target["Push"]?["PriorityMeans"]?.string == "10 while the phone's hourly share lasts")
            #expect(target["TokenFingerprint"]?.string == activity["TokenFingerprint"]?.string)
        }
    }

    @Test("Of a message that is to be sent later it is told that it is decided then, and nothing of it waits")
    func scheduled() throws {
        let gateway = try GatewayUnderTest()
        defer { gateway.end() }
        try gateway.succeed("app", "set", "--extensions", "on", "--sdk-app-id", Self.app)
        try gateway.serve()
        try gateway.register()
        let time = Int64(try gateway.now()) + 3600
        let explained = try only(explain(gateway) { $0.sendTime = time })
        #expect(explained["Result"]?.string == "push")
        #expect(codes(explained) == ["scheduled"])
        #expect(messages(explained).first?.contains("at \(time);") == true)
    }

    @Test("A limit that would refuse a push to all now is told, and not spent")
    func limitOfPushesToAll() throws {
        let gateway = try GatewayUnderTest()
        defer { gateway.end() }
        try gateway.succeed("app", "set", "--pushes-to-all-per-day", "1", "--sdk-app-id", Self.app)
        try gateway.serve()
        try gateway.register(laID: nil)
        func warnings() throws -> [JSONValue] {
            let body = #"{"MsgRandom":7,"OfflinePushInfo":{"Title":"T"}}"#
            let answer = try explain(gateway, path: "/v4/timpush/push", body: body)
            #expect(answer["Explain"]?.elements.map(summary) == ["push|notification|to_be_sent|no_activity_in_message"])
            return answer["ExplainWarnings"]?.elements ?? []
        }
        for _ in 1...2 {
            #expect(try warnings().isEmpty)
        }
        try gateway.sql("INSERT INTO push_to_all VALUES (\(Self.app), now(), 'x')")
        let told = try warnings()
        #expect(told.map { $0["Code"]?.string } == ["over_limit"])
        #expect(told.first?["Message"]?.string?.contains("(pushes-to-all-per-day); in 86") == true)
    }

    @Test("Of an audience the first 500 are explained, and that there are more is told")
    func largeAudience() throws {
        try GatewayUnderTest.run { gateway in
            try gateway.sql(
                """
                INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment)
                SELECT \(Self.app), 'user-' || lpad(number::text, 4, '0'), 'phone-' || number,
                    sha256(convert_to('device ' || number, 'UTF8')), 1, 'sandbox' FROM generate_series(1, 500) AS number
                """
            )
            let body = #"{"MsgRandom":7,"OfflinePushInfo":{"Title":"T"}}"#
            func told() throws -> String {
                let answer = try explain(gateway, path: "/v4/timpush/push", body: body)
                let codes = (answer["ExplainWarnings"]?.elements ?? []).compactMap { $0["Code"]?.string }
                return "\(answer["Explain"]?.elements.count ?? -1) \(codes)"
            }
            try gateway.sql("DELETE FROM device WHERE installation = 'phone-500'")
            #expect(try told() == "499 []")
            try gateway.sql(
                """
                INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment)
                SELECT \(Self.app), 'user-' || lpad(number::text, 4, '0'), 'phone-' || number,
                    sha256(convert_to('device ' || number, 'UTF8')), 1, 'sandbox' FROM generate_series(500, 501) AS number
                """
            )
            #expect(try told() == #"500 ["audience_cut"]"#)
        }
    }

    // MARK: - The command

    @Test(
        "The command's exit code and words: nobody in the audience, an account that the API leaves out, and other rules"
    )
    func exitCodes() throws {
        try GatewayUnderTest.run { gateway in
            let file = "\(gateway.folder)/message.json"
            func run(_ body: String, path: String, _ more: String...) throws -> ChildProcess.Outcome {
                _ = try ChildProcess.run("tee", [file], input: body)
                return try gateway.livepush(["explain", file, "--sdk-app-id", Self.app, "--path", path] + more)
            }
            let push = #""MsgRandom":7,"OfflinePushInfo":{"Title":"T"}"#
            let nobody = try run("{\(push)}", path: "/v4/timpush/push")
            #expect(nobody.status == 1)
            #expect(nobody.errors.contains("nothing goes to anybody"), "\(nobody.errors)")
            #expect(nobody.output.contains("audience_empty: nobody is in the message's audience"))

            try gateway.register()
            try gateway.sql("UPDATE device SET badge = 4")
            let good = try run(#"{"To_Account":["alice"],\#(push)}"#, path: "/v4/timpush/batch")
            #expect(good.status == 0, "\(good.errors)")
            let left = try run(#"{"To_Account":["alice",""],\#(push)}"#, path: "/v4/timpush/batch")
            #expect(left.status == 1)
            #expect(left.output.contains(": refused with 90012"), "\(left.output)")

            let update = TestMessage { $0.contentState = #"{"a":1}"# }.json
            let usual = try run(update, path: "/v4/openim/sendmsg")
            #expect(usual.status == 0)
            let fingerprint = try gateway.sql("SELECT token_fingerprint(token) FROM live_activity")
            for part in [
                "    activity order-1 of phone-1, token \(fingerprint), live, registered ",
                " s ago, environment not known,",
                "    priority 10, default: 10 while the phone's hourly share lasts\n",
                "    to APNs sandbox, signed with the key of businessId 1\n",
                "      :path: /3/device/(token \(fingerprint))\n", " of 4096 bytes:\n",
                "    environment_unknown: ", "activity_registered: the phone has registered the activity\n",
            ] {
                #expect(usual.output.contains(part), "\(part): \(usual.output)")
            }
            try gateway.sql(
                "UPDATE live_activity SET budget_hour = floor(extract(epoch FROM now()) / 3600)::bigint, budget_pushes = 3"
            )
            let spent = try run(update, path: "/v4/openim/sendmsg", "--activity-budget", "1")
            #expect(spent.output.contains("    priority 5, budget_spent: "), "\(spent.output)")
        }
    }
}
