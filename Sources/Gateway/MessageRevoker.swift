/// Takes messages back. One object per lane, used on that lane's thread.
public protocol MessageRevoker: AnyObject {
    /// Cancels what waits of a message, and replaces what was shown of it.
    ///
    /// - Parameters:
    ///   - key: its MsgKey or TaskId.
    ///   - replacement: an order without recipients, which goes to the phones whose notification APNs accepted; one that
    ///     is suppressed replaces nothing. nil: the caller gave none.
    ///   - sender: the administrator who asks for it.
    func revoke(
        _ key: String,
        replacing replacement: PushOrder?,
        by sender: String,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Revocation
}

/// What became of a request to take a message back.
public enum Revocation: Sendable, Equatable {
    /// It is done; the replacement goes out.
    case revoked
    /// It would be done, and was only explained.
    case explained
    /// There is no such message.
    case unknown
    /// It was taken back before.
    case revokedBefore
    /// It was accepted more than 24 hours ago.
    case tooOld
    /// There is no replacement.
    case withoutReplacement
    /// The app took another back less than a second ago.
    case tooSoon
}

/// What became of messages. One object per lane, used on that lane's thread.
public protocol MessageRecords: AnyObject {
    /// The messages of an app that have this MsgKey or TaskId, newest first, at most ten; empty if there is none.
    func messages(
        withKey key: String,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [MessageRecord]

    /// How many pushes there were for messages of an app that were accepted from `start` until before `end`. What still
    /// waits is not among them.
    ///
    /// - Parameter endpoints: routes whose messages to audiences do not count.
    func pushCounts(
        from start: UnixTime,
        to end: UnixTime,
        in sdkAppID: Int64,
        exceptThrough endpoints: [String],
    ) async throws(GatewayUnavailable) -> PushCounts
}
