import LiveActivity

/// SendTime, an extension: when a message is to be sent. It stands in the body itself, beside MsgLifeTime, since a message
/// without LiveActivity may wait too.
enum SendTime {
    /// How long it may have passed, and how far ahead it may be, in seconds.
    static let range: ClosedRange<Int64> = -86_400...30 * 86_400

    /// Reads the field.
    ///
    /// - Parameters:
    ///   - allowsExtensions: without it the field is an unknown one, which is told: the message goes out at once.
    ///   - now: seconds since 1970.
    /// - Returns: seconds since 1970; nil: at once.
    static func read(
        in fields: RequestFields,
        allowsExtensions: Bool,
        now: Int64,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> Int64? {
        guard fields["SendTime"] != nil else { return nil }
        guard allowsExtensions else {
            let message = "counts only after `livepush app set --extensions on`; the message is sent at once"
            warnings.append(RequestWarning(field: "SendTime", code: .fieldNotSupported, message: message))
            return nil
        }
        let time = try fields.integer("SendTime", code: .offlinePushInfo) ?? now
        switch UnixSecondsCheck.classify(time, now: now) {
        case .milliseconds(let likely):
            throw fault(fields, "looks like milliseconds; in Unix seconds it would be \(likely)")
        case .referenceDate(let likely):
            throw fault(fields, "looks like seconds since 2001; in Unix seconds it would be \(likely)")
        case .plausible, .negative:
            break
        }
        guard (now + range.lowerBound...now + range.upperBound).contains(time) else {
            throw fault(fields, "must be at most a day ago and at most 30 days ahead")
        }
        return time
    }

    private static func fault(_ fields: RequestFields, _ text: String) -> TencentError {
        fields.fault("SendTime", text, code: .offlinePushInfo)
    }
}
