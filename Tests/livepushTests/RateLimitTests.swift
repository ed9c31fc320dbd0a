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
