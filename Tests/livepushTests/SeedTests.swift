import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// The payloads and requests of public pages, sent through the gateway, to what is seen on the phone.
    @Suite
    struct SeedTests {
        /// What is said of an update, and the `aps` that is printed for it, without its timestamp.
        private struct Example {
            var event = "update"
            let state: String
            var members: String?
            var dismissalDate: String?
            let aps: String
        }

        private static let healthy = #"{"currentHealthLevel":0.941,"eventDescription":"Power Panda found a sword!"}"#
        private static let knocked =
            #"{"currentHealthLevel":0.0,"eventDescription":"Power Panda has been knocked down!"}"#
        private static let nap =
            #"{"currentHealthLevel":0.23,"eventDescription":"Adventure over! Power Panda is taking a nap."}"#
        private static let woods =
            #"{"currentHealthLevel":0.79,"eventDescription":"Egghead is in the woods and lost connection."}"#
        private static let plain =
            #"{"title":"Power Panda is knocked down!","body":"Use a potion to heal Power Panda!","sound":"default"}"#
        private static let localized = #"""
            {"title":{"loc-key":"%@ is knocked down!","loc-args":["Power Panda"]},\#
            "body":{"loc-key":"Use a potion to heal %@!","loc-args":["Power Panda"]},"sound":"HeroDown.mp4"}
            """#

        /// In the order of the page.
        private static let apples = [
            Example(state: healthy, aps: #""event":"update","content-state":\#(healthy)"#),
            Example(
                state: knocked,
                members: #""Alert":\#(plain)"#,
                aps: #""event":"update","content-state":\#(knocked),"alert":\#(plain)"#,
            ),
            Example(
                state: knocked,
                members: #""Alert":\#(localized)"#,
                aps: #""event":"update","content-state":\#(knocked),"alert":\#(localized)"#,
            ),
            Example(
                event: "end",
                state: nap,
                dismissalDate: "1685959200",
                aps: #""event":"end","dismissal-date":1685959200,"content-state":\#(nap)"#,
            ),
            Example(
                state: woods,
                members: #""StaleDate":1685959200"#,
                aps: #""event":"update","stale-date":1685959200,"content-state":\#(woods)"#,
            ),
            Example(
                state: healthy,
                members: #""RelevanceScore":100"#,
                aps: #""event":"update","relevance-score":100,"content-state":\#(healthy)"#,
            ),
        ]

        private func canonical(_ text: String) throws -> String {
            try JSONDocument(parsing: Array(text.utf8)).root.canonical
        }

        /// The payload of the latest push, with a timestamp that is checked and then the one given.
        private func latest(_ screens: LockScreens, timestamp: String = "1685952000") throws -> String {
            let push = try #require(try screens.simulator.pushes().last)
            #expect(push["status"]?.integer == 200)
            let payload = try #require(push["payload"])
            let own = try #require(payload["aps"]?["timestamp"]?.integer)
            #expect(abs(own - (try screens.gateway.now())) < 5)
            return try canonical(payload.text.replacing("\(own)", with: timestamp))
        }

        @Test("Apple's payloads leave the gateway as they are printed, and the phone shows what they say")
        func apple() throws {
            try LockScreens.run { screens in
                let phone = try screens.register(laID: nil)
                for (number, example) in Self.apples.enumerated() {
                    // Each activity has a token of its own.
                    let card = TestPhone(installation: phone.installation)
                    try screens.register(activity: "adventure-\(number)", card)
                    _ = try screens.post(
                        TestMessage {
                            $0.laID = "adventure-\(number)"
                            $0.event = example.event
                            $0.contentState = example.state
                            $0.activityMembers = example.members
                            $0.dismissalDate = example.dismissalDate
                        }
                    )
                    let seen = try screens.phone()
                    #expect(seen.states.last == example.state)
                    #expect(seen.ignored.isEmpty, "\(seen.ignored)")
                    #expect(try latest(screens) == canonical(#"{"aps":{"timestamp":1685952000,\#(example.aps)}}"#))
                }
                let cards = try screens.phone().activities
                #expect(
                    cards.map { $0["state"]?.string } == ["active", "active", "active", "dismissed", "stale", "active"]
                )
                for card in cards[1...2] {
                    #expect(card["alert"]?["title"]?.string == "Power Panda is knocked down!")
                    #expect(card["alert"]?["body"]?.string == "Use a potion to heal Power Panda!")
                }
                #expect(cards[1...2].map { $0["alert"]?["sound"]?.string } == ["default", "HeroDown.mp4"])
                #expect(cards[5]["relevanceScore"]?.double == 100)
                #expect(try screens.headers("apns-push-type").allSatisfy { $0 == "liveactivity" })
                let topics = try screens.headers("apns-topic")
                #expect(topics.allSatisfy { $0 == "\(GatewayUnderTest.bundleID).push-type.liveactivity" })
                #expect(try screens.headers("apns-priority").allSatisfy { $0 == "10" })
            }
        }

        @Test(
            "The payload builder's start, update and end, with every field that it has, are one card from first to last"
        )
        func payloadBuilder() throws {
            try LockScreens.run { screens in
                let phone = try screens.registerStart()
                let alert = #"{"title":"Your order","body":"Ana is on her way","sound":"default"}"#
                func send(_ event: String, _ state: String, _ members: String, dismissalDate: String? = nil) throws {
                    _ = try screens.post(
                        TestMessage {
                            $0.laID = "A1042"
                            $0.event = event
                            $0.contentState = state
                            $0.activityMembers = members + #","Alert":\#(alert)"#
                            $0.dismissalDate = dismissalDate
                        }
                    )
                }
                let stale = try screens.gateway.now() + 900
                let attributes = #"{"orderNumber":"A1042"}"#
                let fields = #""AttributesType":"RideAttributes","Attributes":\#(attributes),"InputPushToken":1"#
                let more = #""StaleDate":\#(stale),"RelevanceScore":50"#
                try send("start", #"{"driver":"Ana","minutes":12}"#, "\(fields),\(more)")
                var seen = try screens.phone()
                #expect(seen.states == [#"{"driver":"Ana","minutes":12}"#] && seen.ignored.isEmpty)
                let shared = #""alert":\#(alert),"relevance-score":50"#
                #expect(
                    try latest(screens)
                        == canonical(
                            #"""
                            {"aps":{"timestamp":1685952000,"event":"start","attributes-type":"RideAttributes",
                            "attributes":\#(attributes),"content-state":{"driver":"Ana","minutes":12},"input-push-token":1,
                            "stale-date":\#(stale),\#(shared)}}
                            """#
                        )
                )
                try screens.register(activity: "A1042", phone)
                try send("update", #"{"driver":"Ana","minutes":3}"#, more)
                seen = try screens.phone()
                #expect(seen.states == [#"{"driver":"Ana","minutes":3}"#] && seen.ignored.isEmpty)
                #expect(seen.activities[0]["staleDate"]?.integer == stale)
                #expect(
                    try latest(screens)
                        == canonical(
                            #"""
                            {"aps":{"timestamp":1685952000,"event":"update","content-state":{"driver":"Ana","minutes":3},
                            "stale-date":\#(stale),\#(shared)}}
                            """#
                        )
                )
                try send("end", #"{"driver":"Ana","minutes":0}"#, #""RelevanceScore":50"#, dismissalDate: "1685952000")
                seen = try screens.phone()
                #expect(seen.states == [#"{"driver":"Ana","minutes":0}"#] && seen.ignored.isEmpty)
                #expect(seen.activities[0]["state"]?.string == "dismissed")
                #expect(
                    try latest(screens)
                        == canonical(
                            #"""
                            {"aps":{"timestamp":1685952000,"event":"end","content-state":{"driver":"Ana","minutes":0},
                            "dismissal-date":1685952000,\#(shared)}}
                            """#
                        )
                )
            }
        }

        // MARK: - Pushwoosh's page

        private static func start(_ id: String, _ target: String, priority: String = #""apns_priority": 10,"#) -> String
        {
            """
            {
              "content": "Your order is being prepared",
              "title": "Food Delivery",
              \(priority)
              "live_activity": {
                "event": "start",
                "title": "Order status",
                "content-state": \(foodState),
                "attributes-type": "FoodDeliveryAttributes",
                "attributes": {}
              },
              "live_activity_id": "\(id)",
              \(target)
            }
            """
        }

        private static let foodState = #"{"status": "Third", "estimatedTime": "37 min", "emoji": "👨🍳"}"#
        private static let newState = #"{"status": "second 66", "estimatedTime": "66 min", "emoji": "👨"}"#
        private static let update = """
            {
              "apns_priority": 10,
              "title": "Live Activity Update",
              "live_activity": {"event": "update", "content-state": \(newState), "relevance-score": 60},
              "live_activity_id": "FIRST_LIVE_ACTIVITY"
            }
            """

        private static func payload(_ id: String) -> String {
            """
            {"aps":{"timestamp":1685952000,"event":"start","content-state":\(foodState),
            "attributes-type":"FoodDeliveryAttributes","attributes":{"pushwoosh":{"activityId":"\(id)"}},
            "alert":{"title":"Food Delivery","body":"Your order is being prepared"}}}
            """
        }

        @Test("Pushwoosh's requests start, schedule and update what the phones show, and are answered as on its page")
        func pushwoosh() throws {
            var apiToken = ""
            let prepare = { (gateway: GatewayUnderTest) in
                let app = ["--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                let code = ["app", "code", "add", "--code", "XXXXX-XXXXX", "--business-id", "1"] + app
                #expect(try gateway.livepush(code).status == 0)
                let token = ["app", "token", "add", "--name", "backend", "--scope", "server"] + app
                apiToken = try gateway.livepush(token).output.trimmed
                let segment = ["segment", "add", "--segment", "FILTER_NAME_1", "--account", "alice"] + app
                #expect(try gateway.livepush(segment).status == 0)
            }
            try LockScreens.run(prepare: prepare) { screens in
                func call(_ method: String, _ notification: String) throws -> JSONValue {
                    let body = """
                        {"request": {"application": "XXXXX-XXXXX", "auth": "\(apiToken)", "notifications": [\(notification)]}}
                        """
                    let port = try screens.gateway.port
                    return try HTTPExchange("POST", port: port, "/json/1.3/\(method)", body: body).answer().json
                }
                func accept(_ method: String, _ notification: String) throws -> JSONValue {
                    let answer = try call(method, notification)
                    #expect(answer["status_code"]?.integer == 200, "\(answer.text)")
                    #expect(answer["status_message"]?.string == "OK")
                    let code = try #require(answer["response"]?["Messages"]?.elements.first?.string)
                    #expect(code.wholeMatch(of: /[0-9A-F]{5}-[0-9A-F]{8}-[0-9A-F]{8}/) != nil, "\(code)")
                    return answer
                }
                let type = "FoodDeliveryAttributes"
                let alice = try screens.registerStart(phone: "phone-1", system: "17.4", attributesType: type)
                try screens.registerStart("bob", phone: "first_third", system: "17.4", attributesType: type)

                _ = try accept("startLiveActivity", Self.start("FIRST_LIVE_ACTIVITY", #""filter": "FILTER_NAME_1""#))
                #expect(try screens.phone().states == [Self.foodState])
                #expect(try latest(screens) == canonical(Self.payload("FIRST_LIVE_ACTIVITY")))
                #expect(try screens.headers("apns-priority") == ["10"])

                let devices = #""devices": ["first_third", "second_device"]"#
                let answer = try accept("startLiveActivity", Self.start("SECOND_LIVE_ACTIVITY", devices))
                let unknown = answer["response"]?["UnknownDevices"]?.members.first?.value
                #expect(unknown?.elements.map(\.string) == ["second_device"])
                #expect(try screens.phone("first_third").states == [Self.foodState])
                #expect(try latest(screens) == canonical(Self.payload("SECOND_LIVE_ACTIVITY")))

                // The date of the page has passed; what is left of it is that no date is too long ago.
                let target = #""filter": "FILTER_NAME_1", "send_date": "#
                func scheduled(_ date: String) -> String {
                    Self.start("THIRD_LIVE_ACTIVITY", target + #""\#(date)""#, priority: "")
                }
                let passed = try call("startLiveActivity", scheduled("2026-06-16 16:00"))
                #expect(passed["status_code"]?.integer == 210)
                #expect(passed["status_message"]?.string?.contains("send_date") == true, "\(passed.text)")
                let query = "SELECT to_char(now() AT TIME ZONE 'UTC' + interval '1 hour', 'YYYY-MM-DD HH24:MI')"
                _ = try accept("startLiveActivity", scheduled(try screens.gateway.sql(query)))
                #expect(try screens.phone().activities.count == 1)
                try screens.gateway.sql("UPDATE scheduled_message SET send_at = now()")
                try screens.gateway.expectSQL("SELECT count(*) FROM scheduled", "0")
                #expect(try screens.phone().states == [Self.foodState, Self.foodState])
                #expect(try latest(screens) == canonical(Self.payload("THIRD_LIVE_ACTIVITY")))
                #expect(try screens.headers("apns-priority") == ["10", "10", "5"])

                try screens.register(activity: "FIRST_LIVE_ACTIVITY", alice, attributesType: type)
                _ = try accept("updateLiveActivity", Self.update)
                let seen = try screens.phone()
                #expect(seen.states == [Self.newState, Self.foodState])
                #expect(seen.ignored.isEmpty && seen.notifications.isEmpty, "\(seen.ignored)")
                #expect(seen.activities[0]["relevanceScore"]?.double == 60)
                #expect(seen.activities[0]["alert"]?["title"]?.string == "Live Activity Update")
                #expect(
                    try latest(screens)
                        == canonical(
                            """
                            {"aps":{"timestamp":1685952000,"event":"update","content-state":\(Self.newState),
                            "relevance-score":60,"alert":{"title":"Live Activity Update"}}}
                            """
                        )
                )
                #expect(try screens.headers("apns-priority") == ["10", "10", "5", "10"])
                #expect(try screens.lockScreen("first_third").states == [Self.foodState])

                // An end without a state leaves the card with that of the update before it.
                _ = try accept(
                    "updateLiveActivity",
                    #"{"live_activity":{"event":"end"},"live_activity_id":"FIRST_LIVE_ACTIVITY"}"#,
                )
                let ended = try screens.phone()
                #expect(ended.states == [Self.newState, Self.foodState])
                #expect(ended.activities.map { $0["state"]?.string } == ["ended", "active"])
                #expect(ended.ignored.isEmpty)
            }
        }
    }
}
