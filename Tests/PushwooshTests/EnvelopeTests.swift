import Gateway
import HTTPServer
import LiveActivity
import Testing
import VerbatimJSON

@testable import Pushwoosh

@Suite("Envelopes and answers", .timeLimit(.minutes(1)))
struct EnvelopeTests {
    @Test(
        "what cannot be read is 400, with a numeric status_code all the same",
        arguments: [
            ("updateLiveActivity", "POST", ""), ("updateLiveActivity", "POST", "{"),
            ("updateLiveActivity", "POST", "[]"),
            ("updateLiveActivity", "POST", #"{"request":[]}"#), ("updateLiveActivity", "POST", #"{"a":1,"a":2}"#),
            ("updateLiveActivity", "GET", Backend.request([ValidNotification.update])),
            ("setTags", "POST", Backend.request([ValidNotification.update])),
            ("UpdateLiveActivity", "POST", Backend.request([ValidNotification.update])),
            ("updateLiveActivity/", "POST", Backend.request([ValidNotification.update])),
        ]
    )
    func malformed(method: String, httpMethod: String, body: String) async throws {
        let backend = try Backend()
        let response = await backend.respond(method, body, httpMethod: httpMethod)
        #expect(response.status == 400)
        let answer = try JSONDocument(parsing: response.body).root
        #expect(answer["status_code"]?.integer == 400)
        #expect(answer["response"]?.kind == .null)
        #expect(backend.gateway.planned.isEmpty)
    }

    @Test(
        "who may not is 403: no token, an unknown one, a phone's, another app's",
        arguments: [
            ("XXXXX-XXXXX", "wrong"), ("XXXXX-XXXXX", "PHONE_API_TOKEN"), ("OTHER-APP", "SECRET_API_TOKEN"),
            ("unknown", "wrong"),
        ]
    )
    func forbidden(application: String, auth: String) async throws {
        let backend = try Backend()
        let body = Backend.request([ValidNotification.update], application: application, auth: auth)
        let answer = try await backend.post("updateLiveActivity", body, status: 403)
        #expect(answer["status_code"]?.integer == 403)
        #expect(backend.gateway.planned.isEmpty)
    }

    @Test(
        "a missing part of the envelope, and a code that there is not, are 210",
        arguments: [
            (#""application":"XXXXX-XXXXX","#, "", "application: "),
            (#""XXXXX-XXXXX""#, #""UNKNOWN""#, "application: "),
            (#""auth":"SECRET_API_TOKEN","#, "", "auth: "),
            (#""notifications":["#, #""notification":["#, "notifications: "),
            (ValidNotification.update, "", "notifications: has 0"),
            (ValidNotification.update, "1", "notifications[0]: "),
        ]
    )
    func arguments(part: String, replacement: String, field: String) async throws {
        let backend = try Backend()
        let body = try Backend.request([ValidNotification.update]).breaking(part, replacement)
        let answer = try await backend.post("updateLiveActivity", body)
        #expect(answer["status_code"]?.integer == 210)
        #expect(answer["status_message"]?.string?.hasPrefix(field) == true, "\(answer["status_message"]?.string ?? "")")
        #expect(backend.gateway.planned.isEmpty)
    }

    @Test("a gateway that cannot take it is 500, with the time after which to repeat", arguments: [true, false])
    func unavailable(knowsNothing: Bool) async throws {
        let backend = try Backend()
        backend.gateway.unavailable = GatewayUnavailable(knowsNothing ? .databaseAway : .overloaded, retryAfter: 7)
        let response = await backend.respond("updateLiveActivity", Backend.request([ValidNotification.update]))
        #expect(response.status == 500)
        #expect(response.headers.contains { $0.name == "Retry-After" && $0.value == "7" })
        #expect(try JSONDocument(parsing: response.body).root["status_code"]?.integer == 500)
    }
}
