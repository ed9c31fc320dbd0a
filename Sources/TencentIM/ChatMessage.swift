/// A message as `sendmsg` or `batchsendmsg` carries it: decoded, every field checked.
struct ChatMessage {
    /// Which of the two it came by.
    enum Form: Sendable {
        /// `sendmsg`: To_Account is one account.
        case single
        /// `batchsendmsg`: To_Account is an array of 1 to 500.
        case batch
    }

    /// From_Account, or the caller.
    var sender: String
    /// To_Account, with what already failed.
    var recipients: Recipients
    /// MsgSeq, or a random number where the caller sent none.
    var sequence: Int64
    /// MsgRandom.
    var random: Int64
    /// When it was accepted, in seconds since 1970. The caller's own MsgTimeStamp counts for nothing.
    var time: Int64
    /// OnlineOnlyFlag.
    var isOnlineOnly: Bool
    /// MsgLifeTime in seconds, 0 to 604,800.
    var lifetime: Int64
    /// MsgBody, as far as a push needs it.
    var body: MessageBody
    /// OfflinePushInfo.
    var push: OfflinePushInfo?
    /// What the caller should know.
    var warnings: [RequestWarning]

    /// What the caller and upstream know the message by, at most 32 bytes.
    var key: String {
        "\(sequence)_\(random)_\(time)"
    }
}
