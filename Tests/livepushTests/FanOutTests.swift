import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Messages to audiences: who gets them, and what survives crashes.
    @Suite
    struct FanOutTests {
        // MARK: - Many

        @Test("2,500 phones on which an activity runs are reached once each, and the record says how many they were")
        func everybodyIsReachedOnce() throws {
            try GatewayUnderTest.run { gateway in
                let tokens = try gateway.registerMany(2500)
                let key = try gateway.accept(#"{"kind":"activity","laId":"match"}"#)
                let pushes = try gateway.peer.exactly(2500, quiet: 1, within: 60)
                #expect(Set(pushes.map(\.token)) == tokens)
                #expect(pushes.allSatisfy { $0.event == "update" && $0.contentState == #"{"step":1}"# })
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    try gateway.sql("SELECT count(*), count(DISTINCT account) FROM delivery WHERE apns_status = 200")
                        == "2500|2500"
                )
                #expect(try gateway.sql("SELECT msg_key, state, listed FROM fan_outs") == "\(key)|listed|2500")
                #expect(try gateway.sql("SELECT recipients FROM message") == "2500")
                let record = try gateway.record(of: key)
                #expect(record["fanOut"]?["state"]?.string == "listed")
                #expect(record["fanOut"]?["outcomes"]?["accepted_by_apns"]?.integer == 2500)
                #expect(record["recipients"]?.elements.count == 1000)
            }
        }

        @Test("A crash amid a chunk: another instance goes on after the cursor, nobody is left out, and nobody doubled")
        func crashAmidAChunk() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let victim = try gateway.serve(DurabilityTests.quickTakeover + ["--apns-request-timeout", "60"])
            let tokens = try gateway.registerMany(1300)
            // Of the second chunk, which cannot be finished.
            let silent = try gateway.activityToken(of: 700)
            try gateway.peer.answer(silent, .silence())
            try gateway.accept(#"{"kind":"activity","laId":"match"}"#)
            try gateway.expectSQL("SELECT count(*) FROM delivery", "999")
            #expect(try gateway.sql("SELECT listed, state FROM fan_outs") == "500|under way")
            let survivor = try gateway.serve(DurabilityTests.quickTakeover)
            victim.program.end(SIGKILL)

            try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 60)
            let pushes = try gateway.peer.exactly(1301, quiet: 1)
            #expect(Set(pushes.map(\.token)) == tokens)
            let repeated = pushes.filter { $0.token == silent }
            #expect(repeated.map(\.status) == [nil, 200])
            #expect(Set(repeated.compactMap { $0["apns-id"] }).count == 1)
            #expect(try gateway.sql("SELECT count(*), count(DISTINCT account) FROM delivery") == "1300|1300")
            #expect(try gateway.sql("SELECT listed, state FROM fan_outs") == "1300|listed")
            #expect(survivor.program.status == nil)
        }

        @Test("Killed at any moment, a fan-out reaches everybody, and each push keeps its id")
        func killedAtAnyMoment() throws {
            try GatewayUnderTest.run(flags: DurabilityTests.quickTakeover) { gateway in
                let tokens = try gateway.registerMany(4000)
                try gateway.accept(#"{"kind":"activity","laId":"match"}"#)
                for _ in 0..<2 {
                    let before = try gateway.peer.pushes().count
                    _ = try gateway.peer.pushes(min(before + 700, 3900), within: 30)
                    try gateway.crash()
                    try gateway.serve(DurabilityTests.quickTakeover)
                }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 60)
                let pushes = try gateway.peer.pushes()
                #expect(Set(pushes.map(\.token)) == tokens)
                #expect(Set(pushes.compactMap { $0["apns-id"] }).count == 4000)
                #expect(try gateway.sql("SELECT count(*), count(DISTINCT account) FROM delivery") == "4000|4000")
                #expect(try gateway.sql("SELECT listed, state FROM fan_outs") == "4000|listed")
            }
        }

        @Test("A newer update ends the older one, which says so; everybody gets the newer state")
        func newerEndsOlder() throws {
            try GatewayUnderTest.run(flags: ["--apns-request-timeout", "10"]) { gateway in
                let tokens = try gateway.registerMany(1200)
                try gateway.peer.answer(try gateway.activityToken(of: 100), .silence())
                let older = try gateway.accept(#"{"kind":"activity","laId":"match"}"#)
                try gateway.expectSQL("SELECT count(*) FROM delivery", "499")
                let newer = try gateway.accept(#"{"kind":"activity","laId":"match"}"#, state: #"{"step":2}"#)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 60)
                #expect(
                    try gateway.sql("SELECT msg_key, state, listed, ended_by FROM fan_outs ORDER BY message_id")
                        == "\(older)|superseded|500|\(newer)\n\(newer)|listed|1200|"
                )
                let pushes = try gateway.peer.pushes()
                #expect(Set(pushes.filter { $0.contentState == #"{"step":2}"# }.map(\.token)) == tokens)
                #expect(pushes.filter { $0.contentState == #"{"step":1}"# && $0.status == 200 }.count == 499)
                let record = try gateway.record(of: older)["fanOut"]
                #expect(record?["state"]?.string == "superseded" && record?["endedBy"]?.string == newer)
            }
        }

        @Test("What says something aloud is not ended by a newer one: each recipient is accounted for")
        func alertsAreNotEnded() throws {
            try GatewayUnderTest.run(flags: ["--apns-request-timeout", "10"]) { gateway in
                try gateway.registerMany(600)
                try gateway.peer.answer(try gateway.activityToken(of: 100), .silence())
                let audience = #"{"kind":"activity","laId":"match"}"#
                let older = try gateway.accept(audience, alert: #"{"title":"Goal","body":"1:0"}"#)
                try gateway.expectSQL("SELECT count(*) FROM delivery", "499")
                try gateway.accept(audience, state: #"{"step":2}"#)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 60)
                #expect(try gateway.sql("SELECT state, listed FROM fan_outs") == "listed|600\nlisted|600")
                let outcomes = """
                    SELECT count(DISTINCT account) FROM recent_deliveries
                    WHERE msg_key = '\(older)' AND outcome IN ('accepted_by_apns', 'superseded')
                    """
                #expect(try gateway.sql(outcomes) == "600")
            }
        }

        @Test("A message to one account goes out at once while a fan-out is under way")
        func othersGoThrough() throws {
            try GatewayUnderTest.run(flags: ["--apns-request-timeout", "60"]) { gateway in
                try gateway.registerMany(1500)
                let alice = try gateway.register(phone: "alice-1")
                try gateway.peer.answer(try gateway.activityToken(of: 100), .late(8))
                try gateway.accept(#"{"kind":"activity","laId":"match"}"#)
                try gateway.expectSQL("SELECT count(*) FROM delivery", "499")
                try gateway.send()
                try gateway.expectSQL(
                    "SELECT outcome FROM delivery WHERE account = 'alice'",
                    "accepted_by_apns",
                    within: 2
                )
                #expect(try gateway.sql("SELECT state FROM fan_outs") == "under way")
                try gateway.expectSQL("SELECT state FROM fan_outs", "listed", within: 30)
                let pushes = try gateway.peer.exactly(1501)
                #expect(pushes.filter { $0.token == alice.activityToken }.count == 1)
            }
        }

        @Test("On SIGTERM a fan-out stops after its chunk, and another instance goes on")
        func terminationHandsOver() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let first = try gateway.serve()
            let tokens = try gateway.registerMany(1200)
            try gateway.peer.answer(try gateway.activityToken(of: 100), .late(8))
            try gateway.accept(#"{"kind":"activity","laId":"match"}"#)
            try gateway.expectSQL("SELECT count(*) FROM delivery", "499")
            try gateway.serve()
            first.program.signal(SIGTERM)
            try gateway.expectSQL("SELECT state FROM fan_outs", "listed", within: 30)
            // What is under way too long is given back, and goes out again with its id.
            let pushes = try gateway.peer.pushes(1200)
            #expect(Set(pushes.map(\.token)) == tokens)
            #expect(Set(pushes.compactMap { $0["apns-id"] }).count == 1200)
            #expect(try gateway.sql("SELECT count(*), count(DISTINCT account) FROM delivery") == "1200|1200")
            let hasEnded = eventually(within: 25) { first.program.status == 0 }
            #expect(hasEnded)
        }

        // MARK: - Whom

        @Test("Device tokens: those phones only, a start and a badge too; unknown tokens are told")
        func devices() throws {
            try GatewayUnderTest.run { gateway in
                let first = try gateway.register(laID: nil)
                let second = try gateway.register(phone: "phone-2", laID: nil)
                let unknown = TestPhone.token(bytes: 32)
                var startTokens: [String] = []
                for phone in [first, second] {
                    let token = TestPhone.token(bytes: 64)
                    let body = #"{"token":"\#(token)","businessId":1,"installation":"\#(phone.installation)"}"#
                    try gateway.phone("alice", "PUT", "/v1/start-tokens/Match", body)
                    startTokens.append(token)
                }
                let audience = #"{"kind":"devices","tokens":["\#(second.deviceToken)","\#(unknown)"]}"#
                let key = try gateway.accept(audience, activity: nil, notification: #"{"title":"T","badgeAdd":1}"#)
                #expect(try gateway.peer.exactly(1).map(\.token) == [second.deviceToken])
                #expect(try gateway.sql("SELECT badge FROM device ORDER BY installation") == "0\n1")
                let fanOut = try gateway.record(of: key)["fanOut"]
                #expect(fanOut?["listed"]?.integer == 1)
                let fingerprint = try gateway.sql("SELECT token_fingerprint('\(unknown)')")
                #expect(fanOut?["unknownDevices"]?.elements.map(\.string) == [fingerprint])

                let start = """
                    {"laId":"match","event":"start","contentState":{"step":0},"defaultDismissal":"system",
                    "alert":{"title":"Kick-off","body":"now"},
                    "start":{"attributesType":"Match","attributes":{}}}
                    """
                try gateway.accept(audience, activity: start)
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes[1].token == startTokens[1])
                #expect(try gateway.sql("SELECT installation FROM activity_start") == "phone-2")
            }
        }

        @Test("An update to one phone of an account leaves the activity on its other phone to older messages")
        func claimOfOnePhone() throws {
            try GatewayUnderTest.run { gateway in
                let first = try gateway.register()
                let second = try gateway.register(phone: "phone-2")
                let update =
                    #"{"laId":"order-1","event":"update","contentState":{"step":1},"defaultDismissal":"system"}"#
                try gateway.accept(
                    #"{"kind":"devices","tokens":["\#(second.deviceToken)"]}"#,
                    activity: update
                )
                #expect(try gateway.peer.exactly(1).map(\.token) == [second.activityToken])
                let claimed = "SELECT installation FROM live_activity WHERE last_message > 0"
                #expect(try gateway.sql(claimed) == "phone-2")
                try gateway.expectDeliveries("alice|phone-2|live_activity||accepted_by_apns|")
                // A retry remembers which phone it was for.
                try gateway.peer.answer(second.activityToken, .status(503))
                try gateway.accept(
                    #"{"kind":"devices","tokens":["\#(second.deviceToken)"]}"#,
                    activity: update.replacing(":1}", with: ":2}"),
                )
                let pushes = try gateway.peer.exactly(3)
                #expect(pushes.map(\.token).allSatisfy { $0 != first.activityToken })
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
            }
        }

        @Test("Segments, filled by livepush segment and in SQL; an erased account leaves them")
        func segments() throws {
            try GatewayUnderTest.run { gateway in
                let phones = try ["alice", "bob", "carol"].map { try gateway.register($0, phone: "\($0)-1", laID: nil) }
                let second = try gateway.register("bob", phone: "bob-2", laID: nil)
                let place = ["--sdk-app-id", "\(GatewayUnderTest.sdkAppID)"]
                func segment(_ words: String...) throws -> String {
                    let outcome = try gateway.livepush(["segment"] + words + place)
                    return outcome.output + outcome.errors
                }
                _ = try ChildProcess.run(
                    "tee",
                    ["\(gateway.folder)/vip.csv"],
                    input: "account,installation\nalice,\nbob,bob-2\n\"x,y\",\n",
                )
                let file = "\(gateway.folder)/vip.csv"
                #expect(try segment("import", file, "--segment", "vip") == "Done: 3 lines, 3 added\n")
                #expect(
                    try segment("import", file, "--segment", "vip", "--replace")
                        == "Done: 3 lines, 0 added, 0 removed\n"
                )
                #expect(
                    try segment("show", "--segment", "vip") == "account,installation\nalice,\nbob,bob-2\n\"x,y\",\n"
                )
                #expect(try segment("remove", "--segment", "vip", "--account", "x,y") == "Removed: 1\n")
                #expect(
                    try segment("add", "--segment", "london", "--account", "bob", "--account", "carol") == "Added: 2\n"
                )
                #expect(
                    try segment("list")
                        == "london  2 accounts, 0 single phones\nvip  1 accounts, 1 single phones\n"
                )
                let faulty = "account\nalice\n\(String(repeating: "x", count: 129))\n"
                _ = try ChildProcess.run("tee", [file], input: faulty)
                let refusal = try segment("import", file, "--segment", "vip", "--replace")
                #expect(refusal.contains("nothing was imported:\nline 3: an account has 1 to 128 bytes"), "\(refusal)")

                let title = #"{"title":"T"}"#
                try gateway.accept(#"{"kind":"segments","all":["vip"],"any":[]}"#, activity: nil, notification: title)
                #expect(
                    Set(try gateway.peer.exactly(2).map(\.token)) == [phones[0].deviceToken, second.deviceToken]
                )
                try gateway.accept(
                    #"{"kind":"segments","all":["vip","london"],"any":[]}"#,
                    activity: nil,
                    notification: title,
                )
                #expect(try gateway.peer.exactly(3)[2].token == second.deviceToken)
                try gateway.accept(#"{"kind":"everyone"}"#, activity: nil, notification: title)
                #expect(try gateway.peer.exactly(7).count == 7)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    try gateway.sql("SELECT segments_all, segments_any, listed FROM fan_outs ORDER BY message_id")
                        == "{vip}|{}|2\n{vip,london}|{}|1\n||3"
                )
                _ = try gateway.command("im_open_login_svc/account_delete", #"{"DeleteItem":[{"UserID":"bob"}]}"#)
                #expect(try gateway.sql("SELECT account FROM segment ORDER BY account") == "alice\ncarol")
            }
        }

        @Test("Tencent's commands: to a group, to some of it, to tags, to all; each counts and is found by its key")
        func commands() throws {
            try GatewayUnderTest.run { gateway in
                let alice = try gateway.register()
                let bob = try gateway.register("bob", phone: "phone-2", laID: nil)
                let carol = try gateway.register("carol", phone: "phone-3", laID: nil)
                try gateway.sql(
                    """
                    INSERT INTO segment (sdk_app_id, name, account)
                    SELECT \(GatewayUnderTest.sdkAppID), * FROM (VALUES
                        ('team', 'alice'), ('team', 'bob'), ('vip', 'alice'), ('vip', 'carol')) AS row (name, account)
                    """
                )
                let push = """
                    "OfflinePushInfo":{"Title":"Goal","Desc":"1:0","ApnsInfo":{"LiveActivity":
                    {"LaId":"order-1","Event":"update","ContentState":{"home":STEP}}}}
                    """
                let body = #""MsgBody":[{"MsgType":"TIMTextElem","MsgContent":{"Text":"1:0"}}]"#
                let requests: [(path: String, body: String, reached: Set<String>)] = [
                    (
                        "group_open_http_svc/send_group_msg", #"{"GroupId":"team","Random":1,\#(body),\#(push)}"#,
                        [alice.activityToken, bob.deviceToken]
                    ),
                    (
                        "group_open_http_svc/send_group_msg",
                        #"{"GroupId":"other","Random":2,"To_Account":["bob"],\#(body),\#(push)}"#, [bob.deviceToken]
                    ),
                    (
                        "timpush/push", #"{"MsgRandom":3,"Condition":{"TagsAnd":["team","vip"]},\#(push)}"#,
                        [alice.activityToken]
                    ),
                    (
                        "timpush/push", #"{"MsgRandom":4,\#(push)}"#,
                        [alice.activityToken, bob.deviceToken, carol.deviceToken]
                    ),
                    (
                        "all_member_push/im_push",
                        #"{"MsgRandom":5,"MsgLifeTime":60,"Condition":{"TagsOr":["vip"]},\#(body),\#(push)}"#,
                        [alice.activityToken, carol.deviceToken]
                    ),
                    ("all_member_push/im_push", #"{"MsgRandom":6,\#(body),\#(push)}"#, []),
                ]
                var count = 0
                for (number, request) in requests.enumerated() {
                    let body = request.body.replacing("STEP", with: "\(number)")
                    let first = try gateway.command(request.path, body)
                    #expect(first["ErrorCode"]?.integer == 0, "\(first.text)")
                    #expect(try gateway.command(request.path, body).text == first.text)
                    let key = try #require((first["MsgKey"] ?? first["TaskId"])?.string)
                    try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                    count += request.reached.count
                    let pushes = try gateway.peer.exactly(count, quiet: 0.1)
                    #expect(Set(pushes.suffix(request.reached.count).map(\.token)) == request.reached)
                    let record = try gateway.record(of: key)
                    #expect(record["endpoint"]?.string == request.path)
                    #expect(record["recipients"]?.elements.count == request.reached.count)
                }
                #expect(
                    try gateway.sql("SELECT audience, state, listed FROM fan_outs ORDER BY message_id") == """
                        segments|listed|2
                        segments|listed|1
                        everyone|listed|3
                        segments|listed|2
                        everyone|suppressed|0
                        """
                )
                let unknown = #"{"GroupId":"other","Random":7,\#(body)}"#
                let refusal = try gateway.command("group_open_http_svc/send_group_msg", unknown)
                #expect(refusal["ErrorCode"]?.integer == 10010, "\(refusal.text)")
                let metrics = try HTTPExchange("GET", port: gateway.port, "/metrics").answer().text
                #expect(metrics.contains(#"livepush_fan_outs_total{outcome="listed"} 4"#))
                #expect(metrics.contains(#"livepush_recipients_accepted_total{endpoint="timpush/push"} 4"#))
            }
        }

        @Test("A push to all that is taken back stops, and is replaced on every phone that got it, under way ones too")
        func revoked() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.sql(
                    """
                    INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment)
                    SELECT \(GatewayUnderTest.sdkAppID), 'user-' || lpad(number::text, 7, '0'), 'phone-' || number,
                        sha256(convert_to('activity ' || number, 'UTF8')), 1, 'sandbox'
                    FROM generate_series(1, 700) AS number
                    """
                )
                try gateway.peer.answer(try gateway.activityToken(of: 100), .late(8))
                let push = #"{"MsgRandom":1,"OfflinePushInfo":{"Title":"Sale","Desc":"today"}}"#
                let taskID = try #require(try gateway.command("timpush/push", push)["TaskId"]?.string)
                try gateway.expectSQL("SELECT count(*) FROM delivery", "499")
                let revocation = #"{"TaskId":"\#(taskID)","OfflinePushInfo":{"Title":"Sorry","Desc":"tomorrow"}}"#
                let answer = try gateway.command("timpush/revoke", revocation)
                #expect(answer["ErrorCode"]?.integer == 0, "\(answer.text)")
                try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 60)
                #expect(try gateway.sql("SELECT state, listed FROM fan_outs") == "cancelled|500")
                let pushes = try gateway.peer.exactly(1000)
                func shown(_ title: String) -> [PeerPush] {
                    pushes.filter { $0.aps?["alert"]?["title"]?.string == title }
                }
                #expect(Set(shown("Sale").map(\.token)) == Set(shown("Sorry").map(\.token)))
                #expect(shown("Sorry").count == 500)
            }
        }

        @Test("A suppressed message and one whose time is over are listed for nobody, and say so")
        func endedAtOnce() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.accept(#"{"kind":"everyone"}"#, more: #","suppression":"no_lifetime""#)
                try gateway.accept(#"{"kind":"everyone"}"#, lifetime: 0)
                try gateway.expectSQL(
                    "SELECT state, listed FROM fan_outs ORDER BY message_id",
                    "suppressed|0\nexpired|0"
                )
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                _ = try gateway.peer.exactly(0)
            }
        }
    }
}

extension GatewayUnderTest {
    /// Registers accounts with a phone each on which the activity `match` runs, and returns its tokens.
    @discardableResult
    fileprivate func registerMany(_ count: Int) throws -> Set<String> {
        try sql(
            """
            INSERT INTO live_activity (sdk_app_id, account, la_id, installation, token, business_id, environment, started_at)
            SELECT \(Self.sdkAppID), 'user-' || lpad(number::text, 7, '0'), 'match', 'phone-' || number,
                sha256(convert_to('activity ' || number, 'UTF8')), 1, 'sandbox', now()
            FROM generate_series(1, \(count)) AS number
            """
        )
        let tokens = try sql("SELECT encode(token, 'hex') FROM live_activity WHERE la_id = 'match'")
        return Set(tokens.split(separator: "\n").map(String.init))
    }

    fileprivate func activityToken(of number: Int) throws -> String {
        try sql("SELECT encode(sha256(convert_to('activity \(number)', 'UTF8')), 'hex')")
    }

    /// Stores a message to an audience as a dialect does.
    ///
    /// - Parameter more: further members of the stored order.
    /// - Returns: its key.
    @discardableResult
    fileprivate func accept(
        _ audience: String,
        activity: String? =
            #"{"laId":"match","event":"update","contentState":{"step":1},"defaultDismissal":"system"}"#,
        state: String? = nil,
        alert: String? = nil,
        notification: String = "{}",
        more: String = "",
        lifetime: Int = 3600,
    ) throws -> String {
        var activity = activity
        if let state {
            activity = activity?.replacing(#"{"step":1}"#, with: state)
        }
        if let alert {
            activity = activity?.replacing(#""event":"#, with: #""alert":\#(alert),"event":"#)
        }
        let key = "key-\(UInt32.random(in: 1 ... .max))"
        let content = """
            {"version":2,"dialect":"tencent","endpoint":"timpush/push","sdkAppId":\(Self.sdkAppID),"messageKey":"\(key)",
            "sender":"administrator","recipients":[],"audience":\(audience)\(activity.map { ",\"activity\":\($0)" } ?? ""),
            "notification":\(notification),"lifetime":\(lifetime)\(more)}
            """
        let isStart = activity?.contains("\"start\"") == true
        let laID = activity.map { $0.contains("order-1") ? "'order-1'" : "'match'" } ?? "NULL"
        try sql(
            """
            WITH new AS (SELECT nextval('message_id') AS id, date_trunc('microseconds', clock_timestamp()) AS at),
            stored AS (
                INSERT INTO message (id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients)
                SELECT id, at, \(Self.sdkAppID), 'tencent', 'timpush/push', '\(key)', 'administrator', \(laID),
                    \(activity == nil ? "NULL" : isStart ? "'start'" : "'update'"), 0 FROM new)
            INSERT INTO pending (message_id, accepted_at, sdk_app_id, due, deadline, content)
            SELECT id, at, \(Self.sdkAppID), at, at + \(lifetime) * interval '1 second',
                convert_to($content$\(content)$content$, 'UTF8') FROM new
            """
        )
        return key
    }

    /// Posts a command of Tencent's API.
    fileprivate func command(_ path: String, _ body: String) throws -> JSONValue {
        let signature = try userSig("administrator")
        let query = "sdkappid=\(Self.sdkAppID)&identifier=administrator&usersig=\(signature)&random=1&contenttype=json"
        return try HTTPExchange("POST", port: port, "/v4/\(path)?\(query)", body: body).answer().json
    }

    /// What GET /v1/messages/{MsgKey} says of a message.
    fileprivate func record(of key: String) throws -> JSONValue {
        let headers = ["Authorization: Bearer \(try userSig("administrator"))"]
        let answer = try HTTPExchange("GET", port: port, "/v1/messages/\(key)", headers: headers).answer()
        return try #require(try answer.json["messages"]?.elements.first)
    }
}
