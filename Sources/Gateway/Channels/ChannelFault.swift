public import LiveActivity

/// Why a request about channels came to nothing.
public enum ChannelFault: Error, Sendable, Equatable {
    /// A field of the order cannot be.
    case order(RegistrationFault)
    /// The push cannot work as it is, and was not sent. What is refused, never empty.
    case push([PayloadFinding])
    /// APNs answered, and not with what was asked for. The status is its own, the reason its word or `status N`.
    case refused(status: Int, reason: String, retryAfter: Int64?, requestID: String)
    /// Nothing was sent, since APNs refuses the signing key, with that reason.
    case held(reason: String, requestID: String)
    /// APNs did not answer. If it may have been processed, a repetition can do it twice.
    case unanswered(reason: String, mayHaveBeenProcessed: Bool, requestID: String)
    /// The gateway cannot take the request now.
    case unavailable(GatewayUnavailable)
}
