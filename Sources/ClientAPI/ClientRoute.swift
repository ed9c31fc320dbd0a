/// A path under /v1 with its method.
enum ClientRoute: Equatable {
    case putDevice(installation: String)
    case deleteDevice(installation: String)
    case putActivity(laID: String)
    case clearActivity(laID: String)
    case clearActivities
    case putStartToken(attributesType: String)
    case clearStartToken(attributesType: String)
    case reportPresence
    case listRegistrations
    case showMessages(key: String)
    case cancelMessages(key: String)
    case createChannel
    case listChannels
    case readChannel(id: String)
    case deleteChannel(id: String)
    case sendToChannel(id: String)

    /// The path with names in braces in place of what callers choose.
    var pattern: String {
        switch self {
        case .putDevice, .deleteDevice: "/v1/devices/{installation}"
        case .putActivity, .clearActivity: "/v1/activities/{laId}"
        case .clearActivities: "/v1/activities"
        case .putStartToken, .clearStartToken: "/v1/start-tokens/{attributesType}"
        case .reportPresence: "/v1/presence"
        case .listRegistrations: "/v1/registrations"
        case .showMessages, .cancelMessages: "/v1/messages/{MsgKey}"
        case .createChannel, .listChannels: "/v1/channels"
        case .readChannel, .deleteChannel: "/v1/channels/{channelId}"
        case .sendToChannel: "/v1/channels/{channelId}/messages"
        }
    }

    /// - Parameter segments: the path, split at its slashes and then percent-decoded.
    init(method: String, segments: [String]) throws(ClientError) {
        // An empty name is no path, above all not the one that clears all activities.
        guard segments.first == "v1", segments.allSatisfy({ !$0.isEmpty }) else { throw ClientRoute.notFound }
        switch (segments.dropFirst().first, segments.count) {
        case ("devices", 3):
            self = try ClientRoute.choose(
                method,
                [("PUT", .putDevice(installation: segments[2])), ("DELETE", .deleteDevice(installation: segments[2]))],
            )
        case ("activities", 3):
            self = try ClientRoute.choose(
                method,
                [("PUT", .putActivity(laID: segments[2])), ("DELETE", .clearActivity(laID: segments[2]))],
            )
        case ("activities", 2):
            self = try ClientRoute.choose(method, [("DELETE", .clearActivities)])
        case ("start-tokens", 3):
            self = try ClientRoute.choose(
                method,
                [
                    ("PUT", .putStartToken(attributesType: segments[2])),
                    ("DELETE", .clearStartToken(attributesType: segments[2])),
                ],
            )
        case ("presence", 2):
            self = try ClientRoute.choose(method, [("POST", .reportPresence)])
        case ("registrations", 2):
            self = try ClientRoute.choose(method, [("GET", .listRegistrations)])
        case ("messages", 3):
            self = try ClientRoute.choose(
                method,
                [("GET", .showMessages(key: segments[2])), ("DELETE", .cancelMessages(key: segments[2]))],
            )
        case ("channels", 2):
            self = try ClientRoute.choose(method, [("POST", .createChannel), ("GET", .listChannels)])
        case ("channels", 3):
            self = try ClientRoute.choose(
                method,
                [("GET", .readChannel(id: segments[2])), ("DELETE", .deleteChannel(id: segments[2]))],
            )
        case ("channels", 4) where segments[3] == "messages":
            self = try ClientRoute.choose(method, [("POST", .sendToChannel(id: segments[2]))])
        default:
            throw ClientRoute.notFound
        }
    }

    private static let notFound = ClientError(.notFound, "there is no such path")

    private static func choose(
        _ method: String,
        _ routes: [(method: String, route: ClientRoute)],
    ) throws(ClientError) -> ClientRoute {
        guard let match = routes.first(where: { $0.method == method }) else {
            throw .methodNotAllowed(routes.map(\.method))
        }
        return match.route
    }
}
