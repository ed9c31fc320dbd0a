/// Every word that `error.code` can be in an answer under /v1. A client may switch over them; new ones can come.
public enum ClientErrorCode: String, Sendable, CaseIterable {
    /// 400: the body is not strict JSON (RFC 8259, each name once, no U+0000).
    case malformedJSON = "malformed_json"
    /// 400: the path or the query is not percent-encoded UTF-8, or holds U+0000.
    case malformedURL = "malformed_url"
    /// 400: `explain` is in the query of a request that sends nothing.
    case explainNotSupported = "explain_not_supported"
    /// 401: there is no `Authorization: Bearer <UserSig>`.
    case unauthorized
    /// 401: the UserSig cannot be decoded.
    case userSigMalformed = "usersig_malformed"
    /// 401: the UserSig was good and is too old: get a new one from the backend and repeat.
    case userSigExpired = "usersig_expired"
    /// 401: the UserSig was not signed with the secret key of its app.
    case userSigWrongSignature = "usersig_wrong_signature"
    /// 401: there is no app with the SDKAppID of the UserSig.
    case unknownApp = "unknown_app"
    /// 403: only an administrator's UserSig may act for another account, or ask about messages.
    case forbidden
    /// 404: there is no such path.
    case notFound = "not_found"
    /// 404: the app has no message with this key, or its record was deleted since.
    case unknownMessage = "unknown_message"
    /// 404: the account has no device token on the installation; register one first.
    case unknownInstallation = "unknown_installation"
    /// 404: APNs has no such channel in this environment.
    case unknownChannel = "unknown_channel"
    /// 409: the message does not wait for its time any more, so that it cannot be cancelled.
    case alreadySent = "already_sent"
    /// 405: the path does not have this method; `Allow` has the others.
    case methodNotAllowed = "method_not_allowed"
    /// 422: a field that must be there is absent or null.
    case missingField = "missing_field"
    /// 422: a field has another type than it must have.
    case wrongType = "wrong_type"
    /// 422: a field has a value that it cannot have.
    case invalidValue = "invalid_value"
    /// 422: the token is neither hex nor base64, or not 32 to 256 bytes; or one for an activity is a device token or a
    /// push-to-start token.
    case invalidToken = "invalid_token"
    /// 422: the app has no certificate with this businessId.
    case unknownBusinessID = "unknown_business_id"
    /// 422: the push has more bytes than APNs takes; `message` has both numbers.
    case payloadTooLarge = "payload_too_large"
    /// 502: APNs did not do it; `apns.status` and `apns.reason` say why. Without a status nothing was sent, since APNs refuses
    /// the signing key.
    case apnsRefused = "apns_refused"
    /// 504: APNs did not answer; `apns.mayHaveBeenProcessed` tells whether it may have done it all the same.
    case apnsNoAnswer = "apns_no_answer"
    /// 429: too many requests for one account; repeat after `Retry-After` seconds. Tencent's SDKs know it as 72010.
    case rateLimited = "rate_limited"
    /// 503: APNs wants fewer requests, or is not well: repeat after a while, or after `Retry-After` seconds where it names them.
    case apnsUnavailable = "apns_unavailable"
    /// 503: repeat after `Retry-After` seconds.
    case unavailable

    /// The HTTP status that goes with it.
    public var status: Int {
        switch self {
        case .malformedJSON, .malformedURL, .explainNotSupported: 400
        case .unauthorized, .userSigMalformed, .userSigExpired, .userSigWrongSignature, .unknownApp: 401
        case .forbidden: 403
        case .notFound, .unknownMessage, .unknownInstallation, .unknownChannel: 404
        case .methodNotAllowed: 405
        case .alreadySent: 409
        case .missingField, .wrongType, .invalidValue, .invalidToken, .unknownBusinessID, .payloadTooLarge: 422
        case .rateLimited: 429
        case .apnsRefused: 502
        case .unavailable, .apnsUnavailable: 503
        case .apnsNoAnswer: 504
        }
    }
}
