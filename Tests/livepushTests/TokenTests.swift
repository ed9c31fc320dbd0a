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
