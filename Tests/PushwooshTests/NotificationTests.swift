import ContentSchema
import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import Pushwoosh

@Suite("Notifications of startLiveActivity and updateLiveActivity", .timeLimit(.minutes(1)))
struct NotificationTests {
    @Test("a start without an event is one; its attributes keep their bytes and get the activity's id")
    func start() async throws {
        let text = try ValidNotification.start.breaking(#""event":"start","#, "")
            .breaking(#"{"id":7}"#, #"{ "id" : 7.0 , "s":{}}"#)
        let order = try #require(try await Backend().orders("startLiveActivity", text).first)
        let start = try #require(order.order.activity?.content.start)
        #expect(start.attributesType == "Ride")
        let expected = #"{ "id" : 7.0 , "s":{},"pushwoosh":{"activityId":"ride-7"}}"#
        #expect(String(decoding: start.attributes, as: UTF8.self) == expected)
        #expect(order.order.lifetime == 604_800)
        #expect(order.order.sender == "XXXXX-XXXXX")
        #expect(order.order.endpoint == "startLiveActivity")
        #expect(order.digest == nil)
    }

    @Test("attributes that have the activity's id stay as they are")
    func ownID() async throws {
        let own = #"{"pushwoosh":{"activityId":"x"}}"#
        let text = try ValidNotification.start.breaking(#"{"id":7}"#, own)
        let order = try #require(try await Backend().orders("startLiveActivity", text).first)
        #expect(order.order.activity?.content.start?.attributes == Array(own.utf8))
    }

    private static let registered = PushToken.of(0xAB)
    private static let token = registered.hexadecimal

    @Test(
        "C71: the priority is 10 only where 10 was given",
        arguments: [("10", 10), ("10.0", 10), ("5", nil), ("7", nil), (#""10""#, nil), ("null", nil), ("{}", nil)]
            as [(String, Int?)]
    )
    func priority(value: String, priority: Int?) async throws {
        let text = try ValidNotification.start.breaking(#""apns_priority":10"#, #""apns_priority":\#(value)"#)
        let activity = try #require(try await Backend().orders("startLiveActivity", text).first?.order.activity)
        #expect(activity.priority == priority)
        #expect(activity.priorityRule == .caller)
    }

    @Test(
        "who gets it: users before devices before a filter; without any a start goes to everyone, an update to the activity",
        arguments: [
            (#""filter":"F""#, [], .segments(all: ["F"], any: [])),
            (#""filter_code":"F""#, [], .segments(all: ["F"], any: [])),
            (#""users":["a","b","a"],"devices":["x"],"filter":"F""#, ["a", "b"], nil),
            (#""users":null,"filter":"","filter_code":null,"devices":["\#(token)"]"#, [], .devices([registered])),
            (#""x":1"#, [], .everyone),
        ] as [(String, [String], Audience?)]
    )
    func target(fields: String, recipients: [String], audience: Audience?) async throws {
        let text = try ValidNotification.start.breaking(#""filter":"F""#, fields)
        let order = try #require(try await Backend().orders("startLiveActivity", text).first?.order)
        #expect(order.recipients == recipients)
        #expect(order.audience == audience)
        let update = try #require(
            try await Backend().orders("updateLiveActivity", ValidNotification.update).first?.order
        )
        #expect(update.audience == .activity("ride-7"))
    }

    @Test("devices are tokens, or hwids of registered phones, each once")
    func devices() async throws {
        let backend = try Backend()
        let token = try PushToken(bytes: [UInt8](repeating: 0xAB, count: 32))
        backend.gateway.tokens = ["hwid-1": token]
        let other = String(repeating: "CD", count: 32)
        let list = #""devices":["hwid-1","\#(token.hexadecimal)","\#(other)"]"#
        let text = try ValidNotification.start.breaking(#""filter":"F""#, list)
        let order = try #require(try await backend.orders("startLiveActivity", text).first?.order)
        #expect(order.audience == .devices([token, try PushToken(parsing: other)]))
    }

    @Test("the oldest form of an update names activities by their tokens: an order for each, all with one code")
    func tokens() async throws {
        let backend = try Backend()
        let tokens = try (1...5).map { try PushToken(bytes: [UInt8](repeating: UInt8($0), count: 80)) }
        // U+00E9 and e with U+0301 are the same to Swift, and two activities to PostgreSQL.
        for (token, account, laID) in [
            (tokens[0], "alice", "\u{E9}"), (tokens[1], "bob", "\u{E9}"), (tokens[2], "alice", "\u{E9}"),
            (tokens[3], "carol", "e\u{301}"),
        ] {
            backend.gateway.activities[token] = RegisteredActivity(account: account, laID: laID)
        }
        let list = (tokens + tokens).map { "\"\($0.hexadecimal)\"" }.joined(separator: ",")
        let update = try ValidNotification.update
            .breaking(#""live_activity_id":"ride-7""#, #""live_activity_push_tokens":[\#(list)]"#)
            .breaking(#""live_activity":"#, #""ios_live_activity":"#)
        let answer = try await backend.post("updateLiveActivity", Backend.request([update, ValidNotification.end]))
        #expect(answer["status_code"]?.integer == 200, "\(answer["status_message"]?.string ?? "")")
        let orders = backend.gateway.planned.map(\.order)
        #expect(orders.map(\.recipients) == [["alice", "bob"], ["carol"], []])
        #expect(
            orders.map { Array(($0.activity?.laID ?? "").utf8) }
                == ["\u{E9}", "e\u{301}", "ride-7"].map { Array($0.utf8) }
        )
        #expect(orders.map { $0.audience == nil } == [true, true, false])
        let codes = try #require(answer["response"]?["Messages"]?.elements).compactMap(\.string)
        #expect(codes.count == 2 && codes[0] != codes[1])
        #expect(orders.map(\.messageKey) == [codes[0], codes[0], codes[1]])
        #expect(
            answer["response"]?["UnknownDevices"]?[codes[0]]?.elements.map(\.string) == [tokens[4].hexadecimal]
        )
    }

    @Test(
        "tokens of activities with one thing wrong",
        arguments: [
            ("[]", ": must not be empty"), (#"["zz"]"#, "[0]: is no token"), (#""x""#, ": must be an array"),
            (#"["\#(String(repeating: "0a", count: 80))"]"#, ": no phone has registered any of them"),
        ]
    )
    func wrongTokens(list: String, fault: String) async throws {
        let update = try ValidNotification.update
            .breaking(#""live_activity_id":"ride-7""#, #""live_activity_push_tokens":\#(list)"#)
        try await Backend().expectRefusal(
            "updateLiveActivity",
            update,
            field: "notifications[0].live_activity_push_tokens" + fault,
        )
    }

    @Test("beside an id, only tokens of that activity count")
    func tokensAndID() async throws {
        let backend = try Backend()
        let tokens = try (1...2).map { try PushToken(bytes: [UInt8](repeating: UInt8($0), count: 80)) }
        backend.gateway.activities = [
            tokens[0]: RegisteredActivity(account: "alice", laID: "ride-7"),
            tokens[1]: RegisteredActivity(account: "bob", laID: "ride-8"),
        ]
        let list = tokens.map { "\"\($0.hexadecimal)\"" }.joined(separator: ",")
        let update = try ValidNotification.update
            .breaking(#""ride-7""#, #""ride-7","live_activity_push_tokens":[\#(list)]"#)
        let order = try #require(try await backend.orders("updateLiveActivity", update).first?.order)
        #expect(order.recipients == ["alice"] && order.activity?.laID == "ride-7")
    }

    @Test("C68: an update alerts only with a text, and its sound stands inside the alert")
    func alert() async throws {
        let sound = #""ios_sound":"ding.aiff","#
        let silent = "{" + sound + ValidNotification.update.dropFirst()
        let aps = try await Backend().orders("updateLiveActivity", silent).first?.payload()["aps"]
        #expect(aps?["alert"] == nil)
        #expect(aps?["sound"] == nil)
        for name in ["content", "title", "subtitle"] {
            let text = #"{"\#(name)":"Text","# + sound + ValidNotification.update.dropFirst()
            let order = try #require(try await Backend().orders("updateLiveActivity", text).first)
            let aps = try #require(try order.payload()["aps"])
            #expect(aps["alert"]?[name == "content" ? "body" : name]?.string == "Text")
            // A phone shows nothing of a subtitle alone.
            #expect(aps["alert"]?["body"]?.string == (name == "title" ? nil : "Text"))
            #expect(aps["alert"]?["sound"]?.string == "ding.aiff")
            #expect(aps["sound"] == nil)
            #expect(!order.order.notification.isEmpty)
            #expect(order.order.notification.sound == "ding.aiff")
        }
        let order = try await Backend().orders("updateLiveActivity", ValidNotification.update).first?.order
        #expect(order?.notification.isEmpty == true)
    }

    @Test(
        "C64: an end without a date leaves it to the system, one without a state is taken, and dates pass as they are"
    )
    func end() async throws {
        let date = #","dismissal-date":1780410000"#
        for (part, replacement, dismissal) in [
            (date, "", nil), (date, #","dismissal-date":0"#, 0), (date, date, 1_780_410_000),
            (#","content-state":{"n":3}"#, "", 1_780_410_000),
        ] as [(String, String, Int64?)] {
            let text = try ValidNotification.end.breaking(part, replacement)
            let aps = try #require(try await Backend().orders("updateLiveActivity", text).first?.payload()["aps"])
            #expect(aps["event"]?.string == "end")
            #expect(aps["dismissal-date"]?.integer == dismissal)
            #expect((aps["content-state"] == nil) == part.contains("content-state"))
        }
    }

    @Test("several notifications: a code each, in order; one that is wrong refuses all")
    func several() async throws {
        let orders = try await Backend().orders("updateLiveActivity", ValidNotification.update, ValidNotification.end)
        #expect(orders.map(\.order.activity?.content.event) == [.update, .end])
        let wrong = try ValidNotification.update.breaking(#""event":"update""#, #""event":"start""#)
        try await Backend().expectRefusal(
            "updateLiveActivity",
            ValidNotification.update,
            wrong,
            field: "notifications[1].live_activity.event: must be update or end",
        )
    }

    @Test(
        "what is wrong with a start is told with the field",
        arguments: [
            (#""content":"C","title":"T""#, #""content":"","subtitle":"S""#, ".content: "),
            (#""content":"C""#, #""content":7"#, ".content: "), (#""ride-7""#, "\"\"", ".live_activity_id: "),
            (#","live_activity_id":"ride-7""#, "", ".live_activity_id: "),
            (#""ride-7""#, "\"\(String(repeating: "é", count: 33))\"", ".live_activity_id: has 66 bytes"),
            (#""event":"start""#, #""event":"Start""#, ".live_activity.event: "),
            (#""content-state":{"n":1.0},"#, "", ".live_activity.content-state: "),
            (#"{"n":1.0}"#, "[]", ".live_activity.content-state: "),
            (#""attributes-type":"Ride","#, "", ".live_activity.attributes-type: "),
            (#","attributes":{"id":7}"#, "", ".live_activity.attributes: "),
            (#"{"id":7}"#, "null", ".live_activity.attributes: "), (#""filter":"F""#, #""filter":1"#, ".filter: "),
            (#""filter":"F""#, #""devices":[]"#, ".devices: "), (#""filter":"F""#, #""devices":"x""#, ".devices: "),
            (#""filter":"F""#, #""devices":["x",1]"#, ".devices[1]: "),
            (#""filter":"F""#, #""users":[""]"#, ".users[0]: "),
            (#""filter":"F""#, #""filter":"F","live_activity_push_tokens":["x"]"#, ".live_activity_push_tokens: "),
            (#""filter":"F""#, #""filter":"F","send_date":"tomorrow""#, ".send_date: "),
            (#""n":1.0"#, #""n":"\#(String(repeating: "x", count: 4096))""#, ".live_activity: the push has "),
        ]
    )
    func wrongStart(part: String, replacement: String, field: String) async throws {
        let text = try ValidNotification.start.breaking(part, replacement)
        try await Backend().expectRefusal("startLiveActivity", text, field: "notifications[0]" + field)
    }

    @Test(
        "what is wrong with an update is told with the field",
        arguments: [
            (#""event":"update","#, "", ".event: "), (#""event":"update""#, #""event":"start""#, ".event: "),
            (#""content-state":{"n":2},"#, "", ".content-state: "),
            ("60", "0", ".relevance-score: "), ("60", "1.5", ".relevance-score: "),
            ("60", #""60""#, ".relevance-score: "),
            (
                "1780410000", "1780410000000",
                ".stale-date: looks like milliseconds; in Unix seconds it would be 1780410000"
            ),
            ("1780410000", "-1", ".stale-date: "), ("1780410000", "1.5", ".stale-date: "),
        ]
    )
    func wrongUpdate(part: String, replacement: String, field: String) async throws {
        let text = try ValidNotification.update.breaking(part, replacement)
        try await Backend().expectRefusal("updateLiveActivity", text, field: "notifications[0].live_activity" + field)
    }

    @Test("users and devices: 1000 at most")
    func longLists() async throws {
        for (count, isTaken) in [(1000, true), (1001, false)] {
            let list = #""users":[\#((0..<count).map { "\"u\($0)\"" }.joined(separator: ","))]"#
            let text = try ValidNotification.start.breaking(#""filter":"F""#, list)
            if isTaken {
                #expect(try await Backend().orders("startLiveActivity", text).first?.order.recipients.count == 1000)
            } else {
                try await Backend().expectRefusal("startLiveActivity", text, field: "notifications[0].users: has 1001")
            }
        }
    }

    @Test(
        "a target that is there and names nobody is refused: a variable that nobody has set does not mean everybody",
        arguments: [
            (#""filter":"""#, "filter"), (#""filter":null"#, "filter"), (#""filter_code":"""#, "filter_code"),
            (#""users":null"#, "users"), (#""users":"""#, "users"), (#""devices":null"#, "devices"),
            (#""filter":null,"users":null"#, "users"),
        ]
    )
    func unsetTarget(fields: String, field: String) async throws {
        let start = try ValidNotification.start.breaking(#""filter":"F""#, fields)
        try await Backend().expectRefusal("startLiveActivity", start, field: "notifications[0].\(field): must ")
        let update = "{" + fields + "," + ValidNotification.update.dropFirst()
        try await Backend().expectRefusal("updateLiveActivity", update, field: "notifications[0].\(field): must ")
    }

    @Test("a start asks for an update token where the phone's iOS is known to give none unasked")
    func updateToken() async throws {
        let order = try #require(try await Backend().orders("startLiveActivity", ValidNotification.start).first)
        for (system, asks) in [
            (IOSVersion(major: 18, minor: 0), true), (IOSVersion(major: 17, minor: 6), false), (nil, false),
        ] {
            let aps = try order.payload(on: system)["aps"]
            #expect(aps?["input-push-token"]?.integer == (asks ? 1 : nil))
            #expect(aps?["input-push-channel"] == nil)
        }
    }

    @Test(
        "C67: a start without a title or a content has the other one for both, and that is told",
        arguments: [
            (#""content":"C""#, "title"), (#""title":"T""#, "content"), (#""content":" ","title":"T""#, "content"),
        ]
    )
    func oneText(texts: String, missing: String) async throws {
        let backend = try Backend()
        let text = try ValidNotification.start.breaking(#""content":"C","title":"T""#, texts)
        let answer = try await backend.post("startLiveActivity", Backend.request([text]))
        #expect(Self.warnings(of: answer) == ["notifications[0].\(missing) alert_incomplete"])
        let planned = try #require(backend.gateway.planned.first)
        let alert = try planned.payload()["aps"]?["alert"]
        #expect(alert?["title"]?.string == alert?["body"]?.string)
        #expect(alert?["title"]?.string == (missing == "title" ? "C" : "T"))
        #expect((planned.order.notification.title == nil) != (planned.order.notification.body == nil))
    }

    /// Field and code of each.
    private static func warnings(of answer: JSONValue) -> [String] {
        (answer["response"]?["Warnings"]?.elements ?? []).map { warning in
            "\(warning["Field"]?.string ?? "") \(warning["Code"]?.string ?? "")"
        }
    }

    @Test(
        "what is ignored, or reaches nobody, is told",
        arguments: [
            (
                "update", #""content-state":{"n":2}"#, #""content-state":{},"timestamp":1,"title":"t","alert":{}"#,
                [".live_activity.timestamp unknown_field", ".live_activity.alert unknown_field"]
            ),
            ("update", #"{"live_activity":"#, #"{"ios_sound":"ding","live_activity":"#, [".ios_sound alert_empty"]),
            ("update", #"{"live_activity":"#, #"{"ios_sound":"ding","content":"C","live_activity":"#, []),
            ("update", #""ride-7""#, #""ride-8""#, [".live_activity_id activity_unknown"]),
            (
                "update", #""ride-7""#, #""ride-8","send_date":"2026-06-03 12:00""#,
                [".live_activity.stale-date stale_date_past"]
            ),
            ("update", #""ride-7""#, #""ride-8","users":["a"]"#, []),
            ("end", #""content-state":{"n":3},"#, "", [".live_activity.content-state content_state_missing"]),
            (
                "end", #""dismissal-date""#, #""attributes":{},"dismissal-date""#,
                [".live_activity.attributes unknown_field"]
            ),
            ("start", #""filter":"F""#, #""filter":"G""#, [".filter segment_empty"]),
            (
                "start", #""attributes-type""#, #""priority":10,"attributes-type""#,
                [".live_activity.priority unknown_field"]
            ),
        ] as [(String, String, String, [String])]
    )
    func told(event: String, part: String, replacement: String, warnings: [String]) async throws {
        let valid = [
            "start": ValidNotification.start, "update": ValidNotification.update, "end": ValidNotification.end,
        ]
        let text = try (try #require(valid[event])).breaking(part, replacement)
        let method = event == "start" ? "startLiveActivity" : "updateLiveActivity"
        let answer = try await Backend().post(method, Backend.request([text]))
        #expect(answer["status_code"]?.integer == 200, "\(answer["status_message"]?.string ?? "")")
        #expect(Self.warnings(of: answer) == warnings.map { "notifications[0]" + $0 })
    }

    @Test("a device token that no phone has registered is sent to all the same, and named")
    func unknownTokens() async throws {
        let backend = try Backend()
        backend.gateway.tokens = ["hwid-1": Self.registered]
        let other = PushToken.of(0xCD)
        let list = #""devices":["hwid-1","nobody","\#(other.hexadecimal)"]"#
        let text = try ValidNotification.start.breaking(#""filter":"F""#, list)
        let answer = try await backend.post("startLiveActivity", Backend.request([text]))
        let code = try #require(answer["response"]?["Messages"]?.elements.first?.string)
        let unknown = answer["response"]?["UnknownDevices"]?[code]?.elements.map(\.string)
        #expect(unknown == ["nobody", other.hexadecimal])
        #expect(backend.gateway.planned.first?.order.audience == .devices([Self.registered, other]))
    }

    @Test("what a schema says takes the place of guesses, and the gateway's own member is not told")
    func schema() async throws {
        let model = """
            {"format": 1, "attributesType": "Ride", "attributes": "A", "contentState": "S",
             "types": {"A": {"fields": [{"key": "startedAt", "type": "Int"}]}, "S": {"fields": []}}}
            """
        let schema = StoredSchema(
            version: 1,
            fromAppVersion: nil,
            schema: try ActivitySchema(parsing: Array(model.utf8)),
        )
        let backend = try Backend()
        backend.gateway.app.contentSchemas = ContentSchemas(rules: ContentRules(), types: ["Ride": [schema]])
        let text = try ValidNotification.start.breaking(#""id":7"#, #""startedAt":1780401600,"more":1"#)
            .breaking(#""n":1.0"#, #""eta":1780401600"#)
        let answer = try await backend.post("startLiveActivity", Backend.request([text]))
        #expect(
            Self.warnings(of: answer) == [
                "notifications[0].live_activity.content-state.eta unknown_member",
                "notifications[0].live_activity.attributes.more unknown_member",
            ]
        )
    }

    @Test("C65: what has no effect is told in Warnings, and not sent")
    func warnings() async throws {
        let backend = try Backend()
        let text = try ValidNotification.update.breaking(#""n":2"#, #""n":2},"dismissal-date":1780410000,"x":{"#)
        let answer = try await backend.post("updateLiveActivity", Backend.request([text]))
        let warning = try #require(answer["response"]?["Warnings"]?.elements.first)
        #expect(warning["Field"]?.string == "notifications[0].live_activity.dismissal-date")
        #expect(warning["Code"]?.string == "dismissal_date_ignored")
        #expect(try backend.gateway.planned.first?.payload()["aps"]?["dismissal-date"] == nil)
    }
}
