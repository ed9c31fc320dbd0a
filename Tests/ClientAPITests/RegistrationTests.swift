import TestSupport
import Testing

@Suite("Registrations", .serialized, .timeLimit(.minutes(5)))
struct RegistrationTests {
    @Test("a device is stored with what the phone said, and null or absent clears nothing")
    func device() async throws {
        try await Phone.run { _, phone in
            let all = """
                ,"environment":"sandbox","osVersion":"17.4","appVersion":"2.0","language":"zh-Hant",\
                "notificationPermission":"denied","frequentPushesEnabled":true,"unknown":[1]
                """
            let answer = try await phone.putDevice(sequence: 1, more: all)
            let fingerprint = try phone.sql("SELECT token_fingerprint('\(Phone.token(1))'::text)")
            let expected = "{\"applied\":true,\"tokenFingerprint\":\"\(fingerprint)\",\"expiresAt\":null}"
            #expect(answer.status == 200)
            #expect(answer.body == expected)
            let columns = """
                business_id, environment, os_version, app_version, language, notification_permission, \
                frequent_pushes_enabled, sequence
                """
            let stored = "5|sandbox|17.4|2.0|zh-Hant|denied|t|1"
            #expect(try phone.rows(columns, of: "device") == stored)

            let nulls = ",\"environment\":null,\"osVersion\":null,\"appVersion\":\"\",\"notificationPermission\":null"
            #expect(try await phone.putDevice(more: nulls).applied == true)
            #expect(try phone.rows(columns, of: "device") == stored)
        }
    }

    @Test("an activity expires 8 hours after it began")
    func activity() async throws {
        try await Phone.run { _, phone in
            let began = try #require(Int64(try phone.sql("SELECT extract(epoch FROM now())::bigint - 3600")))
            let more = ",\"startedAt\":\(began),\"attributesType\":\"Order\",\"environment\":\"production\""
            let answer = try await phone.putActivity(more: more)
            #expect(answer.applied == true)
            #expect(answer.expiresAt == began + 8 * 3600)
            #expect(
                try phone.rows("la_id, installation, attributes_type, environment, last_timestamp", of: "live_activity")
                    == "order-1|phone-1|Order|production|0"
            )
            let later = try #require(try await phone.putActivity("order-2", token: Phone.token(101)).expiresAt)
            #expect(abs(later - (began + 9 * 3600)) <= 60)
        }
    }

    @Test("frequentPushesEnabled of an activity is kept with the installation's device")
    func frequentPushes() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice()
            _ = try await phone.putActivity(more: ",\"frequentPushesEnabled\":false")
            #expect(try phone.rows("frequent_pushes_enabled", of: "device") == "f")
        }
    }

    @Test("a device token or a push-to-start token is refused for an activity, and nothing is stored")
    func tokenOfOtherKind() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice(more: ",\"frequentPushesEnabled\":true")
            _ = try await phone.putStartToken()
            let off = ",\"frequentPushesEnabled\":false"
            for (token, installation) in [
                (Phone.token(1), "phone-1"), (Phone.token(200), "phone-1"), (Phone.token(1), "phone-2"),
            ] {
                let answer = try await phone.putActivity("order-1", installation, token: token, more: off)
                #expect(answer.status == 422)
                #expect(answer.code == "invalid_token" && answer.field == "token", "\(answer.body)")
            }
            #expect(try phone.rows("la_id", of: "live_activity") == "")
            #expect(try phone.rows("frequent_pushes_enabled", of: "device") == "t")
            #expect(try await phone.putActivity().applied == true)
            let rotated = try await phone.putActivity(token: Phone.token(1))
            #expect(rotated.status == 422)
            #expect(try phone.rows("right(encode(token, 'hex'), 2)", of: "live_activity") == "64")
        }
    }

    @Test("a LaId may hold a slash and 64 bytes of several-byte characters")
    func laID() async throws {
        try await Phone.run { _, phone in
            #expect(try await phone.putActivity("table%2F7%252F").applied == true)
            let long = String(repeating: "%C3%A9", count: 32)
            #expect(try await phone.putActivity(long, token: Phone.token(101)).applied == true)
            let stored = try phone.rows("la_id", of: "live_activity").split(separator: "\n").map(String.init)
            #expect(Set(stored) == ["table/7%2F", String(repeating: "é", count: 32)])
            #expect(try await phone.delete("activities/table%2F7%252F?installation=phone-1").cleared == 1)
        }
    }

    @Test("C46: tokens of any length and form are stored as the same bytes", arguments: [64, 108, 160, 200, 512])
    func tokenLengths(digits: Int) async throws {
        try await Phone.run { _, phone in
            let token = String(repeating: "0aB9", count: digits / 4)
            let bare = token.lowercased()
            var grouped = "<"
            for (index, digit) in token.enumerated() {
                grouped += index > 0 && index.isMultiple(of: 8) ? " \(digit)" : "\(digit)"
            }
            for form in [token, token.uppercased(), grouped + ">"] {
                #expect(try await phone.putDevice(token: form).applied == true)
                #expect(try phone.rows("encode(token, 'hex')", of: "device") == bare)
            }
            let base64 = try phone.sql("SELECT translate(encode(decode('\(bare)', 'hex'), 'base64'), E'\\n', '')")
            #expect(try await phone.delete("devices/phone-1").cleared == 1)
            #expect(try await phone.putActivity(token: base64).applied == true)
            #expect(try phone.rows("encode(token, 'hex')", of: "live_activity") == bare)
            #expect(try await phone.putDevice(token: token + "0").code == "invalid_token")
        }
    }

    @Test("C55: the token of an installation is replaced, not added")
    func tokenReplaced() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice(token: Phone.token(1), more: ",\"environment\":\"sandbox\"")
            _ = try await phone.putDevice(token: Phone.token(2))
            #expect(
                try phone.rows("encode(token, 'hex'), environment", of: "device") == "\(Phone.token(2))|",
                "one row, and nothing is known of the new token's environment",
            )
        }
    }

    @Test("registering the same token again refreshes its time")
    func refreshed() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice(more: ",\"environment\":\"sandbox\"")
            _ = try await phone.putActivity(more: ",\"environment\":\"sandbox\"")
            for table in ["device", "live_activity"] {
                try phone.sql("UPDATE \(table) SET registered_at = '2020-01-01' WHERE sdk_app_id = APP")
            }
            _ = try await phone.putDevice()
            _ = try await phone.putActivity()
            for table in ["device", "live_activity"] {
                let columns = "registered_at > now() - interval '1 minute', environment"
                #expect(try phone.rows(columns, of: table) == "t|sandbox")
            }
        }
    }

    @Test("two registrations at once both succeed, whatever they have in common")
    func concurrent() async throws {
        try await Phone.run(connections: 4) { lane, phone in
            for round in 0..<10 {
                let tasks = (0..<8).map { index in
                    Task {
                        _ = lane
                        // No token is a device's and an activity's.
                        let token = Phone.token((index < 4 ? 0 : 1000) + round * 10 + index % 2)
                        let account = index % 3 == 0 ? "bob" : "alice"
                        let installation = "phone-\(index % 4)"
                        return index < 4
                            ? try await phone.putDevice(installation, token: token, as: account)
                            : try await phone.putActivity("order-\(index % 3)", installation, token: token, as: account)
                    }
                }
                for task in tasks {
                    let answer = try await task.value
                    #expect(answer.status == 200)
                    #expect(answer.applied == true)
                }
            }
            let owners = """
                SELECT count(*) FROM (SELECT installation FROM (
                    SELECT installation, account FROM device WHERE sdk_app_id = APP
                    UNION SELECT installation, account FROM live_activity WHERE sdk_app_id = APP
                ) AS held GROUP BY installation HAVING count(*) > 1) AS shared
                """
            #expect(try phone.sql(owners) == "0", "no installation has two accounts")
        }
    }
}
