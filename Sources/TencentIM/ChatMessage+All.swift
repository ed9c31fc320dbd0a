import Gateway
import VerbatimJSON

extension ChatMessage {
    /// The longest body of `im_push` in bytes.
    static let maximumMessageAllBytes = 10 * 1024

    /// Decodes the body of `timpush/push`, which has OfflinePushInfo and nothing to read, or of `im_push`, which has
    /// MsgBody and goes, unless MsgLifeTime says otherwise, only to those who are online: to nobody's lock screen.
    ///
    /// - Parameters:
    ///   - form: `pushAll` or `messageAll`.
    ///   - sender: the caller's account, which sends where From_Account is absent.
    ///   - allowsExtensions: whether LiveActivity may have fields that Tencent does not have.
    ///   - now: seconds since 1970.
    ///   - randomNumbers: makes the part of TaskId that nobody can guess.
    /// - Throws: the first fault found.
    init(
        decodingToAll bytes: [UInt8],
        form: Form,
        sender: String,
        sdkAppID: Int64,
        allowsExtensions: Bool = false,
        now: Int64,
        randomNumbers: inout some RandomNumberGenerator,
    ) throws(TencentError) {
        let hasBody = form == .messageAll
        let fields = try RequestFields(bodyOf: bytes, code: .body)
        try ChatMessage.checkSize(
            of: bytes,
            fields,
            limit: hasBody ? ChatMessage.maximumMessageAllBytes : ChatMessage.maximumBodyBytes,
            code: hasBody ? .messageAllTooLong : .batchTooLong,
        )
        self.sender = try ChatMessage.sender(in: fields) ?? sender
        audience = try Audience(condition: fields.object("Condition"))
        recipients = try Recipients(decoding: nil, form: form)
        guard let random = try fields.integer("MsgRandom", in: ChatMessage.unsigned32, code: .random) else {
            throw fields.fault("MsgRandom", "missing", code: .random)
        }
        self.random = random
        time = now
        isOnlineOnly = false
        warnings = []
        body = hasBody ? try MessageBody(decoding: fields["MsgBody"]) : nil
        lifetime =
            hasBody ? try ChatMessage.lifetime(in: fields, absent: 0, &warnings) : PushOrder.maximumLifetime
        guard hasBody || fields["OfflinePushInfo"] != nil else {
            throw fields.fault("OfflinePushInfo", "missing", code: .offlinePushInfo)
        }
        key =
            hasBody
            ? ChatMessage.messageTaskID(sdkAppID: sdkAppID, now: now, randomNumbers: &randomNumbers)
            : ChatMessage.taskID("push", sdkAppID: sdkAppID, now: now, randomNumbers: &randomNumbers)
        content = (hasBody ? ["Condition", "MsgBody", "OfflinePushInfo"] : ["Condition", "OfflinePushInfo"])
            .map { fields[$0] }
        let sendTime = try SendTime.read(in: fields, allowsExtensions: allowsExtensions, now: now, &warnings)
        self.sendTime = sendTime
        push = try fields["OfflinePushInfo"].map { value throws(TencentError) in
            try OfflinePushInfo(
                decoding: value,
                now: max(now, sendTime ?? now),
                countsOnBadge: hasBody,
                allowsExtensions: allowsExtensions,
                &warnings,
            )
        }
    }

    /// TaskId in the form of Tencent's samples of `im_push`, which begin with the app; at most 47 bytes.
    private static func messageTaskID(
        sdkAppID: Int64,
        now: Int64,
        randomNumbers: inout some RandomNumberGenerator,
    ) -> String {
        "\(sdkAppID)_\(String(randomNumbers.next() as UInt64, radix: 16))_\(now)"
    }
}
