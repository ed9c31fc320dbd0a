import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Messages that wait for their time.
    @Suite
    struct ScheduleTests {
        private static let app = "\(GatewayUnderTest.sdkAppID)"

        private func run(_ flags: [String] = [], _ test: (GatewayUnderTest) throws -> Void) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.succeed("app", "set", "--sdk-app-id", Self.app, "--extensions", "on")
            try gateway.serve(flags)
            try test(gateway)
        }

        @Test("A message goes out within two seconds of its time, after what was accepted later and sent at once")
        func goesOutInTime() throws {
            try run { gateway in
                let phone = try gateway.register()
                let time = try gateway.now() + 3
                let key = try gateway.send { message in
                    message.contentState = #"{"step":"later"}"#
                    message.sendTime = time
                }
                try gateway.send { $0.contentState = #"{"step":"now"}"# }
                try gateway.expectSQL("SELECT msg_key, state, recipients FROM scheduled", "\(key)|waiting|1")
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||accepted_by_apns|",
                )
                try gateway.expectSQL("SELECT count(*) FROM scheduled", "0")
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||accepted_by_apns|",
                    "alice|phone-1|live_activity||accepted_by_apns|",
                )
                #expect(
                    try gateway.sql(
                        """
                        SELECT sent_at BETWEEN to_timestamp(\(time)) AND to_timestamp(\(time + 2)) FROM recent_deliveries
                        WHERE msg_key = '\(key)'
                        """
                    ) == "t"
                )
                let pushes = try gateway.peer.pushes(2).filter { $0.token == phone.activityToken }
                #expect(pushes.map { $0.aps?["content-state"]?["step"]?.string } == ["now", "later"])
            }
        }

        @Test("It survives the death of its gateway, and one whose time came meanwhile goes out when the next is there")
        func survives() throws {
            try run(DurabilityTests.quickTakeover) { gateway in
                try gateway.register()
                try gateway.send { $0.sendTime = (try? gateway.now()).map { $0 + 2 } }
                try gateway.crash()
                try gateway.expectSQL("SELECT send_at < now() FROM scheduled", "t")
                #expect(try gateway.sql("SELECT count(*) FROM message") == "0")
                try gateway.serve(DurabilityTests.quickTakeover)
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
            }
        }

        @Test(
            "MsgLifeTime counts from its time: one that no gateway could send before that is over is recorded as expired"
        )
        func expires() throws {
            try run(DurabilityTests.quickTakeover) { gateway in
                try gateway.register()
                try gateway.send { message in
                    message.sendTime = (try? gateway.now()).map { $0 + 2 }
                    message.lifetime = 1
                }
                try gateway.crash()
                try gateway.expectSQL("SELECT deadline < now() FROM scheduled", "t")
                try gateway.serve(DurabilityTests.quickTakeover)
                try gateway.expectSQL("SELECT outcome FROM recent_deliveries", "expired")
            }
        }

        @Test("Routing is decided at its time: who registered meanwhile gets the Live Activity push")
        func routedWhenSent() throws {
            try run { gateway in
                let phone = try gateway.register(laID: nil)
                try gateway.send { $0.sendTime = (try? gateway.now()).map { $0 + 2 } }
                try gateway.register("alice", activity: "order-1", phone)
                try gateway.expectSQL("SELECT count(*) FROM scheduled", "0")
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
            }
        }

        @Test("The command lists, shows and cancels; the page of metrics counts; what is cancelled is not sent")
        func command() throws {
            try run(["--heartbeat-interval", "0.2"]) { gateway in
                try gateway.register()
                let key = try gateway.send { $0.sendTime = (try? gateway.now()).map { $0 + 3 } }
                let other = try gateway.send { $0.sendTime = (try? gateway.now()).map { $0 + 3600 } }
                let list = try gateway.succeed("scheduled", "list", "--sdk-app-id", Self.app)
                #expect(list.split(separator: "\n").count == 2)
                #expect(list.contains("  \(key)  openim/sendmsg  update of order-1  1 accounts  waiting\n"), "\(list)")
                let shown = try gateway.succeed("scheduled", "show", key, "--sdk-app-id", Self.app)
                #expect(shown.contains("alice"))
                #expect(!shown.contains("step"))
                _ = try gateway.expectMetrics(["livepush_scheduled_messages 2", "livepush_schedule_late_seconds 0"])

                try gateway.succeed("scheduled", "cancel", key, "--sdk-app-id", Self.app)
                let again = try gateway.livepush(["scheduled", "cancel", key, "--sdk-app-id", Self.app])
                #expect(again.status == 1)
                #expect(again.errors.contains(key))
                let answer = try gateway.phone("administrator", "DELETE", "/v1/messages/\(other)")
                #expect(answer["cancelled"]?.integer == 1)
                #expect(try gateway.succeed("scheduled", "list").isEmpty)
                #expect(
                    try gateway.succeed("scheduled", "list", "--all").contains("cancelled by livepush scheduled cancel")
                )
                let states = try gateway.phone("administrator", "GET", "/v1/messages/\(key)")["messages"]?.elements
                    .map { $0["schedule"]?["state"]?.string }
                #expect(states == ["cancelled"])
                try gateway.expectSQL(
                    "SELECT max(send_at) FILTER (WHERE msg_key = '\(key)') < now() - interval '2 seconds' FROM scheduled",
                    "t"
                )
                #expect(try gateway.sql("SELECT count(*) FROM message") == "0")

                try gateway.sql(
                    "UPDATE scheduled_message SET cancelled_at = now() - interval '31 days' WHERE msg_key = '\(key)'"
                )
                #expect(try gateway.succeed("retention").contains("deleted 1 row of scheduled_message"))
                #expect(try gateway.sql("SELECT count(*) FROM scheduled") == "1")
            }
        }
    }
}
