import TestSupport
import Testing
import VerbatimJSON

@Suite("DELETE /v1/messages/{MsgKey}", .serialized, .timeLimit(.minutes(5)))
struct CancelledMessagesTests {
    private func schedule(_ phone: Phone, key: String) throws {
        try phone.sql(
            """
            INSERT INTO scheduled_message (id, accepted_at, send_at, lifetime, sdk_app_id, dialect, endpoint, msg_key, sender,
                la_id, event, recipients, content)
            VALUES (nextval('message_id'), now(), to_timestamp(1999999999), 60, APP, 'tencent', 'openim/sendmsg', '\(key)',
                'shop', 'order-1', 'update', '{alice,bob}', 'secret')
            """
        )
    }

    private func message(_ phone: Phone, key: String) throws {
        try phone.sql(
            """
            INSERT INTO message (id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, recipients)
            VALUES (nextval('message_id'), now(), APP, 'tencent', 'openim/sendmsg', '\(key)', 'shop', 1)
            """
        )
    }

    @Test("what waits is shown with its time and no content, is cancelled once, and is shown so")
    func cancelled() async throws {
        try await Phone.run { _, phone in
            try schedule(phone, key: "1_2_3")
            let before = try await phone.send("GET", "/v1/messages/1_2_3", as: "administrator")
            let waiting = try #require(before.root["messages"]?.elements.first)
            #expect(waiting["schedule"]?["state"]?.string == "waiting")
            #expect(waiting["schedule"]?["sendAt"]?.integer == 1_999_999_999)
            #expect(waiting["laId"]?.string == "order-1")
            #expect(waiting["recipients"]?.elements.map { $0["account"]?.string } == ["alice", "bob"])
            #expect(
                waiting["recipients"]?.elements.map { $0["nextAttemptAt"]?.integer } == [1_999_999_999, 1_999_999_999]
            )
            #expect(!before.body.contains("secret"))

            for count in [1, 0] as [Int64] {
                let answer = try await phone.send("DELETE", "/v1/messages/1_2_3", as: "administrator")
                #expect(answer.status == 200)
                #expect(answer.root["cancelled"]?.integer == count)
            }
            let after = try await phone.send("GET", "/v1/messages/1_2_3", as: "administrator")
            let cancelled = try #require(after.root["messages"]?.elements.first)
            #expect(cancelled["schedule"]?["state"]?.string == "cancelled")
            #expect(cancelled["schedule"]?["cancelledBy"]?.string == "administrator")
            #expect(cancelled["recipients"]?.elements.map { $0["outcome"]?.string } == ["cancelled", "cancelled"])
            #expect(try phone.sql("SELECT content IS NULL FROM scheduled_message WHERE sdk_app_id = APP") == "t")
        }
    }

    @Test("what is sent is 409, an unknown key 404, and only an administrator may")
    func refused() async throws {
        try await Phone.run { _, phone in
            try message(phone, key: "sent")
            let sent = try await phone.send("DELETE", "/v1/messages/sent", as: "administrator")
            #expect(sent.status == 409)
            #expect(sent.code == "already_sent")
            let unknown = try await phone.send("DELETE", "/v1/messages/unknown", as: "administrator")
            #expect(unknown.status == 404)
            #expect(unknown.code == "unknown_message")
            try schedule(phone, key: "waits")
            #expect(try await phone.send("DELETE", "/v1/messages/waits", as: "alice").status == 403)
            #expect(
                try phone.sql("SELECT count(*) FROM scheduled_message WHERE sdk_app_id = APP AND content IS NULL")
                    == "0"
            )
        }
    }

    @Test("of two messages with one key the one that waits is cancelled")
    func sameKey() async throws {
        try await Phone.run { _, phone in
            try message(phone, key: "1_2_3")
            try schedule(phone, key: "1_2_3")
            let answer = try await phone.send("DELETE", "/v1/messages/1_2_3", as: "administrator")
            #expect(answer.root["cancelled"]?.integer == 1)
            let shown = try await phone.send("GET", "/v1/messages/1_2_3", as: "administrator")
            let states = shown.root["messages"]?.elements.map { $0["schedule"]?["state"]?.string }
            #expect(states == ["cancelled", nil])
        }
    }
}
