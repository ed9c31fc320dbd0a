import Gateway
import HTTPServer
import VerbatimJSON

/// `timpush/revoke`: what waits of a push is not sent, and what was shown of it is replaced.
///
/// A notification, also one that stood in for an activity's push, is replaced by one with the replacement's content and
/// the same collapse id, on exactly the phones whose push APNs accepted. The state of a Live Activity stays: the next
/// update or end replaces it, and a notification would be one too many.
struct PushRevocation {
    let revoker: any MessageRevoker
    let caller: Caller
    /// Seconds since 1970.
    let now: Int64

    /// - Parameter randomNumbers: makes the part of the replacement's TaskId that nobody can guess.
    func answer(
        _ body: [UInt8],
        randomNumbers: inout some RandomNumberGenerator,
    ) async throws(TencentError) -> HTTPResponse {
        let fields = try RequestFields(bodyOf: body, code: .body)
        guard let key = try fields.string("TaskId"), !key.isEmpty else { throw fields.fault("TaskId", "missing") }
        let given = fields["OfflinePushInfo"]
        var warnings: [RequestWarning] = []
        let push = try given.map { value throws(TencentError) in
            try replacement(decoding: value, &warnings)
        }
        let message = ChatMessage(
            sender: caller.identifier,
            recipients: Recipients(),
            key: ChatMessage.taskID(
                "revoke",
                sdkAppID: caller.application.sdkAppID,
                now: now,
                randomNumbers: &randomNumbers,
            ),
            random: 0,
            time: now,
            isOnlineOnly: false,
            lifetime: PushOrder.maximumLifetime,
            push: push,
            warnings: warnings,
            content: [],
        )
        let prepared = try message.prepare(endpoint: .revoke, application: caller.application, nickname: nil)
        if push != nil, prepared.order.suppression == nil, prepared.order.notification.isNothing {
            throw TencentError(
                .offlinePushInfo,
                path: "OfflinePushInfo",
                "Title or Desc is needed to replace what was shown"
            )
        }
        let revocation = try await TencentError.translating { () async throws(GatewayUnavailable) in
            try await revoker.revoke(
                key,
                replacing: push == nil ? nil : prepared.order,
                by: caller.identifier,
                in: caller.application.sdkAppID
            )
        }
        switch revocation {
        case .revoked, .explained: break
        case .unknown: throw TencentError(.unknownTask, path: "TaskId", "there is no such push")
        case .revokedBefore: throw TencentError(.taskRevoked, path: "TaskId", "it was revoked before")
        case .tooOld: throw TencentError(.taskTooOld, path: "TaskId", "a push can be revoked for 24 hours")
        case .withoutReplacement: throw TencentError(.revokedWithoutReplacement, path: "OfflinePushInfo", "missing")
        case .tooSoon:
            throw TencentError(.revokedTooOften, "one push can be revoked in a second", retryAfter: 1)
        }
        return Answer.make(.ok) { writer in
            // Empty where the message was only explained.
            writer.member("TaskId", revocation == .explained ? "" : prepared.order.messageKey)
            Answer.write(prepared.warnings, to: &writer)
        }
    }

    private func replacement(
        decoding value: JSONValue,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> OfflinePushInfo {
        var push = try OfflinePushInfo(
            decoding: value,
            now: now,
            countsOnBadge: false,
            allowsExtensions: false,
            &warnings,
        )
        if push.apns.liveActivity != nil {
            push.apns.liveActivity = nil
            warnings.append(
                RequestWarning(
                    field: "OfflinePushInfo.ApnsInfo.LiveActivity",
                    code: .fieldNotSupported,
                    message: "a revocation replaces notifications; the next update or end replaces an activity's state",
                )
            )
        }
        if case .add = push.badge {
            push.badge = .unchanged
            // Absent or 0 counts nothing anyway.
        }
        return push
    }
}
