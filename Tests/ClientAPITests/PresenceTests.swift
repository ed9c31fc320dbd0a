import ClientAPI
import EventLoop
import Gateway
import Glibc
import HTTPServer
import Logging
import PostgresClient
import TestSupport
import Testing

@Suite("Presence", .serialized, .timeLimit(.minutes(5)))
struct PresenceTests {
    private static func body(_ members: String, installation: String = "phone-1") -> String {
        "{\"installation\":\"\(installation)\",\(members)}"
    }

    @Test("an app that comes to the front counts as there for five minutes, and its number is 0")
    func foreground() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice(sequence: 7)
            try phone.sql("UPDATE device SET badge = 12 WHERE sdk_app_id = APP")
            let before = Int64(time(nil))
            let body = Self.body("\"state\":\"foreground\",\"unread\":3")
            let answer = try await phone.send("POST", "/v1/presence", body: body)
            #expect(answer.status == 200)
            #expect(answer.applied == true)
            let until = try #require(answer.root["foregroundUntil"]?.integer)
            #expect((before + 299...before + 310).contains(until))
            let columns = "badge, floor(extract(epoch FROM foreground_until))::bigint = \(until), sequence"
            #expect(try phone.rows(columns, of: "device") == "0|t|7")
            let listed = try await phone.registrations().registrations
            #expect(listed.first?["foregroundUntil"]?.integer == until)
        }
    }

    @Test(
        "an app that leaves the front says what stands on its icon, or leaves it",
        arguments: [("", "12"), (",\"unread\":null", "12"), (",\"unread\":0", "0"), (",\"unread\":99999", "99999")],
    )
    func background(unread: String, badge: String) async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice(sequence: 7)
            try phone.sql(
                "UPDATE device SET badge = 12, foreground_until = now() + interval '1 min' WHERE sdk_app_id = APP"
            )
            let body = Self.body("\"state\":\"background\"" + unread)
            let answer = try await phone.send("POST", "/v1/presence", body: body)
            #expect(answer.body == "{\"applied\":true}")
            #expect(try phone.rows("badge, foreground_until IS NULL, sequence", of: "device") == "\(badge)|t|7")
        }
    }

    @Test("the foreground is renewed by another report")
    func renewed() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice()
            try phone.sql("UPDATE device SET foreground_until = now() + interval '1 min' WHERE sdk_app_id = APP")
            _ = try await phone.send("POST", "/v1/presence", body: Self.body("\"state\":\"foreground\""))
            #expect(try phone.rows("foreground_until > now() + interval '4 min'", of: "device") == "t")
        }
    }

    @Test("registering again leaves badge and foreground as they are; another account begins anew")
    func registration() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice()
            _ = try await phone.send("POST", "/v1/presence", body: Self.body("\"state\":\"foreground\""))
            try phone.sql("UPDATE device SET badge = 4, badge_messages = '{1}' WHERE sdk_app_id = APP")
            _ = try await phone.putDevice(token: Phone.token(2))
            let columns = "badge, badge_messages, foreground_until IS NULL"
            #expect(try phone.rows(columns, of: "device") == "4|{1}|f")
            _ = try await phone.putDevice(token: Phone.token(2), as: "bob")
            #expect(try phone.rows(columns, of: "device") == "0|{}|t")
        }
    }

    @Test("an installation that the account has no device token on is unknown, whoever else has it")
    func unknownInstallation() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice(as: "bob")
            _ = try await phone.putActivity("order-1", "phone-2")
            let foreground = "\"state\":\"foreground\""
            for body in [Self.body(foreground), Self.body(foreground, installation: "phone-2")] {
                let answer = try await phone.send("POST", "/v1/presence", body: body)
                #expect(answer.status == 404)
                #expect(answer.code == "unknown_installation")
                #expect(answer.field == "installation")
            }
            #expect(try phone.rows("foreground_until IS NULL", of: "device") == "t")
            let byAdministrator = "/v1/presence?account=bob"
            let answer = try await phone.send("POST", byAdministrator, as: "administrator", body: Self.body(foreground))
            #expect(answer.applied == true)
            _ = try await phone.delete("devices/phone-1", as: "bob")
            let gone = try await phone.send("POST", "/v1/presence", as: "bob", body: Self.body(foreground))
            #expect(gone.status == 404)
        }
    }

    @Test(
        "a report with one fault changes nothing",
        arguments: [
            ("{\"state\":\"background\"}", "missing_field", "installation"),
            ("{\"installation\":\"a b\",\"state\":\"background\"}", "invalid_value", "installation"),
            (body("\"unread\":1"), "missing_field", "state"), (body("\"state\":null"), "missing_field", "state"),
            (body("\"state\":\"Foreground\""), "invalid_value", "state"), (body("\"state\":1"), "wrong_type", "state"),
            (body("\"state\":\"background\",\"unread\":-1"), "invalid_value", "unread"),
            (body("\"state\":\"background\",\"unread\":100000"), "invalid_value", "unread"),
            (body("\"state\":\"foreground\",\"unread\":100000"), "invalid_value", "unread"),
            (body("\"state\":\"background\",\"unread\":1.5"), "wrong_type", "unread"),
            (body("\"state\":\"background\",\"unread\":\"1\""), "wrong_type", "unread"),
            (body("\"state\":\"background\",\"unread\":true"), "wrong_type", "unread"),
        ],
    )
    func faults(body: String, code: String, field: String) async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice()
            try phone.sql("UPDATE device SET badge = 12 WHERE sdk_app_id = APP")
            let answer = try await phone.send("POST", "/v1/presence", body: body)
            #expect(answer.status == 422)
            #expect(answer.code == code)
            #expect(answer.field == field)
            #expect(try phone.rows("badge", of: "device") == "12")
        }
    }
}
