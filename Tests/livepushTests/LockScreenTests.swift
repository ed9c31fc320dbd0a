import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Cases of starting, alerting and pacing, to what is seen on the phone's lock screen.
    @Suite
    struct LockScreenTests {
        private func update(_ step: Int, laID: String = "order-7", members: String? = nil) -> TestMessage {
            TestMessage {
                $0.laID = laID
                $0.contentState = #"{"step":\#(step)}"#
                $0.activityMembers = members
            }
        }

        // MARK: - Starts

        @Test("C51: a start and three updates before the token is there are one card, and one update when it is")
        func oneCard() throws {
            try LockScreens.run { screens in
                let phone = try screens.registerStart()
                _ = try screens.post(LockScreens.start())
                for step in 1...3 {
                    _ = try screens.post(update(step))
                }
                let superseded = "SELECT count(*) FROM delivery WHERE outcome = 'superseded'"
                try screens.gateway.expectSQL(superseded, "2")
                #expect(try screens.lockScreen().states == [#"{"step":0}"#])
                try screens.register(activity: "order-7", phone)
                let seen = try screens.phone()
                #expect(seen.states == [#"{"step":3}"#])
                #expect(seen.activities.first?["state"]?.string == "active")
                #expect(seen.notifications.isEmpty && seen.ignored.isEmpty)
                #expect(try screens.payloads().map { $0["event"]?.string } == ["start", "update"])
            }
        }

        @Test(
            "C67: a start without an alert, or with an empty one, is refused, and an update without one has no such key"
        )
        func emptyAlert() throws {
            try LockScreens.run { screens in
                let phone = try screens.registerStart()
                for members in ["", #""Alert":{}"#, #""Alert":{"title":"","body":""}"#, #""Alert":null"#] {
                    try screens.expectRefusal(LockScreens.start(members: members), of: "Alert")
                }
                #expect(try screens.simulator.pushes().isEmpty)
                #expect(try screens.phone().activities.isEmpty)
                try screens.register(activity: "order-7", phone)
                _ = try screens.post(update(1))
                _ = try screens.post(update(2, members: #""Alert":{}"#))
                let seen = try screens.phone()
                #expect(seen.states == [#"{"step":2}"#])
                #expect(seen.activities.first?["alert"] == nil)
                #expect(seen.notifications.isEmpty && seen.ignored.isEmpty)
                #expect(try screens.payloads().allSatisfy { $0["alert"] == nil })
            }
        }

        @Test("C69: a start with a channel comes up without it on iOS 17.4, with it on 18, and never with both keys")
        func channelOfStart() throws {
            try LockScreens.run { screens in
                try screens.registerStart(phone: "old", system: "17.4")
                try screens.registerStart(phone: "new", system: "18.0")
                let body = #"{"businessId":1,"storage":"recent"}"#
                let made = try screens.gateway.phone("administrator", "POST", "/v1/channels", body)
                let channel = try #require(made["channelId"]?.string)
                let alert = #""Alert":{"title":"Ride 7","body":"is on its way"},"InputPushChannel":"\#(channel)""#
                let both = LockScreens.start(members: alert + #","InputPushToken":1"#)
                try screens.expectRefusal(both, of: "InputPushChannel")
                #expect(try screens.simulator.pushes().isEmpty)
                _ = try screens.post(LockScreens.start(members: alert))
                for (name, followed) in [("old", nil), ("new", channel)] {
                    let seen = try screens.phone(name)
                    #expect(seen.states == [#"{"step":0}"#], "\(name)")
                    #expect(seen.activities.first?["channel"]?.string == followed, "\(name)")
                    #expect(seen.ignored.isEmpty, "\(name): \(seen.ignored)")
                }
                let keys = try screens.payloads().map { $0["input-push-channel"]?.string }
                #expect(Set(keys) == [nil, channel])
                #expect(try screens.payloads().allSatisfy { $0["input-push-token"] == nil })
            }
        }

        @Test("C70: of twelve starts within a minute eight are cards, four are notifications, and nothing is lost")
        func guardedStarts() throws {
            try LockScreens.run { screens in
                try screens.registerStart()
                for number in 1...12 {
                    _ = try screens.post(LockScreens.start("order-\(number)", state: #"{"step":\#(number)}"#))
                }
                let seen = try screens.phone()
                #expect(seen.states.count == 8)
                #expect(seen.notifications.count == 4)
                #expect(seen.notifications.allSatisfy { $0["title"]?.string == "Your order" })
                #expect(seen.ignored.isEmpty)
                let metrics = try HTTPExchange("GET", port: screens.gateway.port, "/metrics").answer().text
                #expect(metrics.contains("start_guarded"))
            }
        }

        @Test("C72: a start is stored for minutes under the activity's collapse id; of two at once one card comes up")
        func racingStarts() throws {
            try LockScreens.run { screens in
                let phone = try screens.registerStart()
                let laID = String(repeating: "é", count: 32)
                let exchanges = try (1...2).map {
                    try screens.gateway.begin(LockScreens.start(laID, state: #"{"step":\#($0)}"#))
                }
                for exchange in exchanges {
                    #expect(try exchange.answer().json["ActionStatus"]?.string == "OK")
                }
                try screens.gateway.expectSQL(
                    "SELECT string_agg(reason, ',') FROM pending WHERE account IS NOT NULL",
                    "update_token_awaited"
                )
                #expect(try screens.lockScreen().states.count == 1)
                let pushes = try screens.simulator.pushes()
                #expect(pushes.count == 1)
                let expiration = try #require(try screens.headers("apns-expiration").first ?? nil)
                let minutes = ((Int64(expiration) ?? 0) - (try screens.gateway.now())) / 60
                #expect(1...5 ~= minutes)
                let collapseID = try #require(try screens.headers("apns-collapse-id").first ?? nil)
                #expect(1...64 ~= collapseID.utf8.count)
                // The second start becomes an update of the one card.
                try screens.register(activity: laID, phone)
                let seen = try screens.phone()
                #expect(seen.states.count == 1 && seen.ignored.isEmpty)
                #expect(try screens.payloads().map { $0["event"]?.string } == ["start", "update"])
            }
        }

        // MARK: - Updates

        @Test(
            "C63: any relevance score of an activity passes as the number it is",
            arguments: ["100", "0", "-1", "75.5"]
        )
        func relevance(score: String) throws {
            try LockScreens.run { screens in
                try screens.register()
                _ = try screens.post(update(1, laID: "order-1", members: #""RelevanceScore":\#(score)"#))
                let seen = try screens.phone()
                #expect(seen.states == [#"{"step":1}"#] && seen.ignored.isEmpty)
                #expect(seen.activities.first?["relevanceScore"]?.double == Double(score))
                #expect(try screens.payloads().map { $0["relevance-score"]?.text } == [score])
            }
        }

        @Test("C68: the sound of an update lies in its alert, that of the notification in its place beside the alert")
        func sound() throws {
            try LockScreens.run { screens in
                try screens.register()
                try screens.register("bob", phone: "phone-2", laID: nil)
                var message = update(
                    1,
                    laID: "order-1",
                    members: #""Alert":{"title":"Ride 7","body":"is here","sound":"ding.aiff"}"#,
                )
                message.recipients = ["alice", "bob"]
                message.apnsMembers = #""Sound":"ding.aiff""#
                _ = try screens.post(message)
                let seen = try screens.phone()
                let alert = seen.activities.first?["alert"]
                #expect(alert?["title"]?.string == "Ride 7" && alert?["sound"]?.string == "ding.aiff")
                #expect(seen.notifications.isEmpty && seen.ignored.isEmpty)
                let other = try screens.phone("phone-2")
                #expect(other.activities.isEmpty && other.notifications.count == 1)
                #expect(other.notifications.first?["sound"]?.string == "ding.aiff")
                let payloads = try screens.payloads()
                let activity = try #require(payloads.first { $0["event"] != nil })
                #expect(activity["alert"]?["sound"]?.string == "ding.aiff" && activity["sound"] == nil)
                let fallback = try #require(payloads.first { $0["event"] == nil })
                #expect(fallback["alert"]?["sound"] == nil && fallback["sound"]?.string == "ding.aiff")
            }
        }

        @Test(
            "C71: of 600 updates the phone shows the last: 60 go with priority 10 in an hour, then 5, none is throttled"
        )
        func manyUpdates() throws {
            try LockScreens.run(flags: ["--activity-interval", "0.002"]) { screens in
                try screens.register()
                let hour = try screens.gateway.now() / 3600
                for step in 1...600 {
                    _ = try screens.post(update(step, laID: "order-1"))
                }
                let seen = try screens.phone()
                #expect(seen.states == [#"{"step":600}"#])
                #expect(seen.activities.first?["state"]?.string == "active")
                let priorities = try screens.headers("apns-priority")
                #expect(priorities.allSatisfy { $0 == "10" || $0 == "5" })
                // A new hour has a new budget.
                if try screens.gateway.now() / 3600 == hour {
                    #expect(seen.ignored.isEmpty, "\(Set(seen.ignored))")
                    #expect(priorities.prefix(60).allSatisfy { $0 == "10" })
                    #expect(priorities.count > 60 && priorities.dropFirst(60).allSatisfy { $0 == "5" })
                }
                let outcomes = "SELECT count(*) FROM delivery WHERE outcome IN ('accepted_by_apns', 'superseded')"
                #expect(try screens.gateway.sql(outcomes) == "600")
            }
        }

        @Test("C71: sixty updates at once are a few pushes, of which the phone shows the last")
        func burst() throws {
            try LockScreens.run(flags: PacingTests.paced) { screens in
                try screens.register()
                for step in 1...60 {
                    _ = try screens.post(update(step, laID: "order-1"))
                }
                let seen = try screens.phone()
                #expect(seen.states == [#"{"step":60}"#] && seen.ignored.isEmpty)
                let count = try screens.simulator.pushes().count
                #expect(2...20 ~= count)
            }
        }
    }
}
