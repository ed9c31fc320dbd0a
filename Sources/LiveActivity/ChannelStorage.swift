/// What a broadcast channel keeps for phones that are away: its `message-storage-policy`, which never changes (Apple: "Sending
/// channel management requests to APNs").
public enum ChannelStorage: Int, Sendable, Equatable {
    /// Nothing; in return the channel may send more often.
    case none = 0
    /// The most recent push, for eight hours at most.
    case mostRecent = 1

    /// The word for it in tables, requests and options.
    public var word: String {
        switch self {
        case .none: "none"
        case .mostRecent: "recent"
        }
    }

    /// - Parameter word: see ``word``.
    public init?(word: String) {
        switch word {
        case "none": self = .none
        case "recent": self = .mostRecent
        default: return nil
        }
    }

    /// How long a stored push is kept at most.
    public static let longestLife: Duration = .seconds(8 * 3600)
}
