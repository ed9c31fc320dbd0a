import Gateway
import HTTPServer
import VerbatimJSON

/// `timpush/normal_push_trace` and `timpush/all_member_push_trace`: what became of a push at each phone, from the delivery
/// rows.
///
/// PushID is what the push's answer called it: its TaskId, or the MsgKey of a message. An apns-id is none: it belongs to
/// one phone, and each element names its own. The names of the fields are Tencent's; what they hold where Tencent
/// publishes nothing is ours, and Outcome with what follows is added. DeviceStat is always unknown: APNs does not tell
/// whether a phone showed anything.
struct PushTrace {
    /// How long a push can be asked for, in seconds.
    private static let window: Int64 = 7 * 86_400

    let records: any MessageRecords
    let sdkAppID: Int64
    /// Seconds since 1970.
    let now: Int64

    /// Answers `normal_push_trace`: every phone of every recipient.
    func ofPush(_ body: [UInt8]) async throws(TencentError) -> HTTPResponse {
        let fields = try RequestFields(bodyOf: body, code: .body)
        return try await answer(try key("PushID", in: fields)) { _ in true }
    }

    /// Answers `all_member_push_trace`: every phone of one recipient.
    func ofMember(_ body: [UInt8]) async throws(TencentError) -> HTTPResponse {
        let fields = try RequestFields(bodyOf: body, code: .body)
        let key = try key("TaskID", in: fields)
        guard let account = try fields.string("UserID"), Account.isValid(account) else {
            throw fields.fault("UserID", "must be a string of \(Account.limits)")
        }
        // By bytes: Swift's `==` would take an account that only looks like it for it.
        return try await answer(key) { $0.account.utf8.elementsEqual(account.utf8) }
    }

    private func key(_ name: String, in fields: RequestFields) throws(TencentError) -> String {
        guard let key = try fields.string(name), !key.isEmpty else { throw fields.fault(name, "missing") }
        return key
    }

    private func answer(
        _ key: String,
        _ isWanted: (RecipientRecord) -> Bool,
    ) async throws(TencentError) -> HTTPResponse {
        let found = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await records.messages(withKey: key, in: sdkAppID)
        }
        let messages = found.filter { $0.acceptedAt.seconds > now - PushTrace.window }
        guard !messages.isEmpty else {
            throw TencentError(.unknownTask, "there is no such push of the last 7 days")
        }
        return Answer.make(.ok) { writer in
            writer.key("InstanceTrace")
            writer.beginArray()
            for message in messages {
                for recipient in message.recipients where isWanted(recipient) {
                    PushTrace.write(recipient, of: message, to: &writer)
                }
            }
            writer.endArray()
        }
    }

    private static func write(_ recipient: RecipientRecord, of message: MessageRecord, to writer: inout JSONWriter) {
        let isSent = recipient.attempts > 0
        let isAccepted = recipient.outcome == DeliveryOutcome.acceptedByAPNs.rawValue
        let sentAt = recipient.sentAt?.seconds
        writer.beginObject()
        writer.member("InstanceId", recipient.installation ?? "")
        writer.member("PushTime", sentAt ?? message.acceptedAt.seconds)
        writer.member("DeviceModel", "")
        writer.member("System", "iOS")
        writer.member("SystemVersion", recipient.osVersion ?? "")
        writer.member("EventType", message.event ?? "push")
        writer.member("PushPlatform", "APNs")
        writer.member("Token", recipient.tokenFingerprint ?? "")
        writer.member("CertId", recipient.businessID ?? 0)
        writer.member("SdkVersion", "")
        writer.member("PushVersion", "")
        writer.member("NotificationStatus", isAccepted ? 1 : 0)
        writer.member("last_active_terminal", "")
        writer.key("IMCommitStat")
        writer.beginObject()
        stage("IMStat", isReached: true, info: "", at: message.acceptedAt.seconds, to: &writer)
        writer.endObject()
        writer.key("OfflinePushStat")
        writer.beginObject()
        let reason = recipient.routeReason ?? recipient.reason ?? recipient.outcome
        stage("OfflineStat", isReached: isSent, info: reason, at: sentAt, to: &writer)
        stage(
            "ChannelStat",
            isReached: isAccepted,
            code: recipient.apnsStatus,
            info: recipient.apnsReason ?? recipient.outcome,
            at: isSent ? recipient.finishedAt?.seconds : nil,
            to: &writer,
        )
        stage("DeviceStat", isReached: false, info: "unknown", at: nil, to: &writer)
        writer.endObject()
        writer.member("To_Account", recipient.account)
        writer.member("Outcome", recipient.outcome)
        writer.member("Route", recipient.route)
        writer.member("RouteReason", recipient.routeReason)
        writer.member("ApnsId", recipient.apnsID)
        writer.member("ApnsStatus", recipient.apnsStatus)
        writer.member("ApnsReason", recipient.apnsReason)
        writer.member("Environment", recipient.environment)
        writer.endObject()
    }

    /// - Parameters:
    ///   - isReached: whether the push got through this stage.
    ///   - code: of the stage's own answer; 0 where it is reached.
    ///   - info: why it is not.
    private static func stage(
        _ name: String,
        isReached: Bool,
        code: Int64? = nil,
        info: String,
        at time: Int64?,
        to writer: inout JSONWriter,
    ) {
        writer.key(name)
        writer.beginObject()
        writer.member("PushStatus", isReached ? 1 : 0)
        writer.member("ErrorCode", isReached ? 0 : code ?? 0)
        writer.member("ErrorInfo", isReached ? "success" : info)
        writer.member("EventTime", time ?? 0)
        writer.endObject()
    }
}
