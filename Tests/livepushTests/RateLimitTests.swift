import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Rate limits as an operator sets them while the gateway runs.
    @Suite
    struct RateLimitTests {
        private static func set(_ option: String, _ value: String, in gateway: GatewayUnderTest) throws {
            try gateway.succeed("app", "set", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)", option, value)
        }

        /// Posts a message until it is refused.
        private static func refusal(
            of message: TestMessage,
            by gateway: GatewayUnderTest,
        ) throws -> HTTPExchange.Answer {
            var refusal: HTTPExchange.Answer?
            // A running gateway follows within 5 seconds.
            _ = try eventually(within: 8) {
                let answer = try gateway.begin(message).answer()
                guard try answer.json["ErrorCode"]?.integer != 0 else { return false }
                refusal = answer
                return true
            }
            return try #require(refusal, "nothing was refused")
        }

        @Test("A limit that was set a moment ago is kept, with Retry-After, and ends when it is taken back")
        func limitIsFollowed() throws {
            try GatewayUnderTest.run { gateway in
                let message = TestMessage()
                #expect(try gateway.post(message)["ErrorCode"]?.integer == 0)
                try Self.set("--requests-per-second", "1", in: gateway)
                #expect(try gateway.succeed("app", "list").contains("limits: requests-per-second 1\n"))

                let refusal = try Self.refusal(of: message, by: gateway)
                #expect(refusal.status == 200)
                #expect(try refusal.json["ErrorCode"]?.integer == 60007)
                #expect(refusal.header("Retry-After") == "1")
                // What is refused takes nothing: whoever asks again and again gets through as soon.
                let hasRecovered = try eventually(within: 3) { try gateway.post(message)["ErrorCode"]?.integer == 0 }
                #expect(hasRecovered)

                try Self.set("--requests-per-second", "off", in: gateway)
                #expect(!(try gateway.succeed("app", "list").contains("limits")))
                let isFree = try eventually(within: 8) {
                    try (1...4).allSatisfy { _ in try gateway.post(message)["ErrorCode"]?.integer == 0 }
                }
                #expect(isFree)
            }
        }

        @Test(
            "What is over a limit is refused with its code and the limit's name, and comes through after Retry-After",
            arguments: [
                ("--caller-requests-per-second", "1", ["alice"], 60007),
                ("--batch-recipients-per-minute", "60", ["alice", "bob"], 90057),
            ] as [(String, String, [String], Int64)],
        )
        func overTheLimit(option: String, value: String, recipients: [String], code: Int64) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try Self.set(option, value, in: gateway)
            try gateway.serve()
            let message = TestMessage { $0.recipients = recipients }
            let refusal = try Self.refusal(of: message, by: gateway)
            #expect(refusal.status == 200)
            #expect(try refusal.json["ActionStatus"]?.string == "FAIL")
            #expect(try refusal.json["ErrorCode"]?.integer == code)
            #expect(try refusal.json["ErrorInfo"]?.string?.hasSuffix("(\(option.dropFirst(2)))") == true)
            let wait = try #require(refusal.header("Retry-After").flatMap { Double($0) })
            #expect(1...2 ~= wait)
            let hasRecovered = try eventually(within: wait + 2) {
                try gateway.post(message)["ErrorCode"]?.integer == 0
            }
            #expect(hasRecovered)
        }

        @Test("Phones over the limit of their account get 429 with Retry-After, others go on")
        func phonesAreLimited() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try Self.set("--client-requests-per-minute", "4", in: gateway)
            try gateway.serve()
            let answers = try (1...5).map { _ in try gateway.phoneAnswer("alice", "GET", "/v1/registrations") }
            #expect(answers.map(\.status) == [200, 200, 200, 200, 429])
            #expect(try answers[4].json["error"]?["code"]?.string == "rate_limited")
            let wait = try #require(answers[4].header("Retry-After").flatMap { Int($0) })
            #expect(1...15 ~= wait)
            #expect(try gateway.phoneAnswer("bob", "GET", "/v1/registrations").status == 200)
        }

        @Test("UserSigs that fail too often are answered 70050, and a good one passes meanwhile")
        func userSigFailuresAreLimited() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try Self.set("--usersig-failures-per-minute", "3", in: gateway)
            let server = try gateway.serve()
            let target = "/v4/openim/sendmsg?sdkappid=\(GatewayUnderTest.sdkAppID)&identifier=administrator&usersig="
            let answers = try (1...4).map { _ in
                try HTTPExchange("POST", port: server.port, target + "eJw", body: "{}").answer()
            }
            #expect(try answers.map { try $0.json["ErrorCode"]?.integer } == [70003, 70003, 70003, 70050])
            #expect(answers.map { $0.header("Retry-After") } == [nil, nil, nil, "60"])
            try gateway.send()
        }

        // MARK: - Pushes to all

        /// Posts a push to all.
        private static func begin(
            _ command: String = "timpush/push",
            random: Int = .random(in: 1...4_000_000_000),
            more: String = "",
            through server: GatewayServer,
            of gateway: GatewayUnderTest,
        ) throws -> HTTPExchange {
            let query =
                "sdkappid=\(GatewayUnderTest.sdkAppID)&identifier=administrator"
                + "&usersig=\(try gateway.userSig("administrator"))"
            let body =
                #"{"MsgRandom":\#(random),"MsgLifeTime":60,"MsgBody":[{"MsgType":"TIMTextElem","MsgContent":"#
                + #"{"Text":"Sale"}}],"OfflinePushInfo":{"Title":"Sale"}\#(more)}"#
            return try HTTPExchange("POST", port: server.port, "/v4/\(command)?\(query)", body: body)
        }

        @Test(
            "Pushes to all come so far apart, whichever gateway takes them; a repeat is none, and one too soon leaves nothing"
        )
        func interval() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try Self.set("--seconds-between-pushes-to-all", "60", in: gateway)
            #expect(try gateway.succeed("app", "list").contains("limits: seconds-between-pushes-to-all 60\n"))
            let servers = [try gateway.serve(), try gateway.serve()]
            let first = try Self.begin(random: 1, through: servers[0], of: gateway).answer().json
            #expect(first["ErrorCode"]?.integer == 0, "\(first.text)")

            for command in ["timpush/push", "all_member_push/im_push"] {
                let refusal = try Self.begin(command, random: 2, through: servers[1], of: gateway).answer()
                #expect(refusal.status == 200)
                #expect(try refusal.json["ErrorCode"]?.integer == 90024)
                #expect(try refusal.json["TaskId"]?.string == "")
                #expect(
                    try refusal.json["ErrorInfo"]?.string?.hasSuffix("(seconds-between-pushes-to-all)") == true
                )
                let wait = try #require(refusal.header("Retry-After").flatMap { Int($0) })
                #expect(50...60 ~= wait)
            }
            let again = try Self.begin(random: 1, through: servers[1], of: gateway).answer().json
            #expect(again["TaskId"]?.string == first["TaskId"]?.string)
            #expect(try gateway.sql("SELECT count(*) FROM message") == "1")
            #expect(try gateway.sql("SELECT count(*) FROM recent_request") == "1")
            #expect(try gateway.sql("SELECT string_agg(msg_key, ' ') FROM push_to_all") == first["TaskId"]?.string)
            // A group is not everybody, and other messages are none of these.
            try gateway.send(through: servers[1])

            try gateway.sql("UPDATE push_to_all SET accepted_at = accepted_at - interval '60 seconds'")
            let later = try Self.begin(random: 2, through: servers[1], of: gateway).answer().json
            #expect(later["ErrorCode"]?.integer == 0)
            #expect(later["TaskId"]?.string != first["TaskId"]?.string)
        }

        @Test("Of pushes to all at the same moment through two gateways no more are taken than a day may have")
        func daily() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.succeed("app", "set", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)", "--extensions", "on")
            try Self.set("--pushes-to-all-per-day", "3", in: gateway)
            let servers = [try gateway.serve(), try gateway.serve()]
            let tomorrow = try gateway.sql("SELECT extract(epoch FROM now())::bigint + 86400")
            let scheduled = try Self.begin(more: #","SendTime":\#(tomorrow)"#, through: servers[0], of: gateway)
            #expect(try scheduled.answer().json["ErrorCode"]?.integer == 0)

            let exchanges = try (0..<12).map { number in
                try Self.begin(
                    number.isMultiple(of: 3) ? "all_member_push/im_push" : "timpush/push",
                    through: servers[number % 2],
                    of: gateway,
                )
            }
            let answers = try exchanges.map { try $0.answer() }
            let codes = try answers.map { try $0.json["ErrorCode"]?.integer }
            #expect(codes.filter { $0 == 0 }.count == 2)
            #expect(codes.filter { $0 == 90047 }.count == 10)
            let refusal = try #require(answers.first { $0.header("Retry-After") != nil })
            #expect(try refusal.json["ErrorInfo"]?.string?.hasSuffix("(pushes-to-all-per-day)") == true)
            let wait = try #require(refusal.header("Retry-After").flatMap { Int($0) })
            #expect(86_300...86_400 ~= wait)
            #expect(try gateway.sql("SELECT count(*) FROM message") == "2")

            // One is a day old: there is room for one, and what is older is forgotten.
            try gateway.sql(
                """
                UPDATE push_to_all SET accepted_at = accepted_at - interval '25 hours'
                WHERE accepted_at = (SELECT min(accepted_at) FROM push_to_all)
                """
            )
            for code in [0, 90047] {
                let answer = try Self.begin(through: servers[1], of: gateway).answer().json
                #expect(answer["ErrorCode"]?.integer == Int64(code))
            }
            #expect(try gateway.sql("SELECT count(*) FROM push_to_all") == "3")

            try Self.set("--pushes-to-all-per-day", "off", in: gateway)
            let free = try Self.begin(through: servers[0], of: gateway).answer().json
            #expect(free["ErrorCode"]?.integer == 0)
            #expect(try gateway.sql("SELECT count(*) FROM push_to_all") == "3")
        }

        @Test("A limit that is none is refused", arguments: ["0", "-1", "1.5", "none", "1000001"])
        func badLimit(value: String) throws {
            let outcome = try ChildProcess.run(
                Paths.livepush,
                ["app", "set", "--sdk-app-id", "1", "--database-url", "unused", "--requests-per-second", value],
            )
            #expect(outcome.status == 64)
            #expect(outcome.errors.contains("--requests-per-second: expected off or a whole number"))
        }
    }
}
