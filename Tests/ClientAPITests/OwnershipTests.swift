import TestSupport
import Testing

@Suite("Who an installation and a token belong to", .serialized, .timeLimit(.minutes(5)))
struct OwnershipTests {
    @Test("a clear touches the caller's installation only")
    func clearScope() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice("phone-1", token: Phone.token(1))
            _ = try await phone.putActivity("order-1", "phone-1", token: Phone.token(101))
            _ = try await phone.putDevice("phone-2", token: Phone.token(2))
            _ = try await phone.putActivity("order-1", "phone-2", token: Phone.token(102))
            #expect(try await phone.delete("activities?installation=phone-1").cleared == 1)
            #expect(try await phone.delete("activities?installation=phone-2", as: "bob").cleared == 0)
            #expect(try await phone.delete("devices/phone-2", as: "bob", sequence: 99).cleared == 0)
            #expect(try phone.rows("installation", of: "live_activity") == "phone-2")
            #expect(try await phone.putDevice("phone-2", token: Phone.token(2), sequence: 1).applied == true)
            #expect(try await phone.delete("devices/phone-2").cleared == 2)
            #expect(try phone.rows("installation", of: "device") == "phone-1")
        }
    }

    @Test("another account takes the installation over with all that was on it", arguments: ["device", "activity"])
    func installation(kind: String) async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice(more: ",\"osVersion\":\"17.4\"")
            _ = try await phone.putActivity("order-1", token: Phone.token(101))
            _ = try await phone.putActivity("order-2", token: Phone.token(102))
            _ = try await phone.putActivity("order-1", "phone-2", token: Phone.token(103))
            let answer =
                kind == "device"
                ? try await phone.putDevice(as: "bob")
                : try await phone.putActivity("order-3", token: Phone.token(104), as: "bob")
            #expect(answer.applied == true)
            #expect(try phone.rows("account, os_version", of: "device") == (kind == "device" ? "bob|" : ""))
            #expect(
                try phone.rows("account, la_id, installation", of: "live_activity")
                    == "alice|order-1|phone-2" + (kind == "device" ? "" : "\nbob|order-3|phone-1")
            )
            #expect(
                try phone.rows(
                    "installation, from_account, to_account, reason, devices, activities",
                    of: "registration_transfer",
                ) == "phone-1|alice|bob|installation|1|2"
            )
            #expect(try await phone.registrations(of: "alice").registrations.count == 1)
        }
    }

    @Test("a late registration of the former account does not take the installation back")
    func lateFormerAccount() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice(sequence: 5)
            #expect(try await phone.putDevice(token: Phone.token(1), as: "bob", sequence: 9).applied == true)
            #expect(try await phone.putDevice(sequence: 8).isStale)
            #expect(try await phone.putDevice(sequence: 9).isStale)
            #expect(try await phone.putActivity(sequence: 8).isStale)
            #expect(try await phone.delete("devices/phone-1", sequence: 10).cleared == 0)
            #expect(try phone.rows("account", of: "device") == "bob")
            #expect(try await phone.putDevice(sequence: 11).applied == true)
            #expect(try phone.rows("account", of: "device") == "alice")
        }
    }

    @Test("C55: a token that another installation registers is removed from the former")
    func tokenMoved() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice("phone-1", token: Phone.token(1))
            _ = try await phone.putActivity("order-1", "phone-1", token: Phone.token(101))
            _ = try await phone.putDevice("phone-2", token: Phone.token(1))
            #expect(try phone.rows("account, installation", of: "device") == "alice|phone-2")
            #expect(try phone.rows("installation", of: "live_activity") == "phone-1")
            #expect(try phone.rows("reason", of: "registration_transfer").isEmpty)

            _ = try await phone.putActivity("order-2", "phone-2", token: Phone.token(101))
            #expect(try phone.rows("la_id, installation", of: "live_activity") == "order-2|phone-2")

            _ = try await phone.putDevice("phone-3", token: Phone.token(1), as: "bob")
            #expect(try phone.rows("account, installation", of: "device") == "bob|phone-3")
            #expect(try phone.rows("installation", of: "live_activity").isEmpty, "the phone changed hands")
            #expect(
                try phone.rows(
                    "installation, from_account, to_account, reason, devices, activities",
                    of: "registration_transfer",
                ) == "phone-2|alice|bob|token|1|1"
            )
        }
    }

    @Test("an activity token that another account registers is removed from the former")
    func activityTokenMoved() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putActivity("order-1", "phone-1", token: Phone.token(101))
            _ = try await phone.putActivity("order-2", "phone-1", token: Phone.token(102))
            _ = try await phone.putActivity("order-1", "phone-2", token: Phone.token(101), as: "bob")
            #expect(
                try phone.rows("account, la_id, installation", of: "live_activity")
                    == "alice|order-2|phone-1\nbob|order-1|phone-2"
            )
            #expect(
                try phone.rows("from_account, to_account, reason, devices, activities", of: "registration_transfer")
                    == "alice|bob|token|0|1"
            )
        }
    }

    @Test("apps do not share installations and tokens")
    func otherApp() async throws {
        try await Phone.run { lane, phone in
            _ = try await phone.putDevice()
            let other = try Phone(on: lane.loop)
            other.pool.start(isolation: lane)
            defer { other.pool.close() }
            _ = try await other.putDevice(as: "bob")
            #expect(try phone.rows("account", of: "device") == "alice")
            #expect(try other.rows("account", of: "device") == "bob")
        }
    }
}
