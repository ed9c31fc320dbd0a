import Gateway
import VerbatimJSON

extension ChatMessage {
    /// The longest DataId in bytes.
    static let maximumDataIDBytes = 64

    /// Decodes the body of `timpush/batch`: a push that is no chat message. It has no MsgBody, so Title and Desc are all
    /// that it shows, and no MsgLifeTime, so it may be tried for seven days.
    ///
    /// - Parameters:
    ///   - sender: the caller's account, which sends where From_Account is absent, as in chat.
    ///   - allowsExtensions: whether LiveActivity may have fields that Tencent does not have.
    ///   - now: seconds since 1970.
    ///   - randomNumbers: makes the part of TaskId that nobody can guess.
    /// - Throws: the first fault found.
    init(
        decodingPush bytes: [UInt8],
        sender: String,
        sdkAppID: Int64,
        allowsExtensions: Bool = false,
        now: Int64,
        randomNumbers: inout some RandomNumberGenerator,
    ) throws(TencentError) {
        let fields = try RequestFields(bodyOf: bytes, code: .body)
        try ChatMessage.checkSize(of: bytes, fields, code: .batchTooLong)
        self.sender = try ChatMessage.sender(in: fields) ?? sender
        recipients = try Recipients(decoding: fields["To_Account"], form: .push)
        guard let random = fields["MsgRandom"]?.integer, ChatMessage.unsigned32.contains(random) else {
            // The code and the words that Tencent documents for this command; chat has 90005.
            throw TencentError(.body, "Invalid format of MsgRandom")
        }
        self.random = random
        guard try fields.string("DataId")?.utf8.count ?? 0 <= ChatMessage.maximumDataIDBytes else {
            throw fields.fault(
                "DataId",
                "has more than \(ChatMessage.maximumDataIDBytes) bytes",
                code: .dataIDTooLong,
            )
        }
        guard let info = fields["OfflinePushInfo"] else {
            throw fields.fault("OfflinePushInfo", "missing", code: .offlinePushInfo)
        }
        warnings = []
        let sendTime = try SendTime.read(in: fields, allowsExtensions: allowsExtensions, now: now, &warnings)
        self.sendTime = sendTime
        push = try OfflinePushInfo(
            decoding: info,
            now: max(now, sendTime ?? now),
            countsOnBadge: false,
            allowsExtensions: allowsExtensions,
            &warnings,
        )
        key = ChatMessage.taskID("batch", sdkAppID: sdkAppID, now: now, randomNumbers: &randomNumbers)
        time = now
        isOnlineOnly = false
        lifetime = PushOrder.maximumLifetime
        content = ["OfflinePushInfo", "DataId"].map { fields[$0] }
    }

    /// TaskId in the form of Tencent's samples, at most 48 bytes: the time, the app, and a random number.
    ///
    /// - Parameter kind: the word that it begins with.
    static func taskID(
        _ kind: String,
        sdkAppID: Int64,
        now: Int64,
        randomNumbers: inout some RandomNumberGenerator,
    ) -> String {
        let parts = [UInt64(clamping: now), UInt64(clamping: sdkAppID), randomNumbers.next()]
        return "\(kind)_" + parts.map { String($0, radix: 16) }.joined(separator: "_")
    }
}
