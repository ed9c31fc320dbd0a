/// What an app wants done with a content-state that its iOS app cannot decode, as configured with `livepush app`.
public struct ContentRules: Sendable, Equatable {
    /// What becomes of it.
    public enum Policy: String, Sendable {
        /// It is refused, with the place.
        case reject
        /// A normal notification goes out instead.
        case fallback
        /// It is sent, with a warning.
        case warn
    }

    /// What becomes of it.
    public var policy: Policy
    /// Whether a date that counts otherwise than from 2001 in seconds is rewritten, rather than taken for a fault.
    public var convertsDates: Bool

    /// - Parameters:
    ///   - policy: what becomes of such a state.
    ///   - convertsDates: whether misread dates are rewritten.
    public init(policy: Policy = .reject, convertsDates: Bool = false) {
        self.policy = policy
        self.convertsDates = convertsDates
    }
}
