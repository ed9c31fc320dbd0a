/// A method of Pushwoosh's API that this gateway knows. The raw value is its path below `/json/1.3/`.
enum PushwooshMethod: String, CaseIterable, Sendable {
    case startLiveActivity
    case updateLiveActivity
    case registerDevice
    case unregisterDevice
    case registerUser
    case setActivityToken
    case setActivityPushToStartToken

    /// The method that `pathSegments` names; nil if there is none.
    init?(pathSegments: [String]?) {
        guard let pathSegments, pathSegments.count == 3, pathSegments[0] == "json", pathSegments[1] == "1.3" else {
            return nil
        }
        self.init(rawValue: pathSegments[2])
    }

    /// What an API token must be good for. A server's is good for all.
    var isForServers: Bool { self == .startLiveActivity || self == .updateLiveActivity }
}
