import Gateway
import LiveActivity

/// A request that failed. Pushwoosh answers HTTP 200 to what its arguments are to blame for.
struct PushwooshFault: Error, Equatable {
    /// `status_code`.
    enum Code: Int, Sendable {
        /// An argument is wrong.
        case argument = 210
        /// The request cannot be read at all, or there is no such method.
        case malformed = 400
        /// The API token does not allow it.
        case forbidden = 403
        /// The gateway cannot take it now.
        case unavailable = 500

        /// The HTTP status that goes with it.
        var httpStatus: Int { self == .argument ? 200 : rawValue }
    }

    /// What is wrong.
    var code: Code
    /// `status_message`: the field's path, then what is wrong with it. Never holds what the field contains.
    var message: String
    /// After how many seconds to try again, where that helps.
    var retryAfter: Int64?

    init(_ code: Code, _ message: String, retryAfter: Int64? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// A fault of the field at `path`.
    init(path: String, _ fault: String) {
        self.init(.argument, "\(path): \(fault)")
    }

    init(_ unavailable: GatewayUnavailable) {
        switch unavailable.reason {
        case .databaseAway:
            self.init(.unavailable, "the database is away, try again", retryAfter: unavailable.retryAfter)
        case .overloaded:
            self.init(.unavailable, "too much work waits, try again later", retryAfter: unavailable.retryAfter)
        case .databaseRefused:
            self.init(.unavailable, "internal error: the database refused the request")
        case .secretNotReadable:
            self.init(
                .unavailable,
                GatewayUnavailable.secretNotReadable,
                retryAfter: unavailable.retryAfter,
            )
        case .nothingToExplain:
            self.init(.argument, "there is nothing to explain: the method sends nothing")
        case .overLimit(let exceeded):
            self.init(exceeded)
        }
    }

    init(_ exceeded: RateLimitExceeded) {
        self.init(.unavailable, exceeded.message, retryAfter: exceeded.retryAfter)
    }

    /// Runs `body` and puts what is in the gateway's way into this API's words.
    static func translating<Value>(
        _ body: () async throws(GatewayUnavailable) -> Value
    ) async throws(PushwooshFault) -> Value {
        do {
            return try await body()
        } catch {
            throw PushwooshFault(error)
        }
    }

    /// The same of a limit of a registration; the field's name is that of the request.
    static func refusing<Value>(
        _ body: () throws(RegistrationFault) -> Value
    ) throws(PushwooshFault) -> Value {
        do {
            return try body()
        } catch {
            throw PushwooshFault(path: error.field, error.message)
        }
    }
}
