import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Updates that come faster than iOS takes them.
    @Suite
    struct PacingTests {
        static let paced = ["--activity-interval", "1"]

        /// Posts updates `{"step":1}` to `{"step":count}` at once, one after the other.
        private func burst(_ count: Int, to gateway: GatewayUnderTest, through servers: [GatewayServer?]) throws {
            for step in 1...count {
                try gateway.send(through: servers[step % servers.count]) { $0.contentState = #"{"step":\#(step)}"# }
            }
        }

        @Test("C57, C90: twenty updates at once become a few pushes at the clock's time, the last state last")
        func burstBecomesFewPushes() throws {
            try GatewayUnderTest.run(flags: Self.paced) { gateway in
                try gateway.register()
                try burst(20, to: gateway, through: [nil])
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.pushes(2)
                #expect((2...5).contains(pushes.count), "\(pushes)")
                #expect(pushes.last?.contentState == #"{"step":20}"#)
                for push in pushes {
                    let timestamp = try #require(push.timestamp)
                    #expect(abs(Double(timestamp) - push.received) < 2)
                }
                #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $1.received - $0.received > 0.9 })
                let outcomes = "SELECT outcome, count(*) FROM delivery GROUP BY outcome ORDER BY outcome"
                let counts = try gateway.sql(outcomes)
                #expect(counts == "accepted_by_apns|\(pushes.count)\nsuperseded|\(20 - pushes.count)")
            }
        }

        @Test("C90: a burst through two gateways keeps one pace, and the last state arrives last")
        func burstThroughTwoGateways() throws {
            try GatewayUnderTest.run(flags: Self.paced) { gateway in
                let servers = [try gateway.serve(Self.paced), try gateway.serve(Self.paced)]
                try gateway.register()
                try burst(20, to: gateway, through: servers)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.pushes(2)
                #expect(pushes.last?.contentState == #"{"step":20}"#)
                #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $1.received - $0.received > 0.9 }, "\(pushes)")
                #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $0.timestamp ?? 0 < $1.timestamp ?? 0 })
                #expect(try gateway.sql("SELECT count(*) FROM delivery") == "20")
            }
        }

        @Test("The same state again is recorded unchanged; after a refusal it is sent")
        func sameState() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                try gateway.send { $0.contentState = #"{"step":1}"# }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                try gateway.send { $0.contentState = #"{"step":1}"# }
                try gateway.expectDeliveries(
                    "alice|phone-1|live_activity||accepted_by_apns|",
                    "alice|phone-1|live_activity||unchanged|",
                )
                try gateway.peer.answer(phone.activityToken, .status(400, "BadMessageId"))
                try gateway.send { $0.contentState = #"{"step":2}"# }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                try gateway.send { $0.contentState = #"{"step":2}"# }
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'accepted_by_apns'", "2")
                #expect(try gateway.peer.exactly(3).map(\.status) == [200, 400, 200])
            }
        }

        @Test("C71: once a phone had 60 updates in an hour the next go with priority 5, an end with 10")
        func spentBudget() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try burst(1, to: gateway, through: [nil])
                try gateway.expectSQL("SELECT budget_pushes FROM live_activity", "1")
                // Whatever hour it is by now.
                let hour = "floor(extract(epoch FROM now()) / 3600)"
                try gateway.sql("UPDATE live_activity SET budget_pushes = 70, budget_hour = \(hour)")
                try gateway.send { $0.contentState = #"{"step":2}"# }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                try gateway.send { $0.event = "end" }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.exactly(3)
                #expect(pushes.map { $0["apns-priority"] } == ["10", "5", "10"])
                let reasons = try gateway.sql("SELECT priority, priority_reason FROM delivery ORDER BY message_id")
                #expect(reasons == "10|default\n5|budget_spent\n10|end")
            }
        }

        @Test("The alert of an update that is superseded while it waits goes out with the newest state, once")
        func supersededAlert() throws {
            let flags = ["--retry-schedule", "3"]
            try GatewayUnderTest.run(flags: flags) { gateway in
                let app = ["--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                let outcome = try gateway.livepush(["app", "set", "--live-activity-alert", "on"] + app)
                #expect(outcome.status == 0, "\(outcome.errors)")
                try gateway.serve(flags)
                let phone = try gateway.register()
                try gateway.peer.answer(phone.activityToken, .status(503))
                try gateway.send {
                    $0.contentState = #"{"step":1}"#
                    $0.title = "Late"
                    $0.desc = nil
                }
                try gateway.expectSQL("SELECT reason FROM pending WHERE account = 'alice'", "ServiceUnavailable")
                for step in 2...3 {
                    try gateway.send {
                        $0.contentState = #"{"step":\#(step)}"#
                        $0.title = nil
                        $0.desc = nil
                    }
                    _ = try gateway.peer.pushes(step)
                    try gateway.expectSQL(
                        "SELECT count(*) FROM delivery WHERE outcome = 'accepted_by_apns'",
                        "\(step - 1)"
                    )
                }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.exactly(3)
                #expect(pushes.map(\.contentState) == (1...3).map { #"{"step":\#($0)}"# })
                #expect(pushes.map { $0.aps?["alert"]?["title"]?.string } == ["Late", "Late", nil])
                #expect(pushes[1]["apns-priority"] == "10")
                // Under the ids of the message whose state it is.
                #expect(pushes[0]["apns-id"] != pushes[1]["apns-id"])
                #expect(pushes[0]["apns-collapse-id"] != pushes[1]["apns-collapse-id"])
                #expect(
                    try gateway.sql("SELECT outcome, priority_reason FROM delivery ORDER BY message_id") == """
                        superseded|alert
                        accepted_by_apns|alert
                        accepted_by_apns|default
                        """
                )
                #expect(try gateway.sql("SELECT count(*) FROM waiting_alert") == "0")
            }
        }

        @Test("An update waits for the answer to a push with an alert, and takes the alert along if that failed")
        func alertUnderWay() throws {
            let flags = ["--retry-schedule", "600"]
            try GatewayUnderTest.run(flags: flags) { gateway in
                let app = ["--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                let outcome = try gateway.livepush(["app", "set", "--live-activity-alert", "on"] + app)
                #expect(outcome.status == 0, "\(outcome.errors)")
                try gateway.serve(flags)
                for (number, isLost) in [true, false].enumerated() {
                    let laID = "order-\(number)"
                    let phone = try gateway.register(phone: "phone-\(number)", laID: laID)
                    let status = isLost ? #","status":503"# : ""
                    let late = APNsPeer.Action(json: #"{"delay":1.5\#(status)}"#)
                    try gateway.peer.answer(phone.activityToken, late)
                    try gateway.send {
                        $0.laID = laID
                        $0.contentState = #"{"step":1}"#
                        $0.title = "Late"
                        $0.desc = nil
                    }
                    _ = try gateway.peer.pushes(2 * number + 1)
                    try gateway.send {
                        $0.laID = laID
                        $0.contentState = #"{"step":2}"#
                        $0.title = nil
                        $0.desc = nil
                    }
                    let push = try gateway.peer.exactly(2 * number + 2)[2 * number + 1]
                    #expect(push.contentState == #"{"step":2}"#)
                    #expect(push.aps?["alert"]?["title"]?.string == (isLost ? "Late" : nil))
                    let timestamp = Double(push.timestamp ?? 0)
                    #expect(abs(timestamp - push.received) < 3)
                }
                try gateway.expectSQL(
                    "SELECT count(*) FROM delivery WHERE outcome = 'accepted_by_apns' AND account = 'alice'",
                    "3"
                )
                #expect(try gateway.sql("SELECT count(*) FROM waiting_alert") == "0")
            }
        }

        @Test(
            "An alert without room in one gateway's memory, claimed after another sent a newer state, goes out with that"
        )
        func alertAfterNewerState() throws {
            let flags = ["--memory-limit", "500", "--apns-request-timeout", "60"]
            try GatewayUnderTest.run(flags: flags) { gateway in
                let app = ["--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                let outcome = try gateway.livepush(["app", "set", "--live-activity-alert", "on"] + app)
                #expect(outcome.status == 0, "\(outcome.errors)")
                let servers = [try gateway.serve(flags), try gateway.serve(flags)]
                try gateway.register()
                // A push without answer takes the first one's room for 500 recipients; what has none is taken up two
                // seconds later, by whichever gateway.
                let silent = try gateway.register("bob", phone: "phone-2")
                try gateway.peer.answer(silent.activityToken, .silence())
                try gateway.send(through: servers[0]) { $0.recipients = ["bob"] }
                _ = try gateway.peer.pushes(1)
                try gateway.sql(
                    """
                    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN NEW.due = now() + interval '2 seconds'; RETURN NEW; END $$;
                    CREATE TRIGGER wait BEFORE INSERT ON pending FOR EACH ROW
                        WHEN (NEW.instance_id IS NULL AND NEW.account IS NULL) EXECUTE FUNCTION wait();
                    """
                )
                try gateway.send(through: servers[0]) {
                    $0.recipients = ["alice"] + (2...500).map { "nobody-\($0)" }
                    $0.contentState = #"{"step":1}"#
                    $0.title = "Late"
                    $0.desc = nil
                }
                try gateway.send(through: servers[1]) {
                    $0.contentState = #"{"step":2}"#
                    $0.title = nil
                    $0.desc = nil
                }
                try gateway.expectSQL("SELECT outcome FROM delivery", "accepted_by_apns")
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE account = 'alice'", "2")
                let pushes = Array(try gateway.peer.exactly(3).dropFirst())
                #expect(pushes.map(\.contentState) == [#"{"step":2}"#, #"{"step":2}"#])
                #expect(pushes.map { $0.aps?["alert"]?["title"]?.string } == [nil, "Late"])
                #expect(pushes[1]["apns-priority"] == "10")
                // Under the ids of the message whose state it is, and above its first push.
                #expect(pushes[0]["apns-id"] == pushes[1]["apns-id"])
                #expect(pushes[0]["apns-collapse-id"] == pushes[1]["apns-collapse-id"])
                #expect(pushes[0].timestamp ?? 0 < pushes[1].timestamp ?? 0)
                #expect(
                    try gateway.sql(
                        """
                        SELECT outcome, route_reason, apns_status, attempts FROM delivery WHERE account = 'alice'
                        ORDER BY message_id
                        """
                    ) == """
                        superseded|alert_sent_with_newest_state|200|1
                        accepted_by_apns|activity_registered|200|1
                        """
                )
                #expect(try gateway.sql("SELECT count(*) FROM waiting_alert WHERE account = 'alice'") == "0")
            }
        }

        @Test("An end in the middle of a burst goes out at once, and nothing follows it")
        func endInABurst() throws {
            try GatewayUnderTest.run(flags: Self.paced) { gateway in
                try gateway.register()
                try burst(5, to: gateway, through: [nil])
                try gateway.send { $0.event = "end" }
                try burst(5, to: gateway, through: [nil])
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes.map(\.event) == ["update", "end"])
                #expect(pushes[1].received - pushes[0].received < 0.9)
                #expect(try gateway.sql("SELECT count(*) FROM delivery WHERE outcome = 'activity_ended'") != "0")
            }
        }
    }
}
