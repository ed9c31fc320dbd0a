import Gateway
import VerbatimJSON

extension ChatMessage {
    /// The longest GroupId in bytes; Tencent's own are shorter.
    static let maximumGroupIDBytes = 128
    /// The most elements of GroupAtInfo.
    static let maximumMentions = 30

    /// Decodes the body of `send_group_msg`. It goes to To_Account, else to the segment that GroupId names. What is wrong
    /// with a field outside OfflinePushInfo is 10004 with its path, as Tencent has it for groups.
    ///
    /// - Parameters:
    ///   - sender: the caller's account, which sends where From_Account is absent.
    ///   - allowsExtensions: whether LiveActivity may have fields that Tencent does not have.
    ///   - now: seconds since 1970.
    ///   - randomNumbers: makes MsgSeq.
    /// - Throws: the first fault found.
    init(
        decodingGroup bytes: [UInt8],
        sender: String,
        allowsExtensions: Bool = false,
        now: Int64,
        randomNumbers: inout some RandomNumberGenerator,
    ) throws(TencentError) {
        let fields = try RequestFields(bodyOf: bytes, code: .groupParameter)
        try ChatMessage.checkSize(of: bytes, fields, code: .groupBodyTooLong)
        let group = try ChatMessage.groupID(in: fields)
        recipients = try Recipients(decoding: fields["To_Account"], form: .group)
        audience = recipients.accounts.isEmpty ? .segments(all: [group], any: []) : nil
        self.sender =
            try TencentError.coding(.groupParameter) { () throws(TencentError) in
                try ChatMessage.sender(in: fields)
            } ?? sender
        guard let random = try fields.integer("Random", in: ChatMessage.unsigned32) else {
            throw fields.fault("Random", "missing")
        }
        self.random = random
        sequence = nil
        let keySequence = Int64.random(in: ChatMessage.unsigned32, using: &randomNumbers)
        key = MessageKey(sequence: keySequence, random: random, time: now).text
        time = now
        isOnlineOnly = try fields.flag("OnlineOnlyFlag")
        lifetime = PushOrder.maximumLifetime
        body = try TencentError.coding(.groupParameter) { () throws(TencentError) in
            try MessageBody(decoding: fields["MsgBody"])
        }
        warnings = []
        try ChatMessage.checkIgnoredGroupFields(fields)
        content = ["GroupId", "TopicId", "MsgBody", "OfflinePushInfo", "CloudCustomData"].map { fields[$0] }
        let sendTime = try SendTime.read(in: fields, allowsExtensions: allowsExtensions, now: now, &warnings)
        self.sendTime = sendTime
        push = try fields["OfflinePushInfo"].map { value throws(TencentError) in
            try OfflinePushInfo(
                decoding: value,
                now: max(now, sendTime ?? now),
                countsOnBadge: true,
                allowsExtensions: allowsExtensions,
                &warnings,
            )
        }
    }

    private static func groupID(in fields: RequestFields) throws(TencentError) -> String {
        guard let group = try fields.string("GroupId") else { throw fields.fault("GroupId", "missing") }
        guard (1...maximumGroupIDBytes).contains(group.utf8.count) else {
            throw fields.fault("GroupId", "must have 1 to \(maximumGroupIDBytes) bytes", code: .groupID)
        }
        return group
    }

    /// What concerns the showing and storing of chat, which this gateway does not do; wrong types are refused.
    private static func checkIgnoredGroupFields(_ fields: RequestFields) throws(TencentError) {
        try fields.checkStrings("ForbidCallbackControl")
        try fields.checkStrings("SendMsgControl")
        _ = try fields.string("CloudCustomData")
        _ = try fields.string("TopicId")
        _ = try fields.integer("SupportMessageExtension")
        _ = try fields.integer("NeedReadReceipt")
        if let priority = try fields.string("MsgPriority"),
            !["High", "Normal", "Low", "Lowest"].contains(priority)
        {
            throw fields.fault("MsgPriority", "must be High, Normal, Low or Lowest")
        }
        let mentions = try fields.objects("GroupAtInfo") ?? []
        guard mentions.count <= maximumMentions else {
            throw fields.fault(
                "GroupAtInfo",
                "has \(mentions.count) elements, at most \(maximumMentions) are allowed",
                code: .groupMentions,
            )
        }
        for mention in mentions {
            let isAll = try mention.flag("GroupAtAllFlag")
            let account = try mention.string("GroupAt_Account")
            guard isAll || account != nil else { throw mention.fault("GroupAt_Account", "missing") }
        }
    }
}
