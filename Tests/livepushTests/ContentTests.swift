import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What arrives at APNs, byte by byte and header by header.
    @Suite
    struct ContentTests {
        private static let states = [
            #"{"a":0.1,"b":129.9,"c":68.32,"d":5.02,"e":1.0,"f":100,"g":9007199254740993,"h":1e2,"i":-0.0,"#
                + #""j":0.10000000000000001,"u":"\u00e9 é 👨‍👩‍👧","s":"a/b"}"#,
            #"{"flag":true,"n":1,"z":0,"f":false,"nothing":null,"list":[true,1,[],{}]}"#,
            "{}",
        ]

        @Test("C78, C80: ContentState arrives with the same bytes", arguments: states)
        func contentStateArrivesAsItWas(state: String) throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                try gateway.send { $0.contentState = state }
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.token == phone.activityToken)
                #expect(Array((push.contentState ?? "").utf8) == Array(state.utf8))
            }
        }

        @Test("C78: blanks outside of strings may go, inside they stay")
        func blanksInsideStringsStay() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.send { $0.contentState = "{ \"a b\" : [ 1.0 ,\n \" x  y \" ] }" }
                let push = try gateway.peer.exactly(1)[0]
                let bytes = (push.contentState ?? "").filter { !$0.isWhitespace }
                #expect(bytes == #"{"ab":[1.0,"xy"]}"#)
                #expect(push.body.contains(#"" x  y ""#))
            }
        }

        @Test("C38: header names are lower-case, none is doubled or of HTTP/1.1, secrets are never indexed")
        func headersAreThoseOfHTTP2() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.register("bob", phone: "phone-2", laID: nil)
                try gateway.send { $0.recipients = ["alice", "bob"] }
                let pushes = try gateway.peer.exactly(2)
                #expect(Set(pushes.map(\.pushType)) == ["liveactivity", "alert"])
                for push in pushes {
                    let names = push.headers.map(\.name)
                    #expect(names.allSatisfy { $0 == $0.lowercased() })
                    #expect(Set(names).count == names.count)
                    #expect(Set(names).isDisjoint(with: ["connection", "transfer-encoding", "keep-alive", "upgrade"]))
                    #expect(push.status == 200)
                }
                for connection in try gateway.peer.connections() {
                    #expect(connection["problem"]?.kind == .null, "\(connection.text)")
                    #expect(connection["serverName"]?.string == "localhost")
                }
            }
        }

        @Test("C47: the topic of an activity has its suffix, the topic of a fallback has none")
        func topicsFollowThePushType() throws {
            try GatewayUnderTest.run { gateway in
                let alice = try gateway.register()
                let bob = try gateway.register("bob", phone: "phone-2", laID: nil)
                try gateway.send { $0.recipients = ["alice", "bob"] }
                let pushes = try gateway.peer.exactly(2)
                let activity = try #require(pushes.first { $0.token == alice.activityToken })
                #expect(activity["apns-topic"] == "com.ex.app.push-type.liveactivity")
                #expect(activity["apns-push-type"] == "liveactivity")
                #expect(activity["apns-priority"] == "10")
                let fallback = try #require(pushes.first { $0.token == bob.deviceToken })
                #expect(fallback["apns-topic"] == "com.ex.app")
                #expect(fallback["apns-push-type"] == "alert")
                for push in pushes {
                    let parts = (push["authorization"] ?? "").split(separator: ".")
                    #expect(parts.count == 3 && parts.last?.count == 86)
                    #expect(Double(push["apns-expiration"] ?? "").map { $0 > push.received } == true)
                }
            }
        }

        @Test("C56, C67: the key is event, and nothing stands beside what Apple names, alert least of all")
        func keysAreApples() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.send()
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.payload.members.map(\.key) == ["aps"])
                #expect(Set(try #require(push.aps).members.map(\.key)) == ["timestamp", "event", "content-state"])
                #expect(push.event == "update")
            }
        }

        @Test("C57: the timestamp is the gateway's, whole Unix seconds, whatever the caller gives")
        func timestampIsTheGateways() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                let answer = try gateway.post(
                    TestMessage {
                        $0.activityMembers = #""timestamp":1796007172000"#
                        $0.contentState = #"{"timestamp":1796007172000}"#
                    }
                )
                #expect(answer["ActionStatus"]?.string == "OK")
                let warned = answer["Warnings"]?.elements.compactMap { $0["Code"]?.string }
                #expect(warned == ["date_as_milliseconds", "unknown_field"], "\(answer.text)")
                let push = try gateway.peer.exactly(1)[0]
                let timestamp = try #require(push.timestamp)
                // The times around it rather than a margin: a busy machine is slow, not wrong.
                let query = "SELECT floor(extract(epoch FROM accepted_at)) FROM message"
                #expect(Double(timestamp) >= (try #require(Double(try gateway.sql(query)))))
                #expect(Double(timestamp) <= push.received)
                #expect(push.contentState == #"{"timestamp":1796007172000}"#)
            }
        }

        @Test("C58: a message that waited carries the time of its sending")
        func timestampIsTakenAtSending() throws {
            try GatewayUnderTest.run(flags: ["--retry-schedule", "1"]) { gateway in
                let phone = try gateway.register()
                try gateway.peer.answer(phone.activityToken, .status(503, times: 0))
                try gateway.send()
                try gateway.expectSQL("SELECT now() > accepted_at + interval '4 s' FROM message", "t")
                try gateway.peer.answer(phone.activityToken)
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                let push = try #require(try gateway.peer.pushes().last)
                #expect(push.status == 200)
                // Compared with the times around it rather than with a margin: a loaded machine is slow, not wrong.
                let query = "SELECT extract(epoch FROM accepted_at) FROM message"
                let accepted = try #require(Double(try gateway.sql(query)))
                let timestamp = Double(try #require(push.timestamp))
                #expect(timestamp >= accepted + 2)
                #expect(timestamp <= push.received)
            }
        }

        /// MsgLifeTime in seconds, and the lives of a notification and of an update in seconds.
        struct Lifetime: Sendable, CustomTestStringConvertible {
            let given: Int64?
            let notification: Double
            let update: Double
            var testDescription: String { given.map(String.init) ?? "absent" }
        }

        @Test(
            "C73: apns-expiration is always there: MsgLifeTime, else seven days, an update at most its activity's hours",
            arguments: [
                Lifetime(given: nil, notification: 604_800, update: 28_800),
                Lifetime(given: 3600, notification: 3600, update: 3600),
            ],
        )
        func expirationFollowsTheLifetime(lifetime: Lifetime) throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.register("bob", phone: "phone-2", laID: nil)
                let before = try #require(
                    Double(try gateway.sql("SELECT extract(epoch FROM started_at) FROM live_activity"))
                )
                try gateway.send {
                    $0.recipients = ["alice", "bob"]
                    $0.lifetime = lifetime.given
                }
                let pushes = try gateway.peer.exactly(2)
                for (type, seconds) in [("liveactivity", lifetime.update), ("alert", lifetime.notification)] {
                    let push = try #require(pushes.first { $0.pushType == type })
                    let expiration = try #require(Double(push["apns-expiration"] ?? ""))
                    #expect(expiration >= (before + seconds).rounded(.down))
                    #expect(expiration <= push.received + seconds)
                }
            }
        }

        @Test("C73: MsgLifeTime 0 pushes nothing, and that is written down")
        func noLifetimeNoPush() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.send { $0.lifetime = 0 }
                try gateway.expectSQL("SELECT outcome FROM delivery", "suppressed")
                _ = try gateway.peer.exactly(0)
            }
        }

        /// What `end` says, and what dismissal-date it must come out as, relative to now where it is nil.
        struct Dismissal: Sendable, CustomTestStringConvertible {
            let given: Int64?
            let isRelative: Bool
            let isWarned: Bool
            var testDescription: String { "\(given.map(String.init) ?? "absent")\(isRelative ? " from now" : "")" }
        }

        @Test(
            "C64: an end keeps its DismissalDate, and without one the card goes now",
            arguments: [
                Dismissal(given: nil, isRelative: false, isWarned: false),
                Dismissal(given: 0, isRelative: false, isWarned: false),
                Dismissal(given: 3600, isRelative: true, isWarned: false),
                Dismissal(given: 9_999_999, isRelative: true, isWarned: true),
            ],
        )
        func endCarriesItsDismissalDate(dismissal: Dismissal) throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                let now = try #require(Int64(try gateway.sql("SELECT floor(extract(epoch FROM now()))::bigint")))
                let given = dismissal.given.map { dismissal.isRelative ? now + $0 : $0 }
                let answer = try gateway.post(
                    TestMessage {
                        $0.event = "end"
                        $0.dismissalDate = given.map(String.init)
                    }
                )
                #expect(answer["ActionStatus"]?.string == "OK")
                #expect((answer["Warnings"] != nil) == dismissal.isWarned, "\(answer.text)")
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.event == "end")
                let sent = try #require(push.aps?["dismissal-date"]?.integer)
                if let given {
                    #expect(sent == given)
                } else {
                    #expect(Double(sent) <= push.received, "in the past, so that the card goes now")
                    #expect(Double(sent) >= push.received - 10)
                }
            }
        }

        @Test(
            "C64: a DismissalDate that no clock shows is refused",
            arguments: ["-5", "1.5", "1796007172000", "817699972"]
        )
        func badDismissalDateIsRefused(date: String) throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                let answer = try gateway.post(
                    TestMessage {
                        $0.event = "end"
                        $0.dismissalDate = date
                    }
                )
                #expect(answer["ErrorCode"]?.integer == 90_043)
                #expect(answer["ErrorInfo"]?.string?.contains("DismissalDate") == true)
                _ = try gateway.peer.exactly(0)
            }
        }

        @Test("C65: an update sends no DismissalDate and warns")
        func updateSendsNoDismissalDate() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                let now = try gateway.sql("SELECT floor(extract(epoch FROM now()))::bigint")
                let answer = try gateway.post(TestMessage { $0.dismissalDate = now })
                #expect(answer["ActionStatus"]?.string == "OK")
                #expect(answer["Warnings"]?.elements.first?["Field"]?.string?.contains("DismissalDate") == true)
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.aps?["dismissal-date"] == nil)
            }
        }

        @Test("C82: text and slashes travel unescaped")
        func textIsNotEscaped() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register("alice", laID: nil)
                let title = String(repeating: "推", count: 1200)
                let link = "https://ex.com" + String(repeating: "/a", count: 40)
                try gateway.send {
                    $0.title = title
                    $0.desc = nil
                    $0.ext = link
                }
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.body.utf8.count <= 4096)
                #expect(push.aps?["alert"]?["title"]?.string == title)
                #expect(push.payload["ext"]?.string == link)
                #expect(!push.body.contains("\\"))
            }
        }

        @Test("C83: 4096 bytes go out, 4097 are refused before anything is sent")
        func payloadLimitIsExact() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.send { $0.contentState = #"{"pad":""}"# }
                let overhead = try gateway.peer.exactly(1)[0].body.utf8.count
                let state = { (size: Int) in #"{"pad":"\#(String(repeating: "x", count: size - overhead))"}"# }
                try gateway.send { $0.contentState = state(4096) }
                #expect(try gateway.peer.exactly(2)[1].body.utf8.count == 4096)

                let answer = try gateway.post(
                    TestMessage {
                        $0.contentState = state(4097)
                        $0.recipients = ["alice", "bob"]
                    }
                )
                #expect(answer["ErrorCode"]?.integer == 90_043)
                #expect(answer["ErrorInfo"]?.string?.contains("4097") == true, "\(answer.text)")
                _ = try gateway.peer.exactly(2)
                #expect(try gateway.sql("SELECT count(*) FROM message") == "2")
            }
        }
    }
}
