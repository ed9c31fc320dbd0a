import ClientAPI
import EventLoop
import Gateway
import Glibc
import HTTPServer
import Logging
import PostgresClient
import TestSupport
import Testing

@Suite("Refused requests under /v1", .serialized, .timeLimit(.minutes(5)))
struct RefusedRequestTests {
    /// A valid request with one thing broken, and the answer to that.
    struct Fault: Sendable, CustomTestStringConvertible {
        let member: String
        let code: String
        let field: String

        init(_ member: String, _ code: String, _ field: String) {
            self.member = member
            self.code = code
            self.field = field
        }

        var testDescription: String { member }
    }

    /// The members of a valid body, one of them replaced, added or (empty) left out.
    private func body(_ member: String) -> String {
        let name = member.prefix { $0 != ":" }
        var members = ["\"token\":\"\(Phone.token(1))\"", "\"businessId\":5", "\"installation\":\"phone-1\""]
        members.removeAll { $0.hasPrefix(name + ":") }
        if !member.hasSuffix(":") { members.append(member) }
        return "{" + members.joined(separator: ",") + "}"
    }

    private static let faultsOfBoth = [
        Fault("\"token\":", "missing_field", "token"),
        Fault("\"token\":null", "missing_field", "token"),
        Fault("\"token\":17", "wrong_type", "token"),
        Fault("\"token\":\"\"", "invalid_token", "token"),
        Fault("\"token\":\"\(Phone.token(1))0\"", "invalid_token", "token"),
        Fault("\"token\":\"00ff\"", "invalid_token", "token"),
        Fault("\"token\":\"no token at all!\"", "invalid_token", "token"),
        Fault("\"businessId\":", "missing_field", "businessId"),
        Fault("\"businessId\":\"5\"", "wrong_type", "businessId"),
        Fault("\"businessId\":5.5", "wrong_type", "businessId"),
        Fault("\"businessId\":6", "unknown_business_id", "businessId"),
        Fault("\"businessId\":-5", "unknown_business_id", "businessId"),
        Fault("\"environment\":\"Sandbox\"", "invalid_value", "environment"),
        Fault("\"environment\":1", "wrong_type", "environment"),
        Fault("\"appVersion\":17", "wrong_type", "appVersion"),
        Fault("\"appVersion\":\"\(String(repeating: "1", count: 65))\"", "invalid_value", "appVersion"),
        Fault("\"frequentPushesEnabled\":1", "wrong_type", "frequentPushesEnabled"),
        Fault("\"sequence\":-1", "invalid_value", "sequence"),
        Fault("\"sequence\":\"1\"", "wrong_type", "sequence"),
        Fault("\"sequence\":9223372036854775808", "wrong_type", "sequence"),
    ]

    private static let faultsOfDevices = [
        Fault("\"osVersion\":17.4", "wrong_type", "osVersion"),
        Fault("\"language\":\"\(String(repeating: "é", count: 33))\"", "invalid_value", "language"),
        Fault("\"notificationPermission\":\"yes\"", "invalid_value", "notificationPermission"),
        Fault("\"notificationPermission\":true", "wrong_type", "notificationPermission"),
    ]

    private static let faultsOfActivities = [
        Fault("\"installation\":", "missing_field", "installation"),
        Fault("\"installation\":7", "wrong_type", "installation"),
        Fault("\"installation\":\"a b\"", "invalid_value", "installation"),
        Fault("\"installation\":\"..\"", "invalid_value", "installation"),
        Fault("\"installation\":\"\(String(repeating: "i", count: 65))\"", "invalid_value", "installation"),
        Fault("\"attributesType\":\"\(String(repeating: "a", count: 129))\"", "invalid_value", "attributesType"),
        Fault("\"startedAt\":\"now\"", "wrong_type", "startedAt"),
        Fault("\"startedAt\":\(time(nil)).5", "wrong_type", "startedAt"),
        Fault("\"startedAt\":\(time(nil) * 1000)", "invalid_value", "startedAt"),
        Fault("\"startedAt\":\(time(nil) - 978_307_200)", "invalid_value", "startedAt"),
        Fault("\"startedAt\":-1", "invalid_value", "startedAt"),
        Fault("\"startedAt\":0", "invalid_value", "startedAt"),
    ]

    @Test("a device with one fault", arguments: faultsOfBoth + faultsOfDevices)
    func device(fault: Fault) async throws {
        let body = body(fault.member)
        try await Phone.run { _, phone in
            let answer = try await phone.send("PUT", "/v1/devices/phone-1", body: body)
            #expect(answer.status == 422)
            #expect(answer.code == fault.code)
            #expect(answer.field == fault.field)
            #expect(!answer.body.contains(Phone.token(1)))
            #expect(try phone.rows("installation", of: "device").isEmpty)
        }
    }

    @Test("an activity with one fault", arguments: faultsOfBoth + faultsOfActivities)
    func activity(fault: Fault) async throws {
        let body = body(fault.member)
        try await Phone.run { _, phone in
            let answer = try await phone.send("PUT", "/v1/activities/order-1", body: body)
            #expect(answer.status == 422)
            #expect(answer.code == fault.code)
            #expect(answer.field == fault.field)
            #expect(!answer.body.contains(Phone.token(1)))
            #expect(try phone.rows("installation", of: "live_activity").isEmpty)
        }
    }

    @Test(
        "a body that is not a strict JSON object",
        arguments: [
            ("", 400, "malformed_json"), ("{", 400, "malformed_json"), ("{\"a\":1,\"a\":2}", 400, "malformed_json"),
            ("{\"a\":\"\\u0000\"}", 400, "malformed_json"), ("[]", 422, "wrong_type"), ("null", 422, "wrong_type"),
        ],
    )
    func body(text: String, status: Int, code: String) async throws {
        try await Phone.run { _, phone in
            let answer = try await phone.send("PUT", "/v1/devices/phone-1", body: text)
            #expect(answer.status == status)
            #expect(answer.code == code)
        }
    }

    @Test(
        "a path or query with one fault",
        arguments: [
            ("PUT", "/v1/devices/a%20b", 422, "invalid_value", "installation"),
            ("PUT", "/v1/devices/a%00b", 400, "malformed_url", nil),
            ("PUT", "/v1/activities/%ff", 400, "malformed_url", nil),
            ("PUT", "/v1/activities/\(String(repeating: "l", count: 65))", 422, "invalid_value", "LaId"),
            (
                "DELETE", "/v1/activities/\(String(repeating: "l", count: 65))?installation=i", 422, "invalid_value",
                "LaId"
            ),
            ("DELETE", "/v1/activities", 422, "missing_field", "installation"),
            ("DELETE", "/v1/activities/order-1", 422, "missing_field", "installation"),
            ("DELETE", "/v1/activities?installation=", 422, "invalid_value", "installation"),
            ("DELETE", "/v1/activities?installation=%2", 400, "malformed_url", nil),
            ("DELETE", "/v1/activities?installation=i&sequence=-1", 422, "invalid_value", "sequence"),
            ("DELETE", "/v1/activities?installation=i&sequence=", 422, "invalid_value", "sequence"),
            ("DELETE", "/v1/devices/i?sequence=9223372036854775808", 422, "invalid_value", "sequence"),
            ("DELETE", "/v1/activities/?installation=i", 404, "not_found", nil),
            ("PUT", "/v1/activities/", 404, "not_found", nil),
            ("GET", "/v1/nothing", 404, "not_found", nil),
            ("POST", "/v1/registrations", 405, "method_not_allowed", nil),
        ] as [(String, String, Int, String, String?)],
    )
    func address(method: String, target: String, status: Int, code: String, field: String?) async throws {
        let body = body("")
        try await Phone.run { _, phone in
            let answer = try await phone.send(method, target, body: body)
            #expect(answer.status == status)
            #expect(answer.code == code)
            #expect(answer.field == field)
            #expect((answer.headers["Allow"] != nil) == (status == 405))
        }
    }

    @Test("a caller who cannot prove who it is")
    func authorization() async throws {
        try await Phone.run { _, phone in
            let good = Phone.signature(of: "alice", sdkAppID: phone.sdkAppID)
            let old = Phone.signature(of: "alice", sdkAppID: phone.sdkAppID, madeAt: Int64(time(nil)) - 90_000)
            let other = Phone.signature(of: "alice", sdkAppID: 17)
            let forged = UserSig.make(
                identifier: "alice",
                sdkAppID: phone.sdkAppID,
                secretKey: Array("another key".utf8),
                now: Int64(time(nil)),
            )
            let cases: [(String?, String)] = [
                (nil, "unauthorized"), ("", "unauthorized"), (good, "unauthorized"), ("Basic \(good)", "unauthorized"),
                ("Bearer", "unauthorized"), ("Bearer \(good) x", "unauthorized"),
                ("Bearer \(good.dropLast(20))", "usersig_malformed"), ("Bearer \(old)", "usersig_expired"),
                ("Bearer \(other)", "unknown_app"), ("Bearer \(forged)", "usersig_wrong_signature"),
            ]
            for (header, code) in cases {
                let answer = try await phone.send("GET", "/v1/registrations", authorization: header, body: "")
                #expect(answer.status == 401)
                #expect(answer.code == code)
                #expect(answer.headers["WWW-Authenticate"] == "Bearer")
                #expect(!answer.body.contains(good))
            }
            let answer = try await phone.send("GET", "/v1/registrations", authorization: "bearer \(good)", body: "")
            #expect(answer.status == 200)
        }
    }

    @Test("an administrator acts for an account, another account does not")
    func administrator() async throws {
        try await Phone.run { _, phone in
            let body = "{\"token\":\"\(Phone.token(1))\",\"businessId\":5}"
            let target = "/v1/devices/phone-1?account=bob"
            let refused = try await phone.send("PUT", target, as: "alice", body: body)
            #expect(refused.status == 403)
            #expect(refused.code == "forbidden")
            #expect(try await phone.send("PUT", target, as: "administrator", body: body).applied == true)
            #expect(try phone.rows("account", of: "device") == "bob")
            #expect(try await phone.send("GET", "/v1/registrations?account=bob", as: "bob").registrations.count == 1)
            let empty = try await phone.send("GET", "/v1/registrations?account=", as: "administrator")
            #expect(empty.status == 422)
            #expect(empty.field == "account")
        }
    }

    @Test("without a database the phone is told when to repeat")
    func databaseAway() async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        let answer = try await lane.run { lane in
            let silent = Logger(minimumLevel: .error) { _ in }
            // Nothing listens on the discard port.
            let pool = PostgresPool(
                url: "postgres://postgres@127.0.0.1:9/none",
                connections: 1,
                on: lane.loop,
                logger: silent,
                connectionWait: .milliseconds(1),
            )
            pool.start(isolation: lane)
            defer { pool.close() }
            let api = ClientAPI(
                gateway: FakeGateway(sdkAppID: 17),
                registrations: RegistrationStore(pool: pool, logger: silent),
                messages: MessageRecordStore(pool: pool, logger: silent),
                channels: FakeChannels(),
                logger: silent,
            )
            let request = HTTPRequest(
                method: "GET",
                path: "/v1/registrations",
                query: nil,
                headers: ["Authorization": "Bearer \(Phone.signature(of: "alice", sdkAppID: 17))"],
                body: [],
                remoteAddress: "127.0.0.1",
            )
            return try Answer(await api.respond(to: request))
        }
        #expect(answer.status == 503)
        #expect(answer.code == "unavailable")
        #expect(answer.headers["Retry-After"] == "5")
    }

    @Test("a process that just began and knows no app yet asks to come again, and does not call the app unknown")
    func justBegan() async throws {
        try await Phone.run { _, phone in
            phone.gateway.knowsApplications = false
            let answer = try await phone.putDevice()
            #expect(answer.status == 503)
            #expect(answer.code == "unavailable")
            #expect(answer.headers["Retry-After"] == "5")
        }
    }
}
