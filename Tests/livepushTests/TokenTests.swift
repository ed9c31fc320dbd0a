import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What becomes of tokens, and when a notification takes the place of a Live Activity push.
    @Suite
    struct TokenTests {
        @Test("C40: a 410 from before the registration leaves it, one from after it deletes it")
        func goneTokenIsJudgedByTime() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                let query = "SELECT floor(extract(epoch FROM registered_at) * 1000)::bigint FROM live_activity"
                let registered = try #require(Int64(try gateway.sql(query)))
                try gateway.peer.answer(
                    phone.activityToken,
                    .status(410, "Unregistered", timestamp: registered - 1000),
                    .status(410, "Unregistered", timestamp: registered + 1000),
                )
                try gateway.send()
                #expect(try gateway.peer.exactly(2).map(\.pushType) == ["liveactivity", "alert"])
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(try gateway.sql("SELECT count(*) FROM live_activity") == "1")

                try gateway.send()
                #expect(try gateway.peer.exactly(4).map(\.pushType).suffix(2) == ["liveactivity", "alert"])
                try gateway.expectSQL("SELECT count(*) FROM live_activity", "0")
                #expect(try gateway.sql("SELECT count(*) FROM device") == "1")
            }
        }

        @Test("C42: a token of unknown environment is tried in the other one once, and that is remembered")
        func unknownEnvironmentIsFound() throws {
            try GatewayUnderTest.run(certificate: "both") { gateway in
                let phone = try gateway.register()
                for token in [phone.deviceToken, phone.activityToken] {
                    try gateway.peer.know(token, in: "sandbox")
                }
                try gateway.send()
                #expect(try gateway.peer.exactly(2).map(\.environment) == ["production", "sandbox"])
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(try gateway.sql("SELECT environment FROM live_activity") == "sandbox")

                try gateway.send { $0.laID = nil }
                #expect(try gateway.peer.exactly(4).map(\.environment).suffix(2) == ["production", "sandbox"])
                try gateway.expectSQL("SELECT environment FROM device", "sandbox")

                try gateway.send { $0.contentState = #"{"step":2}"# }
                #expect(try gateway.peer.exactly(5)[4].environment == "sandbox")
            }
        }

        @Test("C43: where APNs knows none of 100 tokens nothing is deleted, an alarm says so, and their pushes wait")
        func massFailureIsGuarded() throws {
            let flags = ["--hold-delay", "1", "--heartbeat-interval", "0.2"]
            try GatewayUnderTest.run(certificate: "production", flags: flags) { gateway in
                try gateway.sql(
                    """
                    INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment)
                    SELECT \(GatewayUnderTest.sdkAppID), 'user-' || number, 'phone-' || number,
                        sha256(number::text::bytea), 1, 'production'
                    FROM generate_series(1, 100) AS number
                    """
                )
                try gateway.peer.answer("*", .status(400, "BadDeviceToken", times: 1_000_000))
                try gateway.send {
                    $0.recipients = (1...100).map { "user-\($0)" }
                    $0.laID = nil
                }
                try gateway.expectSQL(
                    "SELECT kind, business_id, environment, what_to_do LIKE '%its pushes wait.' FROM alarms",
                    "mass_token_failure|1|production|t",
                )
                let waiting = "SELECT count(*), min(reason_code) FROM undelivered WHERE account IS NOT NULL"
                try gateway.expectSQL(waiting, "81|mass_token_failure")
                // Those that came before so many had failed.
                try gateway.expectSQL("SELECT outcome, count(*) FROM recent_deliveries GROUP BY 1", "refused|19")
                #expect(try gateway.sql("SELECT count(*), max(bad_days) FROM device") == "100|0")
                let plain = try gateway.sql("SELECT DISTINCT reason FROM undelivered WHERE reason_code <> ''")
                #expect(plain.contains("bundle id"), "\(plain)")

                // Mended, all of it goes out, and the alarm ends.
                try gateway.peer.answer("*", .status(200, times: 1_000_000))
                try gateway.expectSQL(
                    "SELECT outcome, count(*) FROM recent_deliveries GROUP BY 1 ORDER BY 1",
                    "accepted_by_apns|81\nrefused|19",
                )
                try gateway.expectSQL("SELECT kind FROM alarms", "")
            }
        }

        @Test("C44: a token unknown everywhere on three days while siblings succeed is quarantined, and told upstream")
        func unknownTokenIsQuarantined() throws {
            try GatewayUnderTest.run(certificate: "both") { gateway in
                let phone = try gateway.register()
                try gateway.register("bob", phone: "phone-2")
                for token in [phone.deviceToken, phone.activityToken] {
                    try gateway.peer.answer(token, .status(400, "BadDeviceToken", times: 1_000_000))
                }
                for day in 1...3 {
                    try gateway.send { $0.recipients = ["bob"] }
                    try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                    try gateway.send()
                    try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                    for table in ["device", "live_activity"] {
                        let days = "SELECT bad_days, quarantined_at IS NOT NULL FROM \(table) WHERE account = 'alice'"
                        #expect(try gateway.sql(days) == "\(day)|\(day == 3 ? "t" : "f")")
                        try gateway.sql("UPDATE \(table) SET last_bad_day = last_bad_day - 1")
                    }
                }
                let before = try gateway.peer.pushes().count
                let key = try gateway.send()
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                _ = try gateway.peer.exactly(before)
                #expect(
                    try gateway.sql(
                        """
                        SELECT route, fallback, outcome, route_reason FROM recent_deliveries
                        ORDER BY message_id DESC LIMIT 1
                        """
                    ) == "notification|t|nothing_to_send|token_quarantined"
                )
                let answer = try gateway.phone("administrator", "GET", "/v1/messages/\(key)")
                #expect(answer.text.contains("token_quarantined"), "\(answer.text)")
                let listed = try gateway.phone("alice", "GET", "/v1/registrations").text
                #expect(listed.matches(of: /"state":"quarantined"/).count == 2, "\(listed)")
                #expect(listed.contains("token_quarantined"), "\(listed)")

                // A token that comes back works again.
                for token in [phone.deviceToken, phone.activityToken] {
                    try gateway.peer.answer(token, .status(200, times: 1_000_000))
                }
                try gateway.register("alice", device: phone)
                try gateway.register("alice", activity: "order-1", phone)
                try gateway.send { $0.contentState = #"{"step":9}"# }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(try gateway.peer.exactly(before + 1)[before].token == phone.activityToken)
                let state = "SELECT bad_days, quarantined_at IS NULL FROM live_activity WHERE account = 'alice'"
                #expect(try gateway.sql(state) == "0|t")
            }
        }

        @Test("C55: a phone that registers another token is pushed to there, and no more at the former")
        func replacedTokenIsLeft() throws {
            try GatewayUnderTest.run { gateway in
                var phone = try gateway.register(laID: nil)
                phone.deviceToken = TestPhone.token(bytes: 32)
                try gateway.register("alice", device: phone)
                try gateway.send { $0.laID = nil }
                #expect(try gateway.peer.exactly(1)[0].token == phone.deviceToken)
            }
        }

        private static let spellings: [(String, String?)] = [
            (String(repeating: "a1", count: 54), String(repeating: "a1", count: 54)),
            (String(repeating: "a1", count: 80), String(repeating: "a1", count: 80)),
            (String(repeating: "a1", count: 100), String(repeating: "a1", count: 100)),
            (String(repeating: "A1", count: 32), String(repeating: "a1", count: 32)),
            ("<" + String(repeating: "a1a1a1a1 ", count: 8) + ">", String(repeating: "a1", count: 32)),
            (String(repeating: "a1", count: 32) + "a", nil),
            (String(repeating: "a1", count: 31), nil),
        ]

        @Test(
            "C46: tokens of any length and spelling are stored and pushed to, odd ones are refused",
            arguments: spellings
        )
        func tokensOfAnyLengthAreStored(given: String, sent: String?) throws {
            try GatewayUnderTest.run { gateway in
                let body = #"{"token":"\#(given)","businessId":1,"installation":"phone-1"}"#
                let answer = try gateway.phoneAnswer("alice", "PUT", "/v1/activities/order-1", body)
                #expect(answer.status == (sent == nil ? 422 : 200), "\(answer.text)")
                if let sent {
                    try gateway.send()
                    #expect(try gateway.peer.exactly(1)[0].token == sent)
                }
            }
        }

        @Test("C53: an expired activity token is forgotten, and the message goes out once as a notification")
        func expiredTokenFallsBackOnce() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                try gateway.peer.answer(phone.activityToken, .status(410, "ExpiredToken"))
                try gateway.send()
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes.map(\.token) == [phone.activityToken, phone.deviceToken])
                #expect(pushes[1].aps?["alert"]?["title"]?.string == "Your order")
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||token_dead|ExpiredToken",
                    "alice|phone-1|notification|fallback|accepted_by_apns|",
                )
                #expect(try gateway.sql("SELECT count(*) FROM live_activity") == "0")
                #expect(try gateway.sql("SELECT count(*) FROM device") == "1")
            }
        }

        @Test("C91: 429, 500, 503 and silence are tried again, and never fall back")
        func transientFailuresDoNotFallBack() throws {
            try GatewayUnderTest.run(flags: ["--apns-request-timeout", "0.5"]) { gateway in
                let phone = try gateway.register()
                try gateway.peer.answer(
                    phone.activityToken,
                    .tooManyRequests(retryAfter: 1),
                    .status(500),
                    .silence(),
                    .status(503),
                    .closedConnection,
                )
                try gateway.send()
                let pushes = try gateway.peer.exactly(6)
                #expect(pushes.map(\.status) == [429, 500, nil, 503, nil, 200])
                #expect(pushes.allSatisfy { $0.token == phone.activityToken })
                #expect(Set(pushes.compactMap { $0["apns-id"] }).count == 1)
                #expect(pushes[1].received - pushes[0].received >= 1)
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(try gateway.sql("SELECT attempts FROM delivery") == "6")
            }
        }

        @Test("C92: an activity that the recipient never registered becomes a notification")
        func unknownActivityFallsBack() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                try gateway.send { $0.laID = "order-2" }
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.token == phone.deviceToken)
                #expect(push.aps?["alert"]?["body"]?.string == "is on its way")
                try gateway.expectDeliveries("alice|phone-1|notification|fallback|accepted_by_apns|")
            }
        }

        private static let instructions: [(String, String, String?)] = [
            (String(repeating: "é", count: 32), "update", nil),
            (String(repeating: "x", count: 65), "update", "LaId"),
            (String(repeating: "é", count: 32) + "x", "update", "LaId"),
            ("", "update", "LaId"),
            ("order-1", "Update", "Event"),
            ("order-1", "start", "Event"),
        ]

        @Test("C92: LaId is counted in bytes, Event is exactly update or end", arguments: instructions)
        func instructionIsChecked(laID: String, event: String, field: String?) throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register("alice", laID: nil)
                let answer = try gateway.post(
                    TestMessage {
                        $0.laID = laID
                        $0.event = event
                    }
                )
                #expect(answer["ErrorCode"]?.integer == (field == nil ? 0 : 90_043))
                if let field {
                    #expect(answer["ErrorInfo"]?.string?.contains(field) == true)
                }
                _ = try gateway.peer.exactly(field == nil ? 1 : 0)
            }
        }

        @Test("Several phones and activities: each activity token of that LaId is pushed to, no device")
        func everyPhoneOfTheActivityIsPushedTo() throws {
            try GatewayUnderTest.run { gateway in
                let first = try gateway.register()
                let second = try gateway.register("alice", phone: "phone-2")
                try gateway.register("alice", phone: "phone-3", laID: nil)
                var other = first
                other.activityToken = TestPhone.token(bytes: 80)
                try gateway.register("alice", activity: "order-2", other)
                try gateway.send()
                let tokens = Set(try gateway.peer.exactly(2).map(\.token))
                #expect(tokens == [first.activityToken, second.activityToken])
            }
        }

        @Test("After an accepted end the activity is closed: an update within a minute goes nowhere")
        func endClosesTheActivity() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.send { $0.event = "end" }
                _ = try gateway.peer.exactly(1)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                try gateway.send()
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||accepted_by_apns|",
                    "alice|phone-1|live_activity||activity_ended|",
                )
                _ = try gateway.peer.exactly(1)
            }
        }
    }
}
