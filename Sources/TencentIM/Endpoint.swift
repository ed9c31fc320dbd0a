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

    /// The command that `pathSegments` names; nil if there is none. Tencent's names are case sensitive.
    init?(pathSegments: [String]?) {
        guard let pathSegments, pathSegments.count == 3, pathSegments[0] == "v4" else { return nil }
        self.init(rawValue: pathSegments[1] + "/" + pathSegments[2])
    }
}
