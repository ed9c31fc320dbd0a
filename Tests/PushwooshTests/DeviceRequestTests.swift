import Gateway
import LiveActivity
import Testing
import VerbatimJSON

@testable import Pushwoosh

@Suite("What the iOS SDK registers", .timeLimit(.minutes(1)))
struct DeviceRequestTests {
    private static let token = String(repeating: "ab", count: 32)
    private static let base = #""application":"XXXXX-XXXXX","hwid":"HW-1","v":"6.8.0","device_type":1,"#

    private func request(_ method: PushwooshMethod, _ fields: String) throws -> DeviceRequest {
        let body = #"{"request":{\#(Self.base)\#(fields)}}"#
        return try DeviceRequest(
            method,
            decoding: RequestFields(bodyOf: Array(body.utf8)),
            application: InMemoryGateway.code
        )
    }

    @Test("the account is the user, or the hwid while nobody has logged in")
    func owner() throws {
        let token = #""push_token":"\#(Self.token)""#
        for (user, account) in [("", "HW-1"), (#""userId":"","#, "HW-1"), (#""userId":"alice","#, "alice")] {
            let wanted = try request(.registerDevice, user + token + #","language":"de","timezone":7200"#)
            let owner = RegistrationOwner(sdkAppID: InMemoryGateway.sdkAppID, account: account, installation: "HW-1")
            #expect(wanted.owner == owner)
            let device = DeviceRegistration(token: try PushToken(parsing: Self.token), businessID: 5, language: "de")
            #expect(wanted.action == .registerDevice(device))
        }
    }

    @Test("an activity's token registers it; without one it is cleared, and without an id all are")
    func activities() throws {
        let activity = ActivityRegistration(laID: "ride-7", token: try PushToken(parsing: Self.token), businessID: 5)
        for (fields, action) in [
            (#""activity_token":"\#(Self.token)","activity_id":"ride-7""#, .registerActivity(activity)),
            (#""activity_token":"","activity_id":"ride-7""#, .clearActivity("ride-7")),
            (#""activity_id":"ride-7""#, .clearActivity("ride-7")), (#""activity_id":"""#, .clearActivities),
            (#""activity_token":null,"activity_id":"""#, .clearActivities),
        ] as [(String, DeviceRequest.Action)] {
            #expect(try request(.setActivityToken, fields).action == action, "\(fields)")
        }
        let start = StartTokenRegistration(attributesType: "*", token: activity.token, businessID: 5)
        let fields = #""activity_push_to_start_token":"\#(Self.token)""#
        #expect(try request(.setActivityPushToStartToken, fields).action == .registerStartToken(start))
        #expect(try request(.setActivityPushToStartToken, #""x":1"#).action == .clearStartToken)
    }

    @Test(
        "what cannot be is refused with the field",
        arguments: [
            (.registerDevice, #""push_token":"""#, "push_token: "),
            (.registerDevice, #""push_token":"abc""#, "push_token: "),
            (.registerDevice, #""push_token":7"#, "push_token: "), (.registerDevice, #""userId":7"#, "userId: "),
            (.setActivityToken, #""activity_token":"\#(token)","activity_id":"""#, "activity_id: "),
            (.setActivityToken, #""activity_token":"\#(token)""#, "activity_id: "),
            (.setActivityToken, #""activity_id":"\#(String(repeating: "x", count: 65))""#, "activity_id: "),
        ] as [(PushwooshMethod, String, String)]
    )
    func refused(method: PushwooshMethod, fields: String, field: String) throws {
        let fault = #expect(throws: PushwooshFault.self) { try request(method, fields) }
        #expect(fault?.code == .argument)
        #expect(fault?.message.hasPrefix(field) == true, "\(fault?.message ?? "")")
    }

    @Test("an installation has the form of one", arguments: ["", "a/b", String(repeating: "x", count: 65)])
    func hwid(text: String) throws {
        let body = #"{"request":{"hwid":"\#(text)"}}"#
        #expect(throws: PushwooshFault.self) {
            try DeviceRequest(
                .unregisterDevice,
                decoding: RequestFields(bodyOf: Array(body.utf8)),
                application: InMemoryGateway.code,
            )
        }
    }

    @Test("without an API token it is 403")
    func forbidden() async throws {
        for authorization in [nil, "Token wrong", "Basic PHONE_API_TOKEN"] {
            let body = #"{"request":{\#(Self.base)"push_token":"\#(Self.token)"}}"#
            let answer = try await Backend().post("registerDevice", body, status: 403, authorization: authorization)
            #expect(answer["status_code"]?.integer == 403)
        }
    }
}
