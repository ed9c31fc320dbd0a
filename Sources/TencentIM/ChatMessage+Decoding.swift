import Gateway
import VerbatimJSON

extension ChatMessage {
    /// The longest body in bytes, To_Account not counted: 500 accounts alone may be longer.
    static let maximumBodyBytes = 12 * 1024

    /// Decodes the body of `sendmsg` or `batchsendmsg`.
    ///
    /// - Parameters:
    ///   - sender: the caller's account, which sends where From_Account is absent.
    ///   - allowsExtensions: whether LiveActivity may have fields that Tencent does not have.
    ///   - now: seconds since 1970.
    ///   - randomNumbers: makes the MsgSeq that the caller left to the server.
    /// - Throws: the first fault found.
    init(
        decoding bytes: [UInt8],
        form: Form,
        sender: String,
        allowsExtensions: Bool = false,
        now: Int64,
        randomNumbers: inout some RandomNumberGenerator,
    ) throws(TencentError) {
        let fields = try RequestFields(bodyOf: bytes, code: .body)
        try ChatMessage.checkSize(of: bytes, fields, code: form == .single ? .bodyTooLong : .batchTooLong)
        recipients = try Recipients(decoding: fields["To_Account"], form: form)
        self.sender = try ChatMessage.sender(in: fields) ?? sender
        guard let random = try fields.integer("MsgRandom", in: ChatMessage.unsigned32, code: .random) else {
            throw fields.fault("MsgRandom", "missing", code: .random)
        }
        self.random = random
        sequence = try fields.integer("MsgSeq", in: ChatMessage.unsigned32, code: .sequence)
        let keySequence = sequence ?? Int64.random(in: ChatMessage.unsigned32, using: &randomNumbers)
        key = MessageKey(sequence: keySequence, random: random, time: now).text
        _ = try fields.integer("MsgTimeStamp", code: .timestamp)
        _ = try fields.integer("SyncOtherMachine", code: .syncOtherMachine)
        time = now
        isOnlineOnly = try fields.flag("OnlineOnlyFlag")
        body = try MessageBody(decoding: fields["MsgBody"])
        warnings = []
        lifetime = try ChatMessage.lifetime(in: fields, &warnings)
        let sendTime = try SendTime.read(in: fields, allowsExtensions: allowsExtensions, now: now, &warnings)
        self.sendTime = sendTime
        try ChatMessage.checkIgnoredFields(fields)
        content = ["MsgBody", "OfflinePushInfo", "CloudCustomData"].map { fields[$0] }
        push = try fields["OfflinePushInfo"].map { value throws(TencentError) in
            try OfflinePushInfo(
                decoding: value,
                // Its dates are of the time at which it is sent.
                now: max(now, sendTime ?? now),
                countsOnBadge: true,
                allowsExtensions: allowsExtensions,
                &warnings,
            )
        }
    }

    static let unsigned32: ClosedRange<Int64> = 0...Int64(UInt32.max)

    /// - Parameters:
    ///   - limit: in bytes.
    ///   - code: of a body that is too long.
    static func checkSize(
        of bytes: [UInt8],
        _ fields: RequestFields,
        limit: Int = maximumBodyBytes,
        code: TencentError.Code,
    ) throws(TencentError) {
        let counted = bytes.count - (fields["To_Account"]?.verbatim.count ?? 0)
        guard counted <= limit else {
            throw TencentError(
                code,
                "the body without To_Account has \(counted) bytes, at most \(limit) are allowed",
            )
        }
    }

    /// From_Account; nil if it is absent.
    static func sender(in fields: RequestFields) throws(TencentError) -> String? {
        guard let value = fields["From_Account"] else { return nil }
        guard let sender = value.string, Account.isValid(sender) else {
            throw fields.fault("From_Account", "must be a string of \(Account.limits)", code: .sender)
        }
        return sender
    }

    /// Tencent documents both that more than seven days count as seven and that they are refused; SDKs rely on the first.
    ///
    /// - Parameter absent: what counts where there is none.
    static func lifetime(
        in fields: RequestFields,
        absent: Int64 = PushOrder.maximumLifetime,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> Int64 {
        let longest = PushOrder.maximumLifetime
        var given = beyond64Bits(fields["MsgLifeTime"])
        if given == nil {
            given = try fields.integer("MsgLifeTime", code: .lifetimeNotInteger)
        }
        guard let lifetime = given else { return absent }
        guard lifetime >= 0 else {
            throw fields.fault("MsgLifeTime", "must not be negative", code: .lifetimeOutOfRange)
        }
        guard lifetime <= longest else {
            warnings.append(
                RequestWarning(
                    field: "MsgLifeTime",
                    code: .lifetimeClamped,
                    message: "more than seven days count as \(longest) seconds",
                )
            )
            return longest
        }
        return lifetime
    }

    /// The nearest number that 64 bits hold, for a whole number that they do not: too long is clamped, however long.
    private static func beyond64Bits(_ value: JSONValue?) -> Int64? {
        guard let value, value.kind == .number, value.integer == nil else { return nil }
        let isNegative = value.verbatim.first == UInt8(ascii: "-")
        let digits = value.verbatim.dropFirst(isNegative ? 1 : 0)
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return isNegative ? Int64.min : Int64.max
    }

    /// What concerns the storing of chat, which this gateway does not do. Wrong types are refused all the same: they
    /// would be at Tencent.
    private static func checkIgnoredFields(_ fields: RequestFields) throws(TencentError) {
        try fields.checkStrings("ForbidCallbackControl")
        try fields.checkStrings("SendMsgControl")
        _ = try fields.string("CloudCustomData")
        _ = try fields.integer("SupportMessageExtension")
        _ = try fields.integer("IsNeedReadReceipt")
    }
}
