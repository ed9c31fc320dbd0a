import Gateway
import Testing
import VerbatimJSON

@testable import TencentIM

@Suite("The parameters of a server call", .timeLimit(.minutes(5)))
struct EnvelopeTests {
    private static let sig = Backend.userSig
    private static let app = InMemoryGateway.sdkAppID

    @Test(
        "any order, an escaped asterisk, no contenttype, no random",
        arguments: [
            "contenttype=json&random=56&usersig=\(sig)&identifier=administrator&sdkappid=\(app)",
            "sdkappid=\(app)&identifier=administrator&usersig=\(sig.replacing("*", with: "%2A"))&random=4294967295",
            "sdkappid=\(app)&identifier=%61dministrator&usersig=\(sig)&more=1",
            "sdkappid=\(app)&identifier=administrator&usersig=\(sig)&random=-1.5",
        ]
    )
    func accepted(query: String) async throws {
        let answer = try await Backend().post("openim/sendmsg", ValidRequest.single, query: query)
        #expect(answer["ErrorCode"]?.integer == 0)
    }

    private static func signature(
        identifier: String = "administrator",
        sdkAppID: Int64 = app,
        key: [UInt8] = InMemoryGateway.secretKey,
        age: Int64 = 0,
    ) -> String {
        UserSig.make(
            identifier: identifier,
            sdkAppID: sdkAppID,
            secretKey: key,
            expire: 60,
            now: InMemoryGateway.time - age,
        )
    }

    @Test(
        "one thing wrong",
        arguments: [
            ("identifier=administrator&usersig=\(sig)", 60012),
            ("sdkappid=&identifier=administrator&usersig=\(sig)", 60012),
            ("sdkappid=abc&identifier=administrator&usersig=\(sig)", 60025),
            ("sdkappid=1.5&identifier=administrator&usersig=\(sig)", 60025),
            ("sdkappid=99999999999999999999&identifier=administrator&usersig=\(sig)", 60025),
            ("sdkappid=1400000009&identifier=administrator&usersig=\(sig)", 70020),
            ("sdkappid=\(app)&usersig=\(sig)", 60025),
            ("sdkappid=\(app)&identifier=&usersig=\(sig)", 60025),
            ("sdkappid=\(app)&identifier=administrator", 60025),
            ("sdkappid=\(app)&identifier=administrator&usersig=", 70002),
            ("sdkappid=\(app)&identifier=administrator&usersig=eJw", 70003),
            (
                "sdkappid=\(app)&identifier=administrator&usersig=\(sig.replacing("e", with: "+", maxReplacements: 1))",
                70003
            ),
            ("sdkappid=\(app)&identifier=administrator&usersig=\(signature(age: 61))", 70001),
            ("sdkappid=\(app)&identifier=administrator&usersig=\(signature(key: [1]))", 70009),
            ("sdkappid=\(app)&identifier=administrator&usersig=\(signature(identifier: "alice"))", 70013),
            ("sdkappid=\(app)&identifier=administrator&usersig=\(signature(sdkAppID: 1))", 70014),
            ("sdkappid=\(app)&identifier=alice&usersig=\(signature(identifier: "alice"))", 60010),
            ("sdkappid=\(app)&identifier=administrator&usersig=\(sig)&contenttype=xml", 60025),
            ("sdkappid=\(app)&identifier=administrator&usersig=\(sig)&contenttype=", 60025),
            ("sdkappid=\(app)&identifier=%FF&usersig=\(sig)", 60025),
        ] as [(String, Int64)]
    )
    func refused(query: String, code: Int64) async throws {
        let backend = Backend()
        let answer = try await backend.post("openim/sendmsg", ValidRequest.single, query: query)
        #expect(answer["ErrorCode"]?.integer == code)
        #expect(answer["ActionStatus"]?.string == "FAIL")
        #expect(keys(of: answer) == ["ActionStatus", "ErrorInfo", "ErrorCode"])
        #expect(backend.gateway.orders.isEmpty)
    }

    @Test("no query at all: the SDKAppID is missing")
    func noQuery() async throws {
        let answer = try await Backend().post("openim/sendmsg", ValidRequest.single, query: nil)
        #expect(answer["ErrorCode"]?.integer == 60012)
    }

    @Test(
        "a command that does not exist: 60009",
        arguments: ["openim/sendMsg", "openim", "openim/sendmsg/", "", "openim%2Fsendmsg", "im_open_login_svc/kick"]
    )
    func unknownCommand(path: String) async throws {
        let answer = try await Backend().post(path, "{}")
        #expect(answer["ErrorCode"]?.integer == 60009)
    }

    @Test(
        "a path with escapes names its command, one of another case or with more to it none",
        arguments: [
            ("openim/send%6Dsg", 0), ("openim%2Fsendmsg", 60009), ("openim/SendMsg", 60009), ("openim/sendmsg/", 60009),
        ] as [(String, Int64)],
    )
    func escapedPath(path: String, code: Int64) async throws {
        let answer = try await Backend().post(path, ValidRequest.single)
        #expect(answer["ErrorCode"]?.integer == code)
    }

    @Test("what the log is told of a refusal has its fields and limits, and none of the numbers that were sent")
    func loggedRefusal() {
        let error = TencentError(.offlinePushInfo, path: "A.b[3]", "at most 4096, for that date send 1796007772.5")
        #expect(error.infoWithoutNumbers == "A.b[3]: at most 4096, for that date send ….5")
    }

    @Test("the buffered random numbers differ, across the end of a supply too")
    func randomNumbers() {
        var generator = BufferedRandomNumberGenerator()
        let numbers = (0..<200).map { _ in generator.next() }
        #expect(Set(numbers).count == numbers.count)
    }

    @Test("a method that is not POST: 60002", arguments: ["GET", "PUT", "OPTIONS"])
    func wrongMethod(method: String) async throws {
        let response = await Backend().respond("openim/sendmsg", ValidRequest.single, method: method)
        #expect(response.status == 200)
        let answer = try JSONDocument(parsing: response.body).root
        #expect(answer["ErrorCode"]?.integer == 60002)
    }

    @Test("every answer carries Tencent's headers", arguments: ["openim/sendmsg", "openim/nothing"])
    func headers(path: String) async throws {
        let response = await Backend().respond(path, ValidRequest.single)
        let headers = Dictionary(response.headers.map { ($0.name, $0.value) }) { first, _ in first }
        #expect(headers["Content-Type"] == "application/json")
        #expect(headers["Access-Control-Allow-Origin"] == "*")
        #expect(headers["Access-Control-Allow-Headers"] == "X-Requested-With")
        #expect(headers["Access-Control-Allow-Methods"] == "POST")
        #expect(headers["Retry-After"] == nil)
    }

    @Test(
        "a gateway that cannot take it now",
        arguments: [
            (.databaseAway, 20004, "5"), (.overloaded, 60007, "5"), (.databaseRefused, 91000, nil),
            (.secretNotReadable, 91000, "5"),
        ] as [(GatewayUnavailable.Reason, Int64, String?)],
        ["openim/sendmsg", "openim/batchsendmsg"]
    )
    func unavailable(fault: (GatewayUnavailable.Reason, Int64, String?), path: String) async throws {
        let backend = Backend()
        backend.gateway.unavailable = GatewayUnavailable(fault.0)
        let body = path == "openim/sendmsg" ? ValidRequest.single : ValidRequest.batch
        let response = await backend.respond(path, body)
        let answer = try JSONDocument(parsing: response.body).root
        #expect(response.status == 200)
        #expect(answer["ErrorCode"]?.integer == fault.1)
        #expect(response.headers.first { $0.name == "Retry-After" }?.value == fault.2)
    }

    @Test("a process that just began and knows no app yet asks to come again, and does not call the app unknown")
    func justBegan() async throws {
        let backend = Backend()
        backend.gateway.knowsApplications = false
        let response = await backend.respond("openim/sendmsg", ValidRequest.single)
        let answer = try JSONDocument(parsing: response.body).root
        #expect(answer["ErrorCode"]?.integer == 20004)
        #expect(response.headers.first { $0.name == "Retry-After" }?.value == "5")
    }
}
