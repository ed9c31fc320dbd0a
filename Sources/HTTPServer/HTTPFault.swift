/// What the server itself refuses a request for. The raw value is the machine word of the answer.
enum HTTPFault: String, Error, CaseIterable {
    case malformedRequest = "malformed_request"
    case targetNotEncoded = "target_not_encoded"
    case requestTimeout = "request_timeout"
    case bodyTooLarge = "body_too_large"
    case contentCodingNotImplemented = "content_coding_not_implemented"
    case expectationFailed = "expectation_failed"
    case headTooLarge = "head_too_large"
    case methodNotImplemented = "method_not_implemented"
    case transferCodingNotImplemented = "transfer_coding_not_implemented"
    case tooManyConnections = "too_many_connections"
    case versionNotSupported = "http_version_not_supported"

    var status: Int {
        switch self {
        case .malformedRequest, .targetNotEncoded: 400
        case .requestTimeout: 408
        case .bodyTooLarge: 413
        case .contentCodingNotImplemented: 415
        case .expectationFailed: 417
        case .headTooLarge: 431
        case .methodNotImplemented, .transferCodingNotImplemented: 501
        case .tooManyConnections: 503
        case .versionNotSupported: 505
        }
    }

    var message: String {
        switch self {
        case .malformedRequest: "The request is not valid HTTP/1.1."
        case .targetNotEncoded: "The URL holds bytes that must be percent-encoded, such as %C3%A4 or %20."
        case .requestTimeout: "The request did not arrive in time."
        case .bodyTooLarge: "The request body is too large."
        case .contentCodingNotImplemented: "The body must come without a Content-Encoding, such as gzip."
        case .expectationFailed: "The only expectation that can be met is 100-continue."
        case .headTooLarge: "The request line and headers are too large."
        case .methodNotImplemented: "The request method is not implemented."
        case .transferCodingNotImplemented: "The only transfer coding that is implemented is chunked."
        case .tooManyConnections: "Too many connections are open; try again later."
        case .versionNotSupported: "Only HTTP/1.1 and HTTP/1.0 are supported."
        }
    }
}
