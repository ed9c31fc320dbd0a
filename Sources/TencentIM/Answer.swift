import Gateway
import HTTPServer
import VerbatimJSON

/// Tencent's answers. HTTP 200 always: the outcome is in the body.
enum Answer {
    /// As Tencent's servers send them.
    private static let headers: [(name: String, value: String)] = [
        ("Content-Type", "application/json"),
        ("Access-Control-Allow-Origin", "*"),
        ("Access-Control-Allow-Headers", "X-Requested-With"),
        ("Access-Control-Allow-Methods", "POST"),
    ]

    /// `ActionStatus`.
    enum Status: String {
        case ok = "OK"
        case someError = "SomeError"
        case fail = "FAIL"
    }

    /// The answer to a request that failed as a whole: the three fields that every answer has, and nothing else but an
    /// empty TaskId where the command answers with one, and what the caller should know besides.
    ///
    /// - Parameter endpoint: nil if there is no such command.
    static func failure(_ error: TencentError, _ endpoint: Endpoint?) -> HTTPResponse {
        make(.fail, error) { writer in
            if endpoint?.answersWithTaskID == true {
                writer.member("TaskId", "")
            }
            write(error.warnings, to: &writer)
        }
    }

    /// The answer to `sendmsg`; to a repeat it is the first one's.
    static func sent(
        _ message: ChatMessage,
        _ acceptance: Acceptance,
        _ warnings: [RequestWarning],
    ) -> HTTPResponse {
        make(.ok) { writer in
            let time = time(of: message, acceptance)
            writer.member("MsgTime", time)
            writeNames(of: message, acceptance, time: time, to: &writer)
            write(warnings, to: &writer)
        }
    }

    /// The answer to `batchsendmsg` where at least one recipient is left.
    static func batchSent(
        _ message: ChatMessage,
        _ acceptance: Acceptance,
        _ warnings: [RequestWarning],
    ) -> HTTPResponse {
        let failures = message.recipients.failures
        return make(failures.isEmpty ? .ok : .someError) { writer in
            writeNames(of: message, acceptance, time: time(of: message, acceptance), to: &writer)
            if !failures.isEmpty {
                write(failures, to: &writer) { _, _ in }
            }
            write(warnings, to: &writer)
        }
    }

    /// The answer to `timpush/batch` where at least one recipient is left: `OK` also where others failed, unlike
    /// `batchsendmsg`.
    static func pushed(
        _ message: ChatMessage,
        _ acceptance: Acceptance,
        _ warnings: [RequestWarning],
    ) -> HTTPResponse {
        make(.ok) { writer in
            writer.member("TaskId", acceptance.messageKey)
            write(message.recipients.failures, to: &writer) { failure, writer in
                writer.member("ErrorInfo", failure.info)
            }
            write(warnings, to: &writer)
        }
    }

    /// The answer to `timpush/push` and `im_push`.
    static func pushedToAll(_ acceptance: Acceptance, _ warnings: [RequestWarning]) -> HTTPResponse {
        make(.ok) { writer in
            writer.member("TaskId", acceptance.messageKey)
            write(warnings, to: &writer)
        }
    }

    /// The answer to `send_group_msg`; to a repeat it is the first one's. MsgKey, by which `GET /v1/messages` finds the
    /// message, is this gateway's own addition.
    static func groupSent(
        _ message: ChatMessage,
        _ acceptance: Acceptance,
        _ warnings: [RequestWarning],
    ) -> HTTPResponse {
        make(.ok) { writer in
            writer.member("MsgTime", time(of: message, acceptance))
            writer.member("MsgSeq", MessageKey(acceptance.messageKey)?.sequence ?? acceptance.message.id)
            writer.member("MsgKey", acceptance.messageKey)
            write(warnings, to: &writer)
        }
    }

    /// An answer with the three fields that every one has, and what `write` adds.
    static func make(
        _ status: Status,
        _ error: TencentError? = nil,
        _ write: (inout JSONWriter) -> Void,
    ) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("ActionStatus", status.rawValue)
        writer.member("ErrorInfo", error?.info ?? "")
        writer.member("ErrorCode", error?.code.rawValue ?? 0)
        write(&writer)
        writer.endObject()
        var response = HTTPResponse(status: 200, headers: headers, body: writer.bytes)
        if let retryAfter = error?.retryAfter {
            response.headers.append(("Retry-After", String(retryAfter)))
        }
        response.outcomeCode = error?.code.rawValue ?? 0
        return response
    }

    /// MsgId: clients take it for opaque; the SDKs' own have this form. Both are empty where nothing was accepted, since
    /// the message was only explained.
    private static func writeNames(
        of message: ChatMessage,
        _ acceptance: Acceptance,
        time: Int64,
        to writer: inout JSONWriter,
    ) {
        writer.member("MsgKey", acceptance.messageKey)
        let isNamed = !acceptance.messageKey.isEmpty
        writer.member("MsgId", isNamed ? DecimalText.joined(acceptance.message.id, time, message.random, by: "-") : "")
    }

    /// MsgTime, the one that MsgKey names.
    private static func time(of message: ChatMessage, _ acceptance: Acceptance) -> Int64 {
        guard acceptance.isRepeat else { return message.time }
        return MessageKey(acceptance.messageKey)?.time ?? acceptance.message.acceptedAt.seconds
    }

    private static func write(
        _ failures: [Recipients.Failure],
        to writer: inout JSONWriter,
        more: (Recipients.Failure, inout JSONWriter) -> Void,
    ) {
        writer.key("ErrorList")
        writer.beginArray()
        for failure in failures {
            writer.beginObject()
            writer.member("To_Account", failure.account)
            writer.member("ErrorCode", failure.code.rawValue)
            more(failure, &writer)
            writer.endObject()
        }
        writer.endArray()
    }

    /// The member `Warnings`, if there are any.
    static func write(_ warnings: [RequestWarning], to writer: inout JSONWriter) {
        guard !warnings.isEmpty else { return }
        writer.key("Warnings")
        writer.beginArray()
        for warning in warnings {
            writer.beginObject()
            writer.member("Field", warning.field)
            writer.member("Code", warning.code.word)
            writer.member("Message", warning.message)
            writer.endObject()
        }
        writer.endArray()
    }
}
