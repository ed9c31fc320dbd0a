/// One request about broadcast channels (iOS 18). Apple: "Sending channel management requests to APNs" and "Sending broadcast
/// push notification requests to APNs".
public struct APNsChannelRequest: Sendable, Equatable {
    /// What is asked for.
    public enum Operation: Sendable, Equatable {
        /// A new channel, whose id comes back in ``APNsResponse/channelID``. The storage policy is 0, nothing, or 1, the most
        /// recent push; it can never be changed.
        case create(storagePolicy: Int)
        /// The channel's storage policy and push type, as JSON in ``APNsResponse/body``.
        case read(channelID: String)
        /// The ids of all channels of the app, as JSON in ``APNsResponse/body``.
        case list
        /// The end of a channel. What it stores may still go out.
        case delete(channelID: String)
        /// A push to all that follow the channel.
        ///
        /// - `priority`: apns-priority, 5 or 10.
        /// - `expiration`: apns-expiration in Unix seconds; a channel of policy 0 takes only 0.
        /// - `payload`: JSON, at most 5120 bytes.
        case broadcast(channelID: String, priority: Int, expiration: Int64, payload: [UInt8])
    }

    /// Bundle id of the app, without any suffix: APNs answers TopicDisallowed to one.
    public var bundleID: String
    /// What is asked for.
    public var operation: Operation
    /// apns-request-id, a lower-case UUID.
    public var requestID: String

    /// Makes a request.
    public init(bundleID: String, operation: Operation, requestID: String) {
        self.bundleID = bundleID
        self.operation = operation
        self.requestID = requestID
    }

    var service: APNsService {
        if case .broadcast = operation { .broadcast } else { .channelManagement }
    }

    var method: StaticString {
        switch operation {
        case .create, .broadcast: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    var path: String {
        switch operation {
        case .create, .read, .delete: "/1/apps/\(bundleID)/channels"
        case .list: "/1/apps/\(bundleID)/all-channels"
        case .broadcast: "/4/broadcasts/apps/\(bundleID)"
        }
    }

    var channelID: String? {
        switch operation {
        case .create, .list: nil
        case .read(let id), .delete(let id), .broadcast(let id, _, _, _): id
        }
    }

    var payload: [UInt8] {
        switch operation {
        case .create(let policy): Array(#"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#.utf8)
        case .broadcast(_, _, _, let payload): payload
        case .read, .list, .delete: []
        }
    }

    /// The reason that APNs would give for a value that no path or header can hold; see ``APNsRequest/refusal``.
    var refusal: String? {
        guard APNsRequest.isHeaderValue(bundleID, limit: 255), bundleID.utf8.allSatisfy(Self.isOfBundleID) else {
            return "BadPath"
        }
        guard APNsRequest.isHeaderValue(requestID, limit: 36) else { return "BadRequestParams" }
        if let channelID, !APNsRequest.isHeaderValue(channelID, limit: Self.longestChannelID) { return "BadChannelId" }
        return nil
    }

    /// Apple says not to assume a size; APNs' own were seen with 24 bytes.
    static let longestChannelID = 512

    private static func isOfBundleID(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
