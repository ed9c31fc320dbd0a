import TestSupport
import Testing

@Suite("Push-to-start tokens", .serialized, .timeLimit(.minutes(1)))
struct StartTokenTests {
    private func stored(_ phone: Phone) throws -> String {
        try phone.rows("account, attributes_type, installation, right(encode(token, 'hex'), 2)", of: "start_token")
    }

    @Test("an installation has one for each attributes type; a newer replaces it")
    func replaced() async throws {
        try await Phone.run { _, phone async throws in
            let first = try await phone.putStartToken(more: ",\"osVersion\":\"17.4\",\"appVersion\":\"2\"")
            #expect(first.applied == true)
            #expect(try await phone.putStartToken("Ride", token: Phone.token(201)).applied == true)
            #expect(try await phone.putStartToken(token: Phone.token(202)).applied == true)
            #expect(try stored(phone) == "alice|Order|phone-1|ca\nalice|Ride|phone-1|c9")
            #expect(
                try phone.rows("attributes_type, os_version, app_version", of: "start_token") == "Order|17.4|2\nRide||",
                "what is left out stays"
            )
            #expect(try await phone.delete("start-tokens/Order?installation=phone-1").cleared == 1)
            #expect(try await phone.delete("start-tokens/Order?installation=phone-1").cleared == 0)
            #expect(try stored(phone) == "alice|Ride|phone-1|c9")
        }
    }

    @Test("is listed as kind start, with the system of its device where it names none")
    func listed() async throws {
        try await Phone.run { _, phone async throws in
            _ = try await phone.putStartToken(sequence: 3)
            _ = try await phone.putActivity()
            _ = try await phone.putDevice(more: ",\"osVersion\":\"18.1\"")
            let answer = try await phone.registrations()
            #expect(answer.registrations.map { $0["kind"]?.string } == ["device", "activity", "start"])
            let start = try #require(answer.registrations.last)
            #expect(start["attributesType"]?.string == "Order")
            #expect(start["osVersion"]?.string == "18.1")
            #expect(start["sequence"]?.integer == 3)
            #expect(start["state"]?.string == "live")
            #expect(start["laId"]?.kind == .null)
            #expect(start["expiresAt"]?.kind == .null)
            #expect(start["lastPush"]?.kind == .null)
            #expect(!answer.body.contains(Phone.token(200)))
        }
    }

    @Test("counts by its sequence, and a late registration does not resurrect what was cleared")
    func sequence() async throws {
        try await Phone.run { _, phone async throws in
            #expect(try await phone.putStartToken(sequence: 5).applied == true)
            #expect(try await phone.putStartToken(sequence: 5).applied == true, "the same again is idempotent")
            #expect(try await phone.putStartToken(token: Phone.token(201), sequence: 5).isStale)
            #expect(try await phone.putStartToken(token: Phone.token(201), sequence: 4).isStale)
            #expect(try await phone.putStartToken("Ride", token: Phone.token(202), sequence: 1).applied == true)

            #expect(try await phone.delete("start-tokens/Order?installation=phone-1", sequence: 5).isStale)
            #expect(try await phone.delete("start-tokens/Order?installation=phone-1", sequence: 7).cleared == 1)
            #expect(try await phone.putStartToken(sequence: 7).isStale)
            #expect(try await phone.putStartToken("Ride", token: Phone.token(203), sequence: 6).applied == true)
            #expect(try await phone.putStartToken(sequence: 8).applied == true)
        }
    }

    @Test("log-out takes it, a clear of all activities does not")
    func logOut() async throws {
        try await Phone.run { _, phone async throws in
            _ = try await phone.putDevice(sequence: 1)
            _ = try await phone.putActivity(sequence: 2)
            _ = try await phone.putStartToken(sequence: 3)
            _ = try await phone.putStartToken("Ride", token: Phone.token(201), sequence: 9)
            #expect(try await phone.delete("activities?installation=phone-1", sequence: 4).cleared == 1)
            #expect(try await phone.delete("devices/phone-1", sequence: 5).cleared == 2)
            #expect(try stored(phone) == "alice|Ride|phone-1|c9", "a higher sequence stays")
            #expect(try await phone.putStartToken(sequence: 4).isStale)
            #expect(try await phone.delete("devices/phone-1").cleared == 1)
        }
    }

    @Test(
        "goes with the installation to another account, whatever that registers",
        arguments: ["device", "activity", "start"]
    )
    func transferred(kind: String) async throws {
        try await Phone.run { _, phone async throws in
            _ = try await phone.putDevice()
            _ = try await phone.putStartToken(sequence: 4)
            _ = try await phone.putStartToken("Ride", token: Phone.token(201))
            switch kind {
            case "device": _ = try await phone.putDevice(as: "bob")
            case "activity": _ = try await phone.putActivity(as: "bob", sequence: 5)
            default: #expect(try await phone.putStartToken("Cab", token: Phone.token(202), as: "bob").applied == true)
            }
            #expect(try stored(phone) == (kind == "start" ? "bob|Cab|phone-1|ca" : ""))
            let columns = "installation, from_account, to_account, reason, devices, activities, start_tokens"
            #expect(try phone.rows(columns, of: "registration_transfer") == "phone-1|alice|bob|installation|1|0|2")
        }
    }

    @Test("its token belongs to one installation, and nothing else goes with it")
    func tokenMoved() async throws {
        try await Phone.run { _, phone async throws in
            _ = try await phone.putDevice()
            _ = try await phone.putStartToken()
            #expect(try await phone.putStartToken("Order", "phone-2", as: "bob").applied == true)
            #expect(try stored(phone) == "bob|Order|phone-2|c8")
            #expect(try phone.rows("account", of: "device") == "alice")
            let columns = "from_account, to_account, reason, devices, activities, start_tokens"
            #expect(try phone.rows(columns, of: "registration_transfer") == "alice|bob|token|0|0|1")
        }
    }

    private static let valid = "{\"token\":\"\(Phone.token(1))\",\"businessId\":5,\"installation\":\"phone-1\"}"

    @Test("the type is one that Swift may have", arguments: ["Order", "_Order2", "Shop.Order", "%C3%9Cbertragung"])
    func types(type: String) async throws {
        try await Phone.run { _, phone async throws in
            let answer = try await phone.send("PUT", "/v1/start-tokens/\(type)", body: Self.valid)
            #expect(answer.applied == true, "\(answer.body)")
        }
    }

    @Test(
        "faults of a registration name the field",
        arguments: [
            ("Order", "{\"token\":\"00\",\"businessId\":5,\"installation\":\"phone-1\"}", "token"),
            ("Order", "{\"token\":\"\(Phone.token(1))\",\"businessId\":6,\"installation\":\"phone-1\"}", "businessId"),
            ("Order", "{\"token\":\"\(Phone.token(1))\",\"businessId\":5}", "installation"),
            (String(repeating: "x", count: 129), "{\"installation\":\"phone-1\"}", "attributesType"),
            ("*", valid, "attributesType"), ("Order%20Attributes", valid, "attributesType"),
            ("1Order", valid, "attributesType"), ("Shop.", valid, "attributesType"),
            ("Order-1", valid, "attributesType"),
        ]
    )
    func faults(type: String, body: String, field: String) async throws {
        try await Phone.run { _, phone async throws in
            let answer = try await phone.send("PUT", "/v1/start-tokens/\(type)", body: body)
            #expect(answer.status == 422)
            #expect(answer.field == field, "\(answer.body)")
        }
    }
}
