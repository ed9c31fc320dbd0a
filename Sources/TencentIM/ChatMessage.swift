import Gateway
import VerbatimJSON

/// A message as the sending commands carry it: decoded, every field checked.
struct ChatMessage {
    /// Which of them it came by.
    enum Form: Sendable {
        /// `sendmsg`: To_Account is one account.
        case single
        /// `batchsendmsg`: To_Account is an array of 1 to 500.
        case batch
        /// `timpush/batch`: as `batch`, without MsgBody.
        case push
        /// `timpush/push`: as `push`, to all or to segments.
        case pushAll
        /// `im_push`: a message with MsgBody to all or to segments.
        case messageAll
        /// `send_group_msg`: to a segment, or to To_Account of at most 50.
        case group

        /// Nil for a command that sends nothing.
        init?(_ endpoint: Endpoint) {
            switch endpoint {
            case .sendMessage: self = .single
            case .batchSendMessage: self = .batch
            case .pushBatch: self = .push
            case .pushAll: self = .pushAll
            case .messageAll: self = .messageAll
            case .messageGroup: self = .group
            case .revoke, .pushTrace, .memberPushTrace, .pushStatistics, .importAccount, .importAccounts,
                .checkAccounts, .deleteAccounts:
                return nil
            }
        }
    }

    /// From_Account, or the caller.
    var sender: String
    /// To_Account, with what already failed.
    var recipients: Recipients
    /// To whom it goes where it names no accounts.
    var audience: Audience?
    /// What the caller and upstream know the message by: MsgKey or TaskId, at most 50 bytes.
    var key: String
    /// MsgSeq; nil where the caller left it to the server.
    var sequence: Int64?
    /// MsgRandom.
    var random: Int64
    /// When it was accepted, in seconds since 1970. The caller's own MsgTimeStamp counts for nothing.
    var time: Int64
    /// SendTime, in seconds since 1970; nil: at once.
    var sendTime: Int64?
    /// OnlineOnlyFlag.
    var isOnlineOnly: Bool
    /// MsgLifeTime in seconds, 0 to 604,800.
    var lifetime: Int64
    /// MsgBody, as far as a push needs it; nil: a push has none.
    var body: MessageBody?
    /// OfflinePushInfo.
    var push: OfflinePushInfo?
    /// What the caller should know.
    var warnings: [RequestWarning]
    /// The fields that another request must share to be a repeat of this one, each nil where it is absent. Not among
    /// them is what says how chat is stored, and MsgTimeStamp, which a client may renew when it repeats.
    var content: [JSONValue?]
}
