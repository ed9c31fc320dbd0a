import TestSupport
import Testing

@Suite("GET /v1/registrations", .serialized, .timeLimit(.minutes(5)))
struct ListedRegistrationsTests {
    @Test("lists devices and activities without their tokens")
    func list() async throws {
        try await Phone.run { _, phone in
            #expect(try await phone.registrations().body == "{\"registrations\":[]}")
            _ = try await phone.putActivity(sequence: 2, more: ",\"attributesType\":\"Order\"")
            _ = try await phone.putDevice(sequence: 1, more: ",\"osVersion\":\"17.4\",\"language\":\"en\"")
            _ = try await phone.putDevice("phone-9", token: Phone.token(9), as: "bob")
            let answer = try await phone.registrations()
            #expect(answer.registrations.map { $0["kind"]?.string } == ["device", "activity"])
            let activity = try #require(answer.registrations.last)
            #expect(activity["laId"]?.string == "order-1")
            #expect(activity["attributesType"]?.string == "Order")
            #expect(activity["installation"]?.string == "phone-1")
            #expect(activity["businessId"]?.integer == 5)
            #expect(activity["state"]?.string == "live")
            #expect(activity["sequence"]?.integer == 2)
            #expect(activity["osVersion"]?.string == "17.4")
            #expect(activity["environment"]?.kind == .null)
            #expect(activity["lastPush"]?.kind == .null)
            #expect(activity["tokenFingerprint"]?.string?.count == 12)
            let registeredAt = try #require(activity["registeredAt"]?.integer)
            #expect(activity["expiresAt"]?.integer == registeredAt + 8 * 3600)
            #expect(!answer.body.contains(Phone.token(100)))
        }
    }

    /// A message for `order-1`, accepted a minute ago.
    private func message(_ phone: Phone, _ id: Int, laID: String? = "order-1") throws {
        try phone.sql(
            """
            INSERT INTO message (id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients)
            VALUES (\(id), date_trunc('minute', now()), APP, 'tencent', 'openim/sendmsg', 'k', 's',
                \(laID.map { "'\($0)', 'update'" } ?? "NULL, NULL"), 1)
            """
        )
    }

    private func delivery(_ phone: Phone, _ id: Int, route: String, status: Int, reason: String?) throws {
        try phone.sql(
            """
            INSERT INTO delivery (message_id, accepted_at, sdk_app_id, account, installation, la_id, event, route,
                route_reason, fallback, outcome, apns_status, apns_reason, attempts, sent_at)
            VALUES (\(id), date_trunc('minute', now()), APP, 'alice', 'phone-1', 'order-1', 'update', '\(route)',
                'activity_registered', false, '\(status == 200 ? "accepted_by_apns" : "token_dead")', \(status),
                \(reason.map { "'\($0)'" } ?? "NULL"), 1, to_timestamp(1700000000))
            """
        )
    }

    private func pending(_ phone: Phone, _ id: Int, reason: String, progress: String? = nil) throws {
        try phone.sql(
            """
            INSERT INTO pending (message_id, account, accepted_at, sdk_app_id, due, deadline, reason, progress)
            VALUES (\(id), 'alice', date_trunc('minute', now()), APP, now(), now(), '\(reason)',
                \(progress.map { "convert_to('\($0)', 'UTF8')" } ?? "NULL"))
            """
        )
    }

    /// The last push of the device and of the activity as JSON text.
    private func lastPushes(_ phone: Phone) async throws -> [String: String] {
        var pushes: [String: String] = [:]
        for registration in try await phone.registrations().registrations {
            let kind = try #require(registration["kind"]?.string)
            pushes[kind] = registration["lastPush"].map { String(decoding: $0.verbatim, as: UTF8.self) }
        }
        return pushes
    }

    @Test("the last push is the newest delivery of that registration")
    func delivered() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice()
            _ = try await phone.putActivity()
            let first = Int(phone.sdkAppID) * 100
            try message(phone, first)
            try delivery(phone, first, route: "live_activity", status: 410, reason: "Unregistered")
            try delivery(phone, first, route: "notification", status: 200, reason: nil)
            let pushes = try await lastPushes(phone)
            #expect(
                pushes["activity"] == """
                    {"at":1700000000,"event":"update","outcome":"token_dead","apnsStatus":410,\
                    "apnsReason":"Unregistered","routeReason":"activity_registered"}
                    """
            )
            #expect(
                pushes["device"] == """
                    {"at":1700000000,"event":"update","outcome":"accepted_by_apns","apnsStatus":200,\
                    "apnsReason":null,"routeReason":"activity_registered"}
                    """
            )
        }
    }

    @Test("a push that waits is retrying, with APNs' reason")
    func retrying() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice()
            _ = try await phone.putActivity()
            let first = Int(phone.sdkAppID) * 100
            try message(phone, first)
            try delivery(phone, first, route: "live_activity", status: 200, reason: nil)
            try message(phone, first + 1)
            let progress = """
                {"version":1,"stage":"activity","notificationReason":"","targets":[{"kind":"activity",\
                "installation":"phone-1","tokenFingerprint":"x","waitsUntil":1,"waitsBecause":"Shutdown",\
                "reason":"activity_registered","attempts":1,"status":503,"statusReason":"Shutdown",\
                "sentAt":1700000060000000}]}
                """
            try pending(phone, first + 1, reason: "Shutdown", progress: progress)
            let pushes = try await lastPushes(phone)
            #expect(
                pushes["activity"] == """
                    {"at":1700000060,"event":"update","outcome":"retrying","apnsStatus":503,\
                    "apnsReason":"Shutdown","routeReason":"activity_registered"}
                    """
            )
            #expect(pushes["device"] == "null", "the activity's message is not the device's")
        }
    }

    @Test("before targets are known, a message for an activity that is not registered concerns the device")
    func retryingDevice() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putDevice()
            _ = try await phone.putActivity()
            let first = Int(phone.sdkAppID) * 100
            try message(phone, first, laID: "order-2")
            try pending(phone, first, reason: "no_connection")
            let pushes = try await lastPushes(phone)
            #expect(pushes["activity"] == "null")
            let device = try #require(pushes["device"])
            #expect(device.contains("\"outcome\":\"retrying\",\"apnsStatus\":null,\"apnsReason\":\"no_connection\""))
        }
    }
}
