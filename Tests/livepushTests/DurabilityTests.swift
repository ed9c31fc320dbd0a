import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What survives crashes, failing statements and poison, and in which order.
    @Suite
    struct DurabilityTests {
        /// Death is noticed within three seconds instead of 25. A busy machine may hold up a living instance for less.
        static let quickTakeover = [
            "--heartbeat-interval", "0.2", "--takeover-after", "2.5", "--send-stop-after", "1.5",
        ]

        @Test("Two phones and a crash between them: another instance finishes, with the same ids, and nothing is lost")
        func crashBetweenTwoPhones() throws {
            try GatewayUnderTest.run(flags: Self.quickTakeover) { gateway in
                let survivor = try gateway.serve(Self.quickTakeover)
                let first = try gateway.register()
                let second = try gateway.register("alice", phone: "phone-2")
                let victim = try gateway.serve(Self.quickTakeover + ["--apns-request-timeout", "60"])
                try gateway.peer.answer(second.activityToken, .silence())
                try gateway.send(through: victim)
                let before = try gateway.peer.pushes(2)
                #expect(Set(before.map(\.token)) == [first.activityToken, second.activityToken])
                victim.program.end(SIGKILL)

                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||accepted_by_apns|",
                    "alice|phone-2|live_activity||accepted_by_apns|",
                )
                let pushes = try gateway.peer.pushes(3).filter { $0.token == second.activityToken }
                #expect(pushes.map(\.status) == [nil, 200])
                #expect(Set(pushes.compactMap { $0["apns-id"] }).count == 1)
                #expect(survivor.program.status == nil)
            }
        }

        @Test("A message that kills its instance each time is quarantined after three takeovers, others go on")
        func poisonIsQuarantined() throws {
            try GatewayUnderTest.run(flags: Self.quickTakeover) { gateway in
                let poison = try gateway.register("poison", phone: "phone-1")
                let good = try gateway.register("alice", phone: "phone-2")
                try gateway.peer.answer(poison.activityToken, .silence(times: 0))
                try gateway.peer.answer(good.activityToken, .status(503), .status(503))
                try gateway.send { $0.recipients = ["poison"] }
                try gateway.send()

                var crashes = 0
                let isQuarantined = try eventually(within: 60) {
                    let arrived = try gateway.peer.pushes().filter { $0.token == poison.activityToken }.count
                    if arrived > crashes {
                        crashes = arrived
                        try gateway.crash()
                        try gateway.serve(Self.quickTakeover)
                    }
                    return try gateway.sql("SELECT count(*) FROM delivery WHERE outcome = 'quarantined'") == "1"
                }
                #expect(isQuarantined)
                #expect(crashes == 3)
                try gateway.expectDeliveries(
                    "poison||none||quarantined|",
                    "alice|phone-2|live_activity||accepted_by_apns|",
                )
                try gateway.send { $0.contentState = #"{"step":2}"# }
                try gateway.expectSQL(
                    "SELECT count(*) FROM delivery WHERE account = 'alice' AND outcome = 'accepted_by_apns'",
                    "2"
                )
            }
        }

        @Test("A message that cannot be stored fails alone: those accepted beside it are stored and pushed")
        func failingAcceptFailsAlone() throws {
            try GatewayUnderTest.run { gateway in
                for (number, account) in ["alice", "bob", "carol"].enumerated() {
                    try gateway.register(account, phone: "phone-\(number)")
                }
                try gateway.failStatements(on: "message", when: "NEW.sender = 'poison'")
                // The gateway is busy with the first request's transaction while the others arrive: one batch.
                let exchanges = try ["alice", "bob", "poison", "carol"].map { account in
                    try gateway.begin(
                        TestMessage {
                            $0.recipients = [account == "poison" ? "alice" : account]
                            $0.sender = account
                        }
                    )
                }
                let answers = try exchanges.map { try $0.answer().json }
                #expect(answers.map { $0["ActionStatus"]?.string } == ["OK", "OK", "FAIL", "OK"])
                #expect(try #require(answers[2]["ErrorCode"]?.integer) > 0)
                #expect(try gateway.peer.exactly(3).allSatisfy { $0.status == 200 })
                #expect(try gateway.sql("SELECT count(*) FROM message") == "3")
            }
        }

        @Test("A recipient whose outcome cannot be written waits alone: those finished beside it are written")
        func failingSettlementFailsAlone() throws {
            try GatewayUnderTest.run { gateway in
                for (number, account) in ["alice", "bob", "poison"].enumerated() {
                    try gateway.register(account, phone: "phone-\(number)")
                }
                try gateway.failStatements(on: "delivery", when: "NEW.account = 'poison'")
                try gateway.send { $0.recipients = ["alice", "bob", "poison"] }
                try gateway.expectSQL("SELECT account FROM delivery ORDER BY account", "alice\nbob")
                #expect(try gateway.sql("SELECT count(*) FROM pending") != "0")

                try gateway.sql("DROP TRIGGER fail ON delivery")
                try gateway.expectDeliveries(
                    "alice|phone-0|live_activity||accepted_by_apns|",
                    "bob|phone-1|live_activity||accepted_by_apns|",
                    "poison|phone-2|live_activity||accepted_by_apns|",
                )
            }
        }

        @Test(
            "Updates within a second through two processes: timestamps rise strictly in accept order, the newest wins"
        )
        func timestampsRiseAcrossProcesses() throws {
            try GatewayUnderTest.run { gateway in
                let first = try gateway.serve()
                let second = try gateway.serve()
                let phone = try gateway.register()
                let count = 12
                for step in 1...count {
                    try gateway.send(through: step.isMultiple(of: 2) ? first : second) {
                        $0.contentState = #"{"step":\#(step)}"#
                    }
                }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.pushes(1)
                #expect(pushes.allSatisfy { $0.token == phone.activityToken && $0.problems.isEmpty })
                let newest = try #require(pushes.max { ($0.timestamp ?? 0) < ($1.timestamp ?? 0) })
                #expect(newest.contentState == #"{"step":\#(count)}"#)
                #expect(Set(pushes.compactMap(\.timestamp)).count == pushes.count)
                // Every message is accounted for, and what was sent rises with the message.
                #expect(try gateway.sql("SELECT count(*) FROM delivery") == String(count))
                let disorder = """
                    SELECT count(*) FROM delivery AS earlier JOIN delivery AS later
                    ON earlier.message_id < later.message_id AND earlier.timestamp_sent >= later.timestamp_sent
                    """
                #expect(try gateway.sql(disorder) == "0")
                let outcomes = "SELECT DISTINCT outcome FROM delivery WHERE outcome <> 'superseded'"
                #expect(try gateway.sql(outcomes) == "accepted_by_apns")
            }
        }

        @Test("SIGTERM: what is under way is finished and recorded, and the exit status is 0")
        func terminationDrains() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                let server = try gateway.serve()
                try gateway.peer.answer(phone.activityToken, .late(1))
                try gateway.send(through: server)
                _ = try gateway.peer.exactly(1)
                server.program.signal(SIGTERM)
                let isUnready = eventually {
                    let status = try? HTTPExchange("GET", port: server.port, "/readyz").answer().status
                    return status == 503 || status == nil
                }
                #expect(isUnready)
                let hasEnded = eventually(within: 25) { server.program.status != nil }
                #expect(hasEnded)
                #expect(server.program.status == 0)
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(try gateway.peer.exactly(1)[0].status == 200)
            }
        }

        @Test("A message accepted while nobody can send is sent after the restart")
        func acceptedMessageSurvivesTheProcess() throws {
            try GatewayUnderTest.run(flags: ["--retry-schedule", "60"] + Self.quickTakeover) { gateway in
                let phone = try gateway.register()
                try gateway.peer.answer(phone.activityToken, .silence())
                try gateway.send()
                _ = try gateway.peer.exactly(1)
                try gateway.crash()
                try gateway.serve(Self.quickTakeover)
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
            }
        }
    }
}
