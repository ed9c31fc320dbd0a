/// An answer of APNs that is not 200.
struct Refusal: Error, Equatable {
    var status: Int
    /// Apple's word, as "Handling notification responses from APNs" lists them.
    var reason: String
    /// Milliseconds since 1970, in answers with status 410: since when the token is known to be dead.
    var timestamp: Int64?
    /// Seconds, for the header `retry-after`. Apple documents none; some clients read it.
    var retryAfter: Int64?

    init(_ status: Int, _ reason: String, timestamp: Int64? = nil, retryAfter: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }
}
