import Testing

@testable import ClientAPI

@Suite("Routes under /v1", .timeLimit(.minutes(5)))
struct ClientRouteTests {
    @Test(
        "each path has its methods",
        arguments: [
            ("PUT", ["v1", "devices", "I"], ClientRoute.putDevice(installation: "I")),
            ("DELETE", ["v1", "devices", "I"], .deleteDevice(installation: "I")),
            ("PUT", ["v1", "activities", "a/b"], .putActivity(laID: "a/b")),
            ("DELETE", ["v1", "activities", "a/b"], .clearActivity(laID: "a/b")),
            ("DELETE", ["v1", "activities"], .clearActivities),
            ("POST", ["v1", "presence"], .reportPresence),
            ("GET", ["v1", "registrations"], .listRegistrations),
            ("GET", ["v1", "messages", "1_2_3"], .showMessages(key: "1_2_3")),
        ],
    )
    func known(method: String, segments: [String], route: ClientRoute) throws {
        #expect(try ClientRoute(method: method, segments: segments) == route)
    }

    @Test(
        "an unknown path and an empty name are not found",
        arguments: [
            [], [""], ["v1"], ["v1", ""], ["v1", "devices"], ["v1", "devices", ""], ["v1", "devices", "I", ""],
            ["v1", "activities", ""], ["v1", "activities", "a", "b"], ["v1", "registrations", "x"],
            ["v1", "messages"], ["v1", "messages", "K", "x"],
            ["v1", "presence", "I"], ["v2", "activities"],
        ],
    )
    func unknown(segments: [String]) {
        let error = #expect(throws: ClientError.self) { try ClientRoute(method: "DELETE", segments: segments) }
        #expect(error?.code == .notFound)
    }

    @Test(
        "a known path with another method names its methods",
        arguments: [
            (["v1", "devices", "I"], ["PUT", "DELETE"]), (["v1", "activities", "L"], ["PUT", "DELETE"]),
            (["v1", "activities"], ["DELETE"]), (["v1", "registrations"], ["GET"]), (["v1", "presence"], ["POST"]),
            (["v1", "messages", "K"], ["GET", "DELETE"]),
        ],
    )
    func otherMethod(segments: [String], allowed: [String]) {
        let error = #expect(throws: ClientError.self) { try ClientRoute(method: "PATCH", segments: segments) }
        #expect(error?.code == .methodNotAllowed)
        #expect(error?.allowedMethods == allowed)
    }
}
