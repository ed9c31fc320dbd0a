/// The limits of one app, as configured with `livepush app`. What is nil has none.
///
/// Each holds in one gateway process: two of them together let through twice as much.
public struct RateLimits: Sendable, Equatable {
    /// Requests to the server API, of all callers together. Tencent has 200 for each command.
    public var requestsPerSecond: Int64?
    /// Requests to the server API of one identifier.
    public var callerRequestsPerSecond: Int64?
    /// Recipients of messages to several; a call with 500 counts 500. Tencent has 12,000.
    public var batchRecipientsPerMinute: Int64?
    /// Requests of phones that act for one account; Tencent's SDKs know it as 72010.
    public var clientRequestsPerMinute: Int64?
    /// Calls of one identifier with a UserSig that is not accepted, before they are answered 70050.
    public var userSigFailuresPerMinute: Int64?

    /// Makes the limits of an app.
    public init(
        requestsPerSecond: Int64? = nil,
        callerRequestsPerSecond: Int64? = nil,
        batchRecipientsPerMinute: Int64? = nil,
        clientRequestsPerMinute: Int64? = nil,
        userSigFailuresPerMinute: Int64? = nil,
    ) {
        self.requestsPerSecond = requestsPerSecond
        self.callerRequestsPerSecond = callerRequestsPerSecond
        self.batchRecipientsPerMinute = batchRecipientsPerMinute
        self.clientRequestsPerMinute = clientRequestsPerMinute
        self.userSigFailuresPerMinute = userSigFailuresPerMinute
    }
}
