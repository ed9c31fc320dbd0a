import Gateway
import LiveActivity
import Testing

@testable import ClientAPI

@Suite("Channels under /v1", .serialized, .timeLimit(.minutes(5)))
struct ChannelTests {
    private static let update = #"{"businessId":5,"event":"update","contentState":{"a":1.0}}"#

    @Test("each route asks for its operation, with the place from the body or the query")
    func orders() async throws {
        try await Phone.run { _, phone in
            for (method, target, body) in [
                ("POST", "/v1/channels", #"{"businessId":5,"environment":"sandbox","storage":"recent"}"#),
                ("GET", "/v1/channels?businessId=5", ""),
                ("GET", "/v1/channels/a%2Fb+c=?businessId=5&environment=production", ""),
                ("DELETE", "/v1/channels/a%2Fb+c=?businessId=5", ""),
                (
                    "POST", "/v1/channels/a%2Fb+c=/messages",
                    """
                    {"businessId":5,"event":"end","contentState":{"a":1.0},"staleDate":1796000000,"dismissalDate":0,
                    "relevanceScore":1e2,"priority":5,"ttl":0,
                    "alert":{"title":"t","body":{"loc-key":"k","loc-args":["x"]},"sound":"s"}}
                    """
                ),
            ] {
                let answer = try await phone.send(method, target, as: "administrator", body: body)
                #expect(answer.status == 200, "\(method) \(target): \(answer.body)")
            }
            let content = ActivityContent(
                event: .end,
                contentState: Array(#"{"a":1.0}"#.utf8),
                staleDate: 1_796_000_000,
                relevanceScore: Array("1e2".utf8),
                dismissalDate: 0,
                alert: ActivityAlert(title: "t", body: .localized(key: "k", arguments: ["x"]), sound: "s"),
            )
            let message = ChannelMessage(channelID: "a/b+c=", content: content, priority: 5, timeToLive: 0)
            let operations: [ChannelOrder.Operation] = [
                .create(.mostRecent), .list, .read(channelID: "a/b+c="), .delete(channelID: "a/b+c="), .send(message),
            ]
            #expect(phone.channels.orders.map(\.operation) == operations)
            #expect(phone.channels.orders.map(\.environment) == [.sandbox, nil, .production, nil, nil])
            #expect(phone.channels.orders.allSatisfy { $0.businessID == 5 && $0.sdkAppID == phone.sdkAppID })
            #expect(phone.channels.orders.allSatisfy { $0.requestedBy == "administrator" })
        }
    }

    @Test(
        "a request with one thing broken names the field, and nothing is asked",
        arguments: [
            ("POST", "/v1/channels", #"{"storage":"none"}"#, "missing_field", "businessId"),
            ("POST", "/v1/channels", #"{"businessId":5}"#, "missing_field", "storage"),
            ("POST", "/v1/channels", #"{"businessId":5,"storage":"some"}"#, "invalid_value", "storage"),
            (
                "POST", "/v1/channels", #"{"businessId":5,"storage":"none","environment":"x"}"#, "invalid_value",
                "environment"
            ),
            ("GET", "/v1/channels", "", "missing_field", "businessId"),
            ("GET", "/v1/channels?businessId=five", "", "wrong_type", "businessId"),
            ("DELETE", "/v1/channels/AAAA?businessId=5&environment=both", "", "invalid_value", "environment"),
            ("POST", "/v1/channels/AAAA/messages", #"{"businessId":5}"#, "missing_field", "event"),
            ("POST", "/v1/channels/AAAA/messages", #"{"businessId":5,"event":"start"}"#, "invalid_value", "event"),
            (
                "POST", "/v1/channels/AAAA/messages", #"{"businessId":5,"event":"end","contentState":[]}"#,
                "wrong_type", "contentState"
            ),
            ("POST", "/v1/channels/AAAA/messages", change(#""ttl":-1"#), "invalid_value", "ttl"),
            ("POST", "/v1/channels/AAAA/messages", change(#""ttl":28801"#), "invalid_value", "ttl"),
            ("POST", "/v1/channels/AAAA/messages", change(#""ttl":"60""#), "wrong_type", "ttl"),
            ("POST", "/v1/channels/AAAA/messages", change(#""priority":1"#), "invalid_value", "priority"),
            ("POST", "/v1/channels/AAAA/messages", change(#""alert":"text""#), "wrong_type", "alert"),
            ("POST", "/v1/channels/AAAA/messages", change(#""alert":{"title":1}"#), "wrong_type", "alert.title"),
            ("POST", "/v1/channels/AAAA/messages", change(#""alert":{"sound":{}}"#), "wrong_type", "alert.sound"),
            (
                "POST", "/v1/channels/AAAA/messages", change(#""alert":{"title":{"loc-key":"k","loc-args":"a"}}"#),
                "wrong_type", "alert.title.loc-args"
            ),
            (
                "POST", "/v1/channels/AAAA/messages", change(#""alert":{"body":{"loc-key":"k","loc-args":[1]}}"#),
                "wrong_type", "alert.body.loc-args[0]"
            ),
            (
                "POST", "/v1/channels/AAAA/messages", change(#""alert":{"body":{"loc-args":[]}}"#), "wrong_type",
                "alert.body.loc-key"
            ),
            ("POST", "/v1/channels/AAAA/messages", change(#""relevanceScore":"1""#), "wrong_type", "relevanceScore"),
            ("POST", "/v1/channels/AAAA/messages", change(#""staleDate":1.5"#), "wrong_type", "staleDate"),
        ]
    )
    func faults(method: String, target: String, body: String, code: String, field: String) async throws {
        try await Phone.run { _, phone in
            let answer = try await phone.send(method, target, as: "administrator", body: body)
            #expect(answer.status == 422, "\(answer.body)")
            #expect(answer.code == code && answer.field == field, "\(answer.body)")
            #expect(phone.channels.orders.isEmpty)
        }
    }

    /// A valid message with one member more.
    private static func change(_ member: String) -> String {
        String(update.dropLast()) + "," + member + "}"
    }

    @Test("only an administrator may ask")
    func forbidden() async throws {
        try await Phone.run { _, phone in
            for (method, target) in [
                ("POST", "/v1/channels"), ("GET", "/v1/channels"), ("GET", "/v1/channels/AAAA"),
                ("DELETE", "/v1/channels/AAAA"), ("POST", "/v1/channels/AAAA/messages"),
            ] {
                let answer = try await phone.send(method, target, body: Self.update)
                #expect(answer.status == 403 && answer.code == "forbidden")
            }
            #expect(try await phone.send("PUT", "/v1/channels", as: "administrator").status == 405)
            #expect(try await phone.send("POST", "/v1/channels/AAAA/notes", as: "administrator").status == 404)
            #expect(phone.channels.orders.isEmpty)
        }
    }

    @Test("what APNs says is passed on with its reason, and each kind has a status of its own")
    func refusals() async throws {
        let id = "123e4567-e89b-12d3-a456-426614174000"
        func refused(_ status: Int, _ reason: String, retryAfter: Int64? = nil) -> ChannelFault {
            .refused(status: status, reason: reason, retryAfter: retryAfter, requestID: id)
        }
        let cases: [(fault: ChannelFault, status: Int, code: String, field: String?, reason: String?)] = [
            (refused(400, "ChannelNotRegistered"), 404, "unknown_channel", "channelId", "ChannelNotRegistered"),
            (refused(400, "BadChannelId"), 422, "invalid_value", "channelId", "BadChannelId"),
            (refused(400, "FeatureNotEnabled"), 502, "apns_refused", "businessId", "FeatureNotEnabled"),
            (refused(400, "CannotCreateChannelConfig"), 502, "apns_refused", nil, "CannotCreateChannelConfig"),
            (refused(403, "TopicMismatch"), 502, "apns_refused", "businessId", "TopicMismatch"),
            (refused(418, "status 418"), 502, "apns_refused", nil, "status 418"),
            (refused(429, "TooManyRequests", retryAfter: 7), 503, "apns_unavailable", nil, "TooManyRequests"),
            (refused(500, "InternalServerError"), 503, "apns_unavailable", nil, "InternalServerError"),
            (
                .held(reason: "InvalidProviderToken", requestID: id), 502, "apns_refused", "businessId",
                "InvalidProviderToken"
            ),
            (
                .unanswered(reason: "timeout", mayHaveBeenProcessed: true, requestID: id), 504, "apns_no_answer", nil,
                "timeout"
            ),
            (
                .order(RegistrationFault(.unknownBusinessID, "none", field: "businessId")), 422, "unknown_business_id",
                "businessId", nil
            ),
            (.unavailable(GatewayUnavailable(.databaseAway)), 503, "unavailable", nil, nil),
            (
                .push([.refusal(.contentState, .contentStateMissing, "is missing")]), 422, "invalid_value",
                "contentState",
                nil
            ),
            (
                .push([.refusal(.payload, .payloadTooLarge, "has 5121 bytes, at most 5120 are allowed")]), 422,
                "payload_too_large", "payload", nil
            ),
        ]
        try await Phone.run { _, phone in
            for (fault, status, code, field, reason) in cases {
                phone.channels.result = .failure(fault)
                let answer = try await phone.send("GET", "/v1/channels?businessId=5", as: "administrator")
                #expect(answer.status == status && answer.code == code && answer.field == field, "\(answer.body)")
                #expect(answer.root["error"]?["apns"]?["reason"]?.string == reason, "\(answer.body)")
                #expect(
                    answer.headers["Retry-After"]
                        == (reason == "TooManyRequests" ? "7" : code == "unavailable" ? "5" : nil)
                )
            }
        }
    }
}
