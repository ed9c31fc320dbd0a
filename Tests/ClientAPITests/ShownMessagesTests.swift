import TestSupport
import Testing
import VerbatimJSON

@Suite("GET /v1/messages/{MsgKey}", .serialized, .timeLimit(.minutes(5)))
struct ShownMessagesTests {
    private static let acceptedAt = "date_trunc('minute', now())"

    private func message(_ phone: Phone, _ id: Int64, key: String = "1_2_3", laID: String? = "order-1") throws {
        try phone.sql(
            """
            INSERT INTO message (id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients)
            VALUES (\(id), \(Self.acceptedAt), APP, 'tencent', 'openim/sendmsg', '\(key)', 'shop',
                \(laID.map { "'\($0)', 'update'" } ?? "NULL, NULL"), 1)
            """
        )
    }

    private func delivery(_ phone: Phone, _ id: Int64, to account: String, route: String = "live_activity") throws {
        try phone.sql(
            """
            INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, installation, la_id, event, route,
                route_reason, fallback, outcome, apns_status, apns_reason, apns_id, attempts, priority, priority_reason,
                timestamp_sent, payload_bytes, token_fingerprint, environment, sent_at, finished_at)
            VALUES (\(id), \(Self.acceptedAt), APP, '\(account)', 'phone-1', 'order-1', 'update', '\(route)',
                'activity_registered', \(route == "notification"), 'accepted_by_apns', 200, NULL,
                '00112233-4455-8677-8899-aabbccddeeff', 2, 10, 'default', 1700000000, 99, 'abc', 'sandbox',
                to_timestamp(1700000001), to_timestamp(1700000002))
            """
        )
    }

    private func pending(
        _ phone: Phone,
        _ id: Int64,
        account: String?,
        due: String = "to_timestamp(1700000009)",
        reason: String = "",
        content: String? = nil,
        progress: String? = nil,
    ) throws {
        func bytes(_ text: String?) -> String { text.map { "convert_to('\($0)', 'UTF8')" } ?? "NULL" }
        try phone.sql(
            """
            INSERT INTO pending (message_id, account, accepted_at, sdk_app_id, due, deadline, reason, attempts, content,
                progress)
            VALUES (\(id), \(account.map { "'\($0)'" } ?? "NULL"), \(Self.acceptedAt), APP, \(due), now(), '\(reason)', 1,
                \(bytes(content)), \(bytes(progress)))
            """
        )
    }

    /// A stored order with a secret in it.
    private static func order(_ recipients: [String]) -> String {
        let list = recipients.map { "\"\($0)\"" }.joined(separator: ",")
        return """
            {"version":1,"dialect":"tencent","endpoint":"openim/sendmsg","sdkAppId":1,"messageKey":"1_2_3",\
            "sender":"shop","recipients":[\(list)],"notification":{"title":"secret"},"lifetime":60}
            """
    }

    private func get(_ phone: Phone, _ key: String = "1_2_3", as account: String = "administrator") async throws
        -> Answer
    {
        try await phone.send("GET", "/v1/messages/\(key)", as: account)
    }

    /// `account outcome` of each recipient of the newest message.
    private func outcomes(_ answer: Answer) -> [String] {
        (answer.root["messages"]?.elements.first?["recipients"]?.elements ?? []).map {
            "\($0["account"]?.string ?? "") \($0["outcome"]?.string ?? "")"
        }
    }

    @Test("a finished message: each target with what was sent to it")
    func finished() async throws {
        try await Phone.run { _, phone in
            let id = phone.sdkAppID * 100
            try message(phone, id)
            try delivery(phone, id, to: "bob", route: "notification")
            try delivery(phone, id, to: "alice")
            let answer = try await get(phone)
            #expect(answer.status == 200)
            #expect(answer.root["messageKey"]?.string == "1_2_3")
            let messages = try #require(answer.root["messages"]?.elements)
            #expect(messages.count == 1)
            let first = try #require(messages.first)
            let minute = try #require(Int64(try phone.sql("SELECT extract(epoch FROM \(Self.acceptedAt))::bigint")))
            #expect((minute - 60...minute).contains(try #require(first["acceptedAt"]?.integer)))
            #expect(first["sender"]?.string == "shop")
            #expect(first["endpoint"]?.string == "openim/sendmsg")
            #expect(first["laId"]?.string == "order-1")
            #expect(first["event"]?.string == "update")
            let recipients = try #require(first["recipients"]?.elements)
            #expect(
                recipients.map { String(decoding: $0.verbatim, as: UTF8.self) } == [
                    """
                    {"account":"alice","installation":"phone-1","route":"live_activity",\
                    "routeReason":"activity_registered","fallback":false,"outcome":"accepted_by_apns",\
                    "nextAttemptAt":null,"reason":null,"apnsStatus":200,"apnsReason":null,\
                    "apnsId":"00112233-4455-8677-8899-aabbccddeeff","attempts":2,"priority":10,\
                    "priorityReason":"default","timestampSent":1700000000,"sentAt":1700000001,\
                    "finishedAt":1700000002,"tokenFingerprint":"abc","environment":"sandbox"}
                    """,
                    """
                    {"account":"bob","installation":"phone-1","route":"notification",\
                    "routeReason":"activity_registered","fallback":true,"outcome":"accepted_by_apns",\
                    "nextAttemptAt":null,"reason":null,"apnsStatus":200,"apnsReason":null,\
                    "apnsId":"00112233-4455-8677-8899-aabbccddeeff","attempts":2,"priority":10,\
                    "priorityReason":"default","timestampSent":1700000000,"sentAt":1700000001,\
                    "finishedAt":1700000002,"tokenFingerprint":"abc","environment":"sandbox"}
                    """,
                ]
            )
        }
    }

    @Test("a recipient that waits for a retry: each target, with when and why")
    func retrying() async throws {
        try await Phone.run { _, phone in
            let id = phone.sdkAppID * 100
            try message(phone, id)
            let progress = """
                {"version":1,"stage":"notification","notificationReason":"activity_push_refused","targets":[\
                {"kind":"activity","installation":"phone-1","tokenFingerprint":"x","outcome":"token_dead",\
                "reason":"activity_registered","attempts":1,"status":410,"statusReason":"Unregistered",\
                "environment":"production","priority":10,"timestampSent":1700000000,"sentAt":1700000001000000},\
                {"kind":"device","installation":"phone-1","tokenFingerprint":"y","waitsUntil":1700000060000000,\
                "waitsBecause":"Shutdown","reason":"activity_push_refused","attempts":1,"status":503,\
                "statusReason":"Shutdown","sentAt":1700000002000000},\
                {"kind":"device","installation":"phone-2","tokenFingerprint":"z","reason":"activity_push_refused"}]}
                """
            try pending(phone, id, account: "alice", reason: "Shutdown", progress: progress)
            let answer = try await get(phone)
            #expect(outcomes(answer) == ["alice token_dead", "alice retrying", "alice retrying"])
            let targets = try #require(answer.root["messages"]?.elements.first?["recipients"]?.elements)
            #expect(targets.map { $0["route"]?.string } == ["live_activity", "notification", "notification"])
            #expect(targets.map { $0["fallback"]?.boolean } == [false, true, true])
            #expect(targets.map { $0["nextAttemptAt"]?.integer } == [nil, 1_700_000_060, 1_700_000_009])
            #expect(targets.map { $0["reason"]?.string } == [nil, "Shutdown", "Shutdown"])
            #expect(targets.map { $0["apnsStatus"]?.integer } == [410, 503, nil])
            #expect(targets.map { $0["apnsReason"]?.string } == ["Unregistered", "Shutdown", nil])
            #expect(targets.map { $0["sentAt"]?.integer } == [1_700_000_001, 1_700_000_002, nil])
            #expect(targets.map { $0["attempts"]?.integer } == [1, 1, 0])
            #expect(targets.map { $0["apnsId"]?.string != nil } == [true, true, false])
            #expect(targets.allSatisfy { $0["finishedAt"]?.kind == .null })
        }
    }

    @Test("progress that is not there or that a newer release wrote: the recipient is retrying all the same")
    func unknownProgress() async throws {
        try await Phone.run { _, phone in
            let id = phone.sdkAppID * 100
            try message(phone, id, laID: nil)
            try pending(phone, id, account: "alice", reason: "no_connection")
            try pending(phone, id, account: "bob", reason: "newer", progress: "{\"version\":99}")
            let answer = try await get(phone)
            #expect(outcomes(answer) == ["alice retrying", "bob retrying"])
            let targets = try #require(answer.root["messages"]?.elements.first?["recipients"]?.elements)
            #expect(targets.map { $0["reason"]?.string } == ["no_connection", "newer"])
            #expect(targets.allSatisfy { $0["nextAttemptAt"]?.integer == 1_700_000_009 })
            #expect(targets.allSatisfy { $0["attempts"]?.integer == 1 && $0["route"]?.kind == .null })
        }
    }

    @Test("recipients of whom nothing is known yet wait; what the message says is not shown")
    func waiting() async throws {
        try await Phone.run { _, phone in
            let id = phone.sdkAppID * 100
            try message(phone, id)
            try delivery(phone, id, to: "alice")
            try pending(phone, id, account: "bob", reason: "Shutdown")
            try pending(
                phone,
                id,
                account: nil,
                reason: "taken_over",
                content: Self.order(["alice", "bob", "carol", "d\u{E9}", "de\u{301}"]),
            )
            let answer = try await get(phone)
            #expect(
                outcomes(answer).map { Array($0.utf8) }
                    == [
                        "alice accepted_by_apns", "bob retrying", "carol retrying", "d\u{E9} retrying",
                        "de\u{301} retrying",
                    ].map { Array($0.utf8) }
            )
            let last = try #require(answer.root["messages"]?.elements.first?["recipients"]?.elements.last)
            #expect(last["reason"]?.string == "taken_over")
            #expect(last["nextAttemptAt"]?.kind == .null)
            #expect(!answer.body.contains("secret"))
        }
    }

    @Test("a whole message whose recipients have rows of their own, and one that nobody can read, list nobody more")
    func wholeMessageRows() async throws {
        try await Phone.run { _, phone in
            let id = phone.sdkAppID * 100
            try message(phone, id)
            try pending(phone, id, account: "alice", due: "'infinity'", reason: "Shutdown")
            try pending(phone, id, account: nil, due: "'infinity'", content: Self.order(["alice"]))
            try message(phone, id + 1, key: "newer")
            try pending(phone, id + 1, account: nil, content: "{\"version\":99}")
            #expect(outcomes(try await get(phone)) == ["alice retrying"])
            let newer = try await get(phone, "newer")
            #expect(newer.status == 200)
            #expect(outcomes(newer).isEmpty)
        }
    }

    @Test("two messages with one key: the newest first; another app's are not among them")
    func newestFirst() async throws {
        try await Phone.run { _, phone in
            let id = phone.sdkAppID * 100
            try message(phone, id, laID: "older")
            try message(phone, id + 1, laID: "newer")
            try phone.sql("UPDATE message SET sdk_app_id = 1 WHERE id = \(id + 1)")
            try message(phone, id + 2, laID: "newest")
            let messages = try #require(try await get(phone).root["messages"]?.elements)
            #expect(messages.map { $0["laId"]?.string } == ["newest", "older"])
            try phone.sql("DELETE FROM message WHERE id = \(id + 1)")
        }
    }

    @Test("a batch of 500 recipients, done and waiting")
    func fiveHundred() async throws {
        try await Phone.run { _, phone in
            let id = phone.sdkAppID * 100
            try message(phone, id)
            try pending(phone, id, account: nil, content: Self.order((0..<500).map { "account-\($0)" }))
            try phone.sql(
                """
                INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, route, route_reason, fallback, outcome,
                    attempts)
                SELECT \(id), \(Self.acceptedAt), APP, 'account-' || n, 'none', 'no_device', false, 'nothing_to_send', 0
                FROM generate_series(0, 299) AS n
                """
            )
            let outcomes = outcomes(try await get(phone))
            #expect(outcomes.count == 500)
            #expect(Set(outcomes).count == 500)
            #expect(outcomes.count { $0.hasSuffix(" retrying") } == 200)
        }
    }

    @Test("a key is decoded from the path, and a TaskId is one")
    func keys() async throws {
        try await Phone.run { _, phone in
            let id = phone.sdkAppID * 100
            for (number, key) in ["a/b c", "batch_66f_1_2"].enumerated() {
                try message(phone, id + Int64(number), key: key)
            }
            #expect(try await get(phone, "a%2Fb%20c").root["messageKey"]?.string == "a/b c")
            #expect(try await get(phone, "batch_66f_1_2").root["messageKey"]?.string == "batch_66f_1_2")
        }
    }

    @Test("an unknown key is 404 with a code of its own, one that is too long 422, a phone's own UserSig 403")
    func refused() async throws {
        try await Phone.run { _, phone in
            try message(phone, phone.sdkAppID * 100)
            let unknown = try await get(phone, "1_2_4")
            #expect(unknown.status == 404)
            #expect(unknown.code == "unknown_message")
            #expect(try await get(phone, String(repeating: "k", count: 128)).status == 404)
            let long = try await get(phone, String(repeating: "k", count: 129))
            #expect(long.status == 422)
            #expect(long.field == "MsgKey")
            let forbidden = try await get(phone, as: "alice")
            #expect(forbidden.status == 403)
            #expect(forbidden.code == "forbidden")
            #expect(try await phone.send("POST", "/v1/messages/1_2_3", as: "administrator").status == 405)
            #expect(try await get(phone, "").status == 404)
        }
    }
}
