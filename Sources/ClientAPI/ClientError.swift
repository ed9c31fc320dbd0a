import Gateway
import HTTPServer
import VerbatimJSON

/// A request that is refused. Holds nothing of what was sent but numbers.
struct ClientError: Error, Equatable {
    let code: ClientErrorCode
    let message: String
    /// The name of the field or query parameter at fault.
    var field: String?
    /// Methods for `Allow`, where the method is at fault.
    var allowedMethods: [String] = []
    /// What APNs said of a request about channels.
    var apns: APNsDetail?
    /// Seconds for `Retry-After`.
    var retryAfter: Int64?

    init(_ code: ClientErrorCode, _ message: String, field: String? = nil) {
        self.code = code
        self.message = message
        self.field = field
    }

    init(_ unavailable: GatewayUnavailable) {
        self.init(
            .unavailable,
            unavailable.reason == .secretNotReadable
                ? GatewayUnavailable.secretNotReadable : "the gateway cannot take the request now, repeat it later",
        )
        self.retryAfter = unavailable.retryAfter
    }

    init(_ exceeded: RateLimitExceeded) {
        self.init(.rateLimited, exceeded.message)
        self.retryAfter = exceeded.retryAfter
    }

    init(_ error: UserSigError) {
        let code: ClientErrorCode =
            switch error {
            case .expired: .userSigExpired
            case .empty, .malformed: .userSigMalformed
            case .wrongSignature, .otherIdentifier, .otherApplication: .userSigWrongSignature
            }
        self.init(code, error.message)
    }

    init(_ fault: RegistrationFault) {
        let code: ClientErrorCode =
            switch fault.kind {
            case .missing: .missingField
            case .wrongType: .wrongType
            case .invalidValue: .invalidValue
            case .invalidToken: .invalidToken
            case .unknownBusinessID: .unknownBusinessID
            }
        self.init(code, fault.message, field: fault.field)
    }

    /// Runs `body` and answers a fault as a request's.
    static func refusing<Value>(_ body: () throws(RegistrationFault) -> Value) throws(ClientError) -> Value {
        do throws(RegistrationFault) {
            return try body()
        } catch {
            throw ClientError(error)
        }
    }

    static func methodNotAllowed(_ allowed: [String]) -> ClientError {
        var error = ClientError(.methodNotAllowed, "this path has only: \(allowed.joined(separator: ", "))")
        error.allowedMethods = allowed
        return error
    }

    var response: HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("error")
        writer.beginObject()
        writer.member("code", code.rawValue)
        writer.member("message", message)
        writer.member("field", field)
        apns?.write(to: &writer)
        writer.endObject()
        writer.endObject()
        var headers: [(name: String, value: String)] = []
        if !allowedMethods.isEmpty {
            headers.append(("Allow", allowedMethods.joined(separator: ", ")))
        }
        if let retryAfter {
            headers.append(("Retry-After", String(retryAfter)))
        }
        if code.status == 401 {
            // RFC 9110, 11.6.1: a 401 names the scheme that it wants.
            headers.append(("WWW-Authenticate", "Bearer"))
        }
        return .json(code.status, writer.bytes, headers: headers)
    }
}
