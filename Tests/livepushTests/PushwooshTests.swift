import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Pushwoosh's API, for backends and phones.
    @Suite
    struct PushwooshTests {
        private static let app = "\(GatewayUnderTest.sdkAppID)"
        private static let code = "A1B2C-3D4E5"

        /// A gateway whose app has a code and two tokens.
        private final class Bench {
            let gateway: GatewayUnderTest
            let server: String
            let device: String

            init(_ gateway: GatewayUnderTest) throws {
                self.gateway = gateway
                try gateway.succeed("app", "code", "add", "--sdk-app-id", app, "--code", code, "--business-id", "1")
                func token(_ scope: String) throws -> String {
                    try gateway.succeed("app", "token", "add", "--sdk-app-id", app, "--name", scope, "--scope", scope)
                        .trimmed
                }
                server = try token("server")
                device = try token("device")
            }

            func call(_ method: String, _ body: String, headers: [String] = []) throws -> JSONValue {
                let path = "/json/1.3/\(method)"
                let exchange = try HTTPExchange("POST", port: try gateway.port, path, headers: headers, body: body)
                return try exchange.answer().json
            }

            /// Sends a notification that must be accepted.
            ///
            /// - Returns: its code.
            @discardableResult
            func send(_ method: String, _ notification: String) throws -> String {
                let answer = try call(
                    method,
                    #"{"request":{"application":"\#(code)","auth":"\#(server)","notifications":[\#(notification)]}}"#,
                )
                #expect(answer["status_code"]?.integer == 200, "\(answer.text)")
                return answer["response"]?["Messages"]?.elements.first?.string ?? ""
            }

            /// A call of the SDK that must succeed.
            func sdk(_ method: String, _ fields: String, hwid: String = "HW-1", user: String? = "alice") throws {
                let user = user.map { #""userId":"\#($0)","# } ?? ""
                let base = #""application":"\#(code)","hwid":"\#(hwid)",\#(user)"v":"6.8.0","device_type":1"#
                let answer = try call(
                    method,
                    #"{"request":{\#(base)\#(fields)}}"#,
                    headers: ["Authorization: Token \(device)"],
                )
                #expect(answer["status_code"]?.integer == 200, "\(answer.text)")
            }
        }

        private func run(_ test: (Bench) throws -> Void) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let bench = try Bench(gateway)
            try gateway.serve()
            try test(bench)
        }

        private static func start(_ target: String, more: String = "") -> String {
            """
            {"content":"is being prepared","title":"Order 7",\(more)"live_activity":{"event":"start",\
            "content-state":{"step":0},"attributes-type":"Order","attributes":{"number":"A7"}},\
            "live_activity_id":"order-7",\(target)}
            """
        }

        private static func update(_ event: String, _ step: Int, more: String = "") -> String {
            """
            {\(more)"live_activity":{"event":"\(event)","content-state":{"step":\(step)}},"live_activity_id":"order-7"}
            """
        }

        @Test("An update of the oldest form reaches the activities that have the tokens, whatever they are called")
        func byTokens() throws {
            try run { bench in
                let gateway = bench.gateway
                let phones = [
                    try gateway.register("alice", phone: "phone-1", laID: "order-7"),
                    try gateway.register("bob", phone: "phone-2", laID: "order-8"),
                    try gateway.register("carol", phone: "phone-3", laID: "order-7"),
                ]
                let unknown = TestPhone.token(bytes: 80)
                let tokens = [phones[0].activityToken, phones[1].activityToken, unknown]
                let answer = try bench.call(
                    "updateLiveActivity",
                    """
                    {"request":{"application":"\(Self.code)","auth":"\(bench.server)","notifications":[{"ios_live_activity":\
                    {"event":"update","content-state":{"step":1}},"live_activity_push_tokens":\(tokens)}]}}
                    """,
                )
                #expect(answer["status_code"]?.integer == 200, "\(answer.text)")
                let code = try #require(answer["response"]?["Messages"]?.elements.first?.string)
                #expect(answer["response"]?["UnknownDevices"]?[code]?.elements.map(\.string) == [unknown])
                let pushes = try gateway.peer.exactly(2)
                #expect(Set(pushes.map(\.token)) == Set(tokens.dropLast()))
                #expect(pushes.allSatisfy { $0.contentState == #"{"step":1}"# })
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let record = try gateway.phone("administrator", "GET", "/v1/messages/\(code)")
                #expect(record["messages"]?.elements.count == 2)
            }
        }

        @Test("C68, C71: an app that was pointed here registers, is started, updated and ended, as Pushwoosh would")
        func life() throws {
            try run { bench in
                let gateway = bench.gateway
                let phone = TestPhone(installation: "HW-1")
                let startToken = TestPhone.token(bytes: 64)
                try bench.sdk("registerDevice", #","push_token":"\#(phone.deviceToken)","language":"en""#, user: nil)
                let start = #","activity_push_to_start_token":"\#(startToken)""#
                try bench.sdk("setActivityPushToStartToken", start, user: nil)
                // Somebody logs in, and the device token is registered again only when the app starts.
                try bench.sdk("registerUser", "")
                #expect(try gateway.sql("SELECT account FROM device") == "alice")

                let code = try bench.send("startLiveActivity", Self.start(#""users":["alice"]"#))
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.token == startToken)
                #expect(push["apns-priority"] == "5")
                #expect(push.aps?["attributes-type"]?.string == "Order")
                #expect(push.aps?["attributes"]?.text == #"{"number":"A7","pushwoosh":{"activityId":"order-7"}}"#)
                #expect(push.aps?["alert"]?.text == #"{"title":"Order 7","body":"is being prepared"}"#)
                let shown = try gateway.phone("administrator", "GET", "/v1/messages/\(code)")
                #expect(shown["messages"]?.elements.first?["endpoint"]?.string == "startLiveActivity")

                let activity = #","activity_token":"\#(phone.activityToken)","activity_id":"order-7""#
                try bench.sdk("setActivityToken", activity)
                try bench.send("updateLiveActivity", Self.update("update", 1))
                let silent = try gateway.peer.exactly(2)[1]
                #expect(silent.token == phone.activityToken)
                #expect(silent["apns-priority"] == "5")
                #expect(silent.aps?["alert"] == nil)
                try bench.send(
                    "updateLiveActivity",
                    Self.update("update", 2, more: #""subtitle":"Soon","ios_sound":"ding.aiff","apns_priority":10,"#),
                )
                let loud = try gateway.peer.exactly(3)[2]
                #expect(loud["apns-priority"] == "10")
                #expect(loud.aps?["alert"]?.text == #"{"subtitle":"Soon","body":"Soon","sound":"ding.aiff"}"#)
                try bench.send("updateLiveActivity", Self.update("end", 3))
                let end = try gateway.peer.exactly(4)[3]
                #expect(end["apns-priority"] == "5")
                #expect(end.aps?["dismissal-date"] == nil)
                #expect(end.aps?["event"]?.string == "end")
                try gateway.expectSQL(
                    "SELECT DISTINCT dialect, sender, outcome FROM recent_deliveries",
                    "pushwoosh|\(Self.code)|accepted_by_apns",
                )
            }
        }

        @Test(
            "An update reaches every phone that has the activity; one whose token is dead falls back only with a text"
        )
        func everyPhone() throws {
            try run { bench in
                let gateway = bench.gateway
                let phones = try (1...3).map { number in
                    try gateway.register("user-\(number)", phone: "phone-\(number)", laID: "order-7")
                }
                try gateway.peer.answer(phones[2].activityToken, .status(410, "Unregistered"))
                try bench.send("updateLiveActivity", Self.update("update", 1))
                try gateway.expectDeliveries(
                    "user-1|phone-1|live_activity||accepted_by_apns|",
                    "user-2|phone-2|live_activity||accepted_by_apns|",
                    "user-3|phone-3|live_activity||token_dead|Unregistered",
                    "user-3||none|fallback|nothing_to_send|",
                )
            }
        }

        @Test(
            "C51: an update or end straight after the start to a segment of 1,200 waits for all of it, and reaches all",
            arguments: ["update", "end"]
        )
        func straightAfterStart(event: String) throws {
            try run { bench in
                let gateway = bench.gateway
                try gateway.sql(
                    """
                    INSERT INTO start_token (sdk_app_id, account, attributes_type, installation, token, business_id,
                        environment)
                    SELECT \(Self.app), 'user-' || number, 'Order', 'phone-' || number,
                        sha256(convert_to('start ' || number, 'UTF8')), 1, 'sandbox'
                    FROM generate_series(1, 1200) AS number;
                    INSERT INTO segment (sdk_app_id, name, account)
                    SELECT \(Self.app), 'F', 'user-' || number FROM generate_series(1, 1200) AS number
                    """
                )
                try bench.send("startLiveActivity", Self.start(#""filter":"F""#))
                try bench.send("updateLiveActivity", Self.update(event, 1))
                let awaiting = """
                    SELECT count(*) FROM pending JOIN message ON id = message_id
                    WHERE account IS NOT NULL AND event = '\(event)' AND reason = 'update_token_awaited'
                    """
                try gateway.expectSQL(awaiting, "1200", within: 30)
                #expect(
                    try gateway.sql(
                        "SELECT audience, state, listed FROM fan_outs ORDER BY message_id"
                    ) == "segments|listed|1200\nactivity|listed|1200"
                )
                #expect(try gateway.peer.exactly(1200).allSatisfy { $0.event == "start" })
            }
        }

        @Test("An update does not wait for a start that gets no further, and says so")
        func startNeverDecided() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let bench = try Bench(gateway)
            try gateway.serve(["--start-expiration", "1", "--start-token-wait", "0.5"])
            try gateway.register("alice", laID: "order-7")
            let start = try gateway.sql(
                """
                INSERT INTO pending (message_id, accepted_at, sdk_app_id, due, deadline, content, starts)
                VALUES (nextval('message_id'), now(), \(Self.app), now() + interval '1 hour', now() + interval '1 day',
                    '{}', 'order-7') RETURNING message_id
                """
            )
            try bench.send("updateLiveActivity", Self.update("update", 1))
            try gateway.expectSQL("SELECT reason FROM pending WHERE starts IS NULL", "start_undecided", within: 1)
            _ = try gateway.peer.exactly(1)
            try gateway.expectSQL(
                "SELECT outcome, undecided_start = \(start.prefix { $0.isNumber }) FROM fan_out",
                "listed|t"
            )
        }

        @Test("C91: a dead token with a text becomes a notification")
        func fallback() throws {
            try run { bench in
                let gateway = bench.gateway
                let phone = try gateway.register("alice", laID: "order-7")
                try gateway.peer.answer(phone.activityToken, .status(410, "Unregistered"))
                let text = #""content":"Here","ios_sound":"a.aiff","#
                try bench.send("updateLiveActivity", Self.update("update", 1, more: text))
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes[1].token == phone.deviceToken)
                #expect(pushes[1].aps?["alert"]?["body"]?.string == "Here")
                #expect(pushes[1].aps?["sound"]?.string == "a.aiff")
            }
        }

        @Test("Devices by token and hwid, and a segment; who is not meant gets nothing")
        func targets() throws {
            try run { bench in
                let gateway = bench.gateway
                let phones = try (1...4).map { try gateway.register("user-\($0)", phone: "phone-\($0)", laID: nil) }
                try gateway.sql("INSERT INTO segment (sdk_app_id, name, account) VALUES (\(Self.app), 'F', 'user-3')")
                let answer = try bench.call(
                    "startLiveActivity",
                    """
                    {"request":{"application":"\(Self.code)","auth":"\(bench.server)","notifications":[\
                    \(Self.start(#""devices":["phone-1","\#(phones[1].deviceToken)","nobody"]"#)),\
                    \(Self.start(#""filter":"F""#))]}}
                    """,
                )
                #expect(answer["status_code"]?.integer == 200, "\(answer.text)")
                let code = answer["response"]?["Messages"]?.elements.first?.string ?? ""
                #expect(answer["response"]?["UnknownDevices"]?[code]?.elements.map(\.string) == ["nobody"])
                // None has a start token: notifications take the place.
                let pushes = try gateway.peer.exactly(3)
                #expect(Set(pushes.map(\.token)) == Set(phones[0...2].map(\.deviceToken)))
            }
        }

        @Test("send_date in a time zone waits, is listed, and several notifications are stored together or not at all")
        func scheduled() throws {
            try run { bench in
                let gateway = bench.gateway
                let tomorrow = try gateway.sql(
                    "SELECT to_char(now() AT TIME ZONE 'Asia/Kolkata' + interval '1 day', 'YYYY-MM-DD HH24:MI')"
                )
                let date = #""send_date":"\#(tomorrow)","timezone":"Asia/Kolkata","#
                let code = try bench.send("startLiveActivity", Self.start(#""users":["alice"]"#, more: date))
                #expect(
                    try gateway.sql(
                        "SELECT msg_key, dialect, send_at - accepted_at > interval '23 hours 58 minutes' FROM scheduled"
                    ) == "\(code)|pushwoosh|t"
                )
                try gateway.failStatements(on: "scheduled_message", when: "NEW.la_id = 'order-7'")
                let body = """
                    {"request":{"application":"\(Self.code)","auth":"\(bench.server)","notifications":[\
                    \(Self.update("update", 1)),\(Self.start(#""users":["alice"]"#, more: date))]}}
                    """
                #expect(try bench.call("updateLiveActivity", body)["status_code"]?.integer == 210)
                let both = body.replacing(#""event":"start""#, with: #""event":"update""#)
                #expect(try bench.call("updateLiveActivity", both)["status_code"]?.integer == 500)
                #expect(try gateway.sql("SELECT count(*) FROM message") == "0")
                #expect(try gateway.sql("SELECT count(*) FROM scheduled") == "1")
            }
        }

        @Test("Logging in and out: the phone goes with its user, what began before goes along, another's does not")
        func users() throws {
            try run { bench in
                let gateway = bench.gateway
                func accounts() throws -> String {
                    try gateway.sql(
                        """
                        SELECT string_agg(account, ',' ORDER BY kind, la_id)
                        FROM (SELECT account, kind, la_id FROM registrations ORDER BY kind, la_id) AS own
                        """
                    )
                }
                func activity(_ id: String, _ user: String?) throws {
                    let token = TestPhone.token(bytes: 80)
                    try bench.sdk(
                        "setActivityToken",
                        #","activity_token":"\#(token)","activity_id":"\#(id)""#,
                        user: user
                    )
                }
                try bench.sdk("registerDevice", #","push_token":"\#(TestPhone.token(bytes: 32))""#, user: nil)
                try activity("order-1", nil)
                #expect(try accounts() == "HW-1,HW-1")
                try activity("order-2", "alice")
                #expect(try accounts() == "alice,alice,alice")
                try activity("order-3", "bob")
                #expect(try gateway.sql("SELECT la_id FROM live_activity WHERE account = 'bob'") == "order-3")
                #expect(try accounts() == "bob,bob")
                let transfers = "SELECT from_account, to_account FROM registration_transfer ORDER BY id"
                #expect(try gateway.sql(transfers) == "HW-1|alice\nalice|bob")

                try bench.sdk("setActivityToken", #","activity_token":"","activity_id":"order-9""#, user: "bob")
                #expect(try accounts() == "bob,bob")
                try bench.sdk("setActivityToken", #","activity_id":"""#, user: "bob")
                #expect(try accounts() == "bob")
                try bench.sdk("unregisterDevice", "", user: "bob")
                #expect(try gateway.sql("SELECT count(*) FROM registrations") == "0")
            }
        }

        @Test("A device token is refused for an activity: it would take no updates")
        func tokenOfOtherKind() throws {
            try run { bench in
                let token = TestPhone.token(bytes: 32)
                try bench.sdk("registerDevice", #","push_token":"\#(token)""#)
                let base = #""application":"\#(Self.code)","hwid":"HW-1","userId":"alice""#
                let answer = try bench.call(
                    "setActivityToken",
                    #"{"request":{\#(base),"activity_token":"\#(token)","activity_id":"order-1"}}"#,
                    headers: ["Authorization: Token \(bench.device)"],
                )
                #expect(answer["status_code"]?.integer == 210)
                #expect(answer["status_message"]?.string?.hasPrefix("activity_token: is registered as") == true)
                #expect(try bench.gateway.sql("SELECT count(*) FROM live_activity") == "0")
            }
        }

        @Test("What the HTTP server refuses by itself has a numeric status_code too, whatever refuses it")
        func serverRefusals() throws {
            try run { bench in
                let port = try bench.gateway.port
                let large = String(repeating: "x", count: 300_000)
                for path in ["/json/1.3/updateLiveActivity", "/json/1.3/nothing", "/json"] {
                    let answer = try HTTPExchange("POST", port: port, path, body: large).answer()
                    #expect(answer.status == 413)
                    #expect(try answer.json["status_code"]?.integer == 400, "\(answer.text)")
                    #expect(try answer.json["response"]?.kind == .null)
                }
                let head = try HTTPExchange("POST", port: port, "/json/1.3/x", headers: ["Content-Length: x"]).answer()
                #expect(head.status == 400)
                #expect(try head.json["status_code"]?.integer == 400, "\(head.text)")
                let other = try HTTPExchange("POST", port: port, "/v1/x", body: large).answer()
                #expect(try other.json["error"]?["code"]?.string == "body_too_large")
            }
        }

        @Test("Codes and tokens: listed without the token, only of their app, taken away at once")
        func commands() throws {
            try run { bench in
                let gateway = bench.gateway
                let codes = try gateway.succeed("app", "code", "list")
                #expect(codes.contains("\(Self.code)  app \(Self.app)  certificate 1"))
                let list = try gateway.succeed("app", "token", "list")
                #expect(list.contains("server"))
                #expect(!list.contains(bench.server))
                let again = ["app", "token", "add", "--sdk-app-id", Self.app, "--name", "server", "--scope", "server"]
                #expect(try gateway.livepush(again).status == 1)
                let unknown = ["app", "code", "add", "--sdk-app-id", Self.app, "--code", "B", "--business-id", "9"]
                #expect(try gateway.livepush(unknown).status == 1)
                try gateway.succeed("app", "token", "remove", "--sdk-app-id", Self.app, "--name", "server")
                let body = """
                    {"request":{"application":"\(Self.code)","auth":"\(bench.server)","notifications":[\
                    \(Self.update("end", 1))]}}
                    """
                let isForbidden = try eventually(within: 10) {
                    try bench.call("updateLiveActivity", body)["status_code"]?.integer == 403
                }
                #expect(isForbidden)
                try gateway.succeed("app", "code", "remove", "--sdk-app-id", Self.app, "--code", Self.code)
                #expect(try gateway.succeed("app", "code", "list").isEmpty)
            }
        }

        @Test(
            "PyPI's pypushwoosh, with commands of the caller's own, starts and updates",
            .enabled(if: Paths.python != nil, "Deploy/test makes .build/python, with the client in it"),
        )
        func pythonClient() throws {
            let python = try #require(Paths.python)
            try run { bench in
                let phone = try bench.gateway.register("alice", laID: "order-7")
                let client = try ChildProcess.run(
                    python,
                    [
                        "\(Paths.peers)/pypushwoosh_client.py", "127.0.0.1:\(try bench.gateway.port)", Self.code,
                        bench.server,
                    ],
                    input: """
                        [["updateLiveActivity",[\(Self.update("update", 1)),\(Self.update("end", 2))]],\
                        ["startLiveActivity",[\(Self.start(#""users":["bob"]"#))]],\
                        ["updateLiveActivity",[\(Self.update("start", 1))]]]
                        """,
                )
                #expect(client.status == 0, "\(client.errors)")
                let answers = try JSONDocument(parsing: Array(client.output.utf8)).root.elements
                #expect(answers.map { $0["status_code"]?.integer } == [200, 200, 210], "\(client.output)")
                #expect(answers.map { $0["response"]?["Messages"]?.elements.count ?? 0 } == [2, 1, 0])
                try bench.gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let pushes = try bench.gateway.peer.pushes(1)
                #expect(pushes.allSatisfy { $0.token == phone.activityToken })
            }
        }
    }
}
