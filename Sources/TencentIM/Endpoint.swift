import HTTPServer

/// A command of the server API that this gateway knows. The raw value is its path below `/v4/`.
enum Endpoint: String, CaseIterable, Sendable {
    case sendMessage = "openim/sendmsg"
    case batchSendMessage = "openim/batchsendmsg"
    case pushBatch = "timpush/batch"
    case pushAll = "timpush/push"
    case messageAll = "all_member_push/im_push"
    case messageGroup = "group_open_http_svc/send_group_msg"
    case revoke = "timpush/revoke"
    case pushTrace = "timpush/normal_push_trace"
    case memberPushTrace = "timpush/all_member_push_trace"
    case pushStatistics = "timpush/normal_push_statistics"
    case importAccount = "im_open_login_svc/account_import"
    case importAccounts = "im_open_login_svc/multiaccount_import"
    case checkAccounts = "im_open_login_svc/account_check"
    case deleteAccounts = "im_open_login_svc/account_delete"

    /// Whether its answer has a TaskId, an empty one where it failed.
    var answersWithTaskID: Bool {
        switch self {
        case .pushBatch, .pushAll, .messageAll: true
        default: false
        }
    }

    /// The command that a request's path names; nil if there is none. Tencent's names are case sensitive.
    init?(_ request: HTTPRequest) {
        // As clients write them, byte for byte, the busiest first; else by the segments, decoded.
        if let plain = Endpoint.plainPaths.first(where: { $0.path == request.path }) {
            self = plain.endpoint
            return
        }
        guard let segments = request.pathSegments, segments.count == 3, segments[0] == "v4" else { return nil }
        self.init(rawValue: segments[1] + "/" + segments[2])
    }

    private static let plainPaths = allCases.map { (path: "/v4/" + $0.rawValue, endpoint: $0) }
}
