import HTTPServer
import Testing

@testable import ClientAPI

@Suite("Route patterns", .timeLimit(.minutes(5)))
struct ClientRoutePatternTests {
    private func route(_ method: String, _ path: String) -> String? {
        ClientAPI.route(
            of: HTTPRequest(
                method: method,
                path: path,
                query: nil,
                headers: [:],
                body: [],
                remoteAddress: "127.0.0.1",
            )
        )
    }

    @Test(
        "A request is named by the pattern of its path, which holds nothing of it",
        arguments: [
            ("PUT", "/v1/devices/phone-1", "/v1/devices/{installation}"),
            ("DELETE", "/v1/devices/phone-1", "/v1/devices/{installation}"),
            ("PUT", "/v1/activities/order%2F1", "/v1/activities/{laId}"),
            ("DELETE", "/v1/activities/order-1", "/v1/activities/{laId}"),
            ("DELETE", "/v1/activities", "/v1/activities"), ("GET", "/v1/registrations", "/v1/registrations"),
            ("PUT", "/v1/start-tokens/Order", "/v1/start-tokens/{attributesType}"),
            ("DELETE", "/v1/start-tokens/Order", "/v1/start-tokens/{attributesType}"),
            ("GET", "/v1/messages/1_2_3", "/v1/messages/{MsgKey}"),
            ("DELETE", "/v1/messages/1_2_3", "/v1/messages/{MsgKey}"),
            ("POST", "/v1/channels", "/v1/channels"), ("GET", "/v1/channels", "/v1/channels"),
            ("GET", "/v1/channels/a%2Fb=", "/v1/channels/{channelId}"),
            ("DELETE", "/v1/channels/a+b=", "/v1/channels/{channelId}"),
            ("POST", "/v1/channels/a%2Fb=/messages", "/v1/channels/{channelId}/messages"),
        ]
    )
    func known(method: String, path: String, pattern: String) {
        #expect(route(method, path) == pattern)
    }

    @Test(
        "A request without a route has no pattern",
        arguments: [
            ("GET", ""), ("GET", "/"), ("GET", "/v1"), ("GET", "/v1/"), ("PUT", "/v1/devices"), ("PUT", "/v1/devices/"),
            ("PUT", "/v1/devices/a/b"), ("GET", "/v1/devices/a"), ("PUT", "/v1/devices/%zz"),
            ("GET", "v1/registrations"),
        ]
    )
    func unknown(method: String, path: String) {
        #expect(route(method, path) == nil)
    }
}
