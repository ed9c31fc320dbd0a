import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What notifications and silent pushes carry, and which phones get them.
    @Suite
    struct NotificationTests {
        private static func badges(_ pushes: [PeerPush]) -> [Int64?] {
            pushes.map { $0.aps?["badge"]?.integer }
        }

        @Test("the number on the icon counts from what the phone reported, and an app in front gets no notification")
        func badgeAndPresence() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register(laID: nil)
                try gateway.send { $0.laID = nil }
                #expect(Self.badges(try gateway.peer.exactly(1)) == [1])

                let left = try gateway.report("alice", "background", of: phone, unread: 4)
                #expect(left.text == #"{"applied":true}"#)
                for members in [nil, #""BadgeAddNum":"10""#, #""BadgeSetNum":3"#, nil] {
                    try gateway.send {
                        $0.laID = nil
                        $0.pushMembers = members
                    }
                    try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                }
                try gateway.send {
                    $0.laID = nil
                    $0.apnsMembers = #""BadgeMode":1"#
                }
                #expect(Self.badges(try gateway.peer.exactly(6)) == [1, 5, 15, 3, 4, nil])

                let entered = try gateway.report("alice", "foreground", of: phone)
                let until = try #require(entered["foregroundUntil"]?.integer)
                #expect(try gateway.now()...(try gateway.now() + 301) ~= until)
                try gateway.send { $0.laID = nil }
                try gateway.expectSQL("SELECT outcome FROM delivery ORDER BY message_id DESC LIMIT 1", "foreground")
                _ = try gateway.peer.exactly(6)

                try gateway.report("alice", "background", of: phone)
                try gateway.send { $0.laID = nil }
                #expect(Self.badges(try gateway.peer.exactly(7)).last == 1)
            }
        }

        @Test("an app in front still gets its Live Activity pushes, which count on no badge")
        func liveActivityInFront() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                try gateway.report("alice", "foreground", of: phone)
                try gateway.send { $0.pushMembers = #""BadgeSetNum":9"# }
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.token == phone.activityToken)
                #expect(push.aps?["badge"] == nil)
                #expect(try gateway.sql("SELECT badge FROM device") == "0")
            }
        }

        @Test("C68, C92: a fallback has each phone's language and number, and its sound at aps.sound")
        func languageOfFallback() throws {
            try GatewayUnderTest.run { gateway in
                let languages = ["zh-Hant-TW", "zh-Hans-CN", "en_GB", nil]
                let phones = try languages.enumerated().map { index, language in
                    let phone = TestPhone(installation: "phone-\(index)")
                    let more = language.map { #","language":"\#($0)""# } ?? ""
                    try gateway.register("alice", device: phone, more: more)
                    try gateway.report("alice", "background", of: phone, unread: index)
                    return phone
                }
                try gateway.send {
                    $0.pushMembers = #"""
                        "MultiLanguageContent":[{"Language":"zh","Title":"简","Desc":"体"},
                        {"Language":"zh_tw","Title":"繁"},{"Language":"EN","Desc":"is coming"}]
                        """#
                    $0.apnsMembers = #""Sound":"ding.aiff""#
                }
                let pushes = try gateway.peer.exactly(4)
                let expected = [
                    ("繁", "is on its way"), ("简", "体"), ("Your order", "is coming"), ("Your order", "is on its way"),
                ]
                for (index, phone) in phones.enumerated() {
                    let push = try #require(pushes.first { $0.token == phone.deviceToken })
                    #expect(push.aps?["alert"]?["title"]?.string == expected[index].0)
                    #expect(push.aps?["alert"]?["body"]?.string == expected[index].1)
                    #expect(push.aps?["badge"]?.integer == Int64(index) + 1)
                    #expect(push.aps?["sound"]?.string == "ding.aiff")
                }
            }
        }

        @Test("a silent push wakes the app and nothing else, though the app is in front and notifications are denied")
        func silentPush() throws {
            try GatewayUnderTest.run { gateway in
                let phone = TestPhone(installation: "phone-1")
                try gateway.register("alice", device: phone, more: #","notificationPermission":"denied""#)
                try gateway.report("alice", "foreground", of: phone)
                let answer = try gateway.post(
                    TestMessage {
                        $0.laID = nil
                        $0.title = nil
                        $0.desc = nil
                        $0.ext = "wake"
                        $0.apnsMembers = #""ContentAvailable":1"#
                    }
                )
                #expect(answer["ActionStatus"]?.string == "OK")
                #expect(answer["Warnings"] == nil)
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.body == #"{"aps":{"content-available":1},"ext":"wake"}"#)
                #expect(push["apns-push-type"] == "background")
                #expect(push["apns-priority"] == "5")
                #expect(push["apns-topic"] == GatewayUnderTest.bundleID)
                try gateway.expectDeliveries("alice|phone-1|notification||accepted_by_apns|")
                let row = try gateway.sql("SELECT priority, priority_reason FROM recent_deliveries")
                #expect(row == "5|background")
            }
        }

        @Test("a retry carries the number of the first attempt; what came between has the next one")
        func retryKeepsItsBadge() throws {
            try GatewayUnderTest.run(flags: ["--retry-schedule", "1.5"]) { gateway in
                let phone = try gateway.register(laID: nil)
                try gateway.peer.answer(phone.deviceToken, .status(503, "ServiceUnavailable"))
                try gateway.send { $0.laID = nil }
                _ = try gateway.peer.pushes(1)
                try gateway.send { $0.laID = nil }
                let pushes = try gateway.peer.exactly(3)
                let byMessage = Dictionary(grouping: pushes) { $0["apns-id"] ?? "" }
                #expect(byMessage.values.map { Self.badges($0) }.sorted { $0.count < $1.count } == [[2], [1, 1]])
                #expect(try gateway.sql("SELECT badge FROM device") == "2")
            }
        }

        @Test("a message counts on no phone for whose language it has no text")
        func countsWhereItHasText() throws {
            try GatewayUnderTest.run { gateway in
                let (german, french) = (TestPhone(installation: "phone-1"), TestPhone(installation: "phone-2"))
                try gateway.register("alice", device: german, more: #","language":"de""#)
                try gateway.register("alice", device: french, more: #","language":"fr""#)
                try gateway.send {
                    $0.laID = nil
                    $0.title = nil
                    $0.desc = nil
                    $0.pushMembers = #""MultiLanguageContent":[{"Language":"de","Title":"Hallo"}]"#
                }
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.token == german.deviceToken)
                #expect(push.aps?["badge"]?.integer == 1)
                try gateway.expectDeliveries(
                    "alice|phone-1|notification||accepted_by_apns|",
                    "alice|phone-2|notification||nothing_to_send|",
                )
                #expect(try gateway.sql("SELECT installation, badge FROM device ORDER BY 1") == "phone-1|1\nphone-2|0")
            }
        }

        @Test("a retry to another phone counts on none whose app was in front when the message came")
        func retryCountsOnNoOther() throws {
            try GatewayUnderTest.run(flags: ["--retry-schedule", "1.5"]) { gateway in
                let (front, busy) = (TestPhone(installation: "phone-1"), TestPhone(installation: "phone-2"))
                try gateway.register("alice", device: front)
                try gateway.register("alice", device: busy)
                try gateway.report("alice", "foreground", of: front)
                try gateway.peer.answer(busy.deviceToken, .status(503, "ServiceUnavailable"))
                try gateway.send { $0.laID = nil }
                _ = try gateway.peer.pushes(1)
                try gateway.report("alice", "background", of: front, unread: 3)
                #expect(Self.badges(try gateway.peer.exactly(2)) == [1, 1])
                try gateway.expectDeliveries(
                    "alice|phone-1|notification||foreground|",
                    "alice|phone-2|notification||accepted_by_apns|",
                )
                #expect(try gateway.sql("SELECT installation, badge FROM device ORDER BY 1") == "phone-1|3\nphone-2|1")
            }
        }

        @Test("a message that is sent again after a crash is not counted again")
        func crashKeepsTheCount() throws {
            let flags = DurabilityTests.quickTakeover
            try GatewayUnderTest.run(flags: flags) { gateway in
                let phone = try gateway.register(laID: nil)
                try gateway.peer.answer(phone.deviceToken, .silence(times: 2))
                try gateway.send { $0.laID = nil }
                try gateway.send { $0.laID = nil }
                #expect(Self.badges(try gateway.peer.exactly(2)) == [1, 2])
                try gateway.crash()
                try gateway.serve(flags)
                _ = try gateway.peer.pushes(4, within: 30)
                try gateway.expectDeliveries(
                    "alice|phone-1|notification||accepted_by_apns|",
                    "alice|phone-1|notification||accepted_by_apns|",
                )
                #expect(try gateway.sql("SELECT badge FROM device") == "2")
                try gateway.send { $0.laID = nil }
                #expect(Self.badges(try gateway.peer.exactly(5)).last == 3)
            }
        }

        @Test("of many messages at once to one phone, each counts, and each has a number of its own")
        func burst() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register(laID: nil)
                let posts = try (0..<20).map { _ in try gateway.begin(TestMessage { $0.laID = nil }) }
                for post in posts {
                    #expect(try post.answer().json["ActionStatus"]?.string == "OK")
                }
                let pushes = try gateway.peer.exactly(20)
                #expect(Self.badges(pushes).compactMap { $0 }.sorted() == Array(1...20))
            }
        }
    }
}
