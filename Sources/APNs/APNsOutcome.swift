/// What became of one request.
public enum APNsOutcome: Sendable, Equatable {
    /// APNs answered.
    case responded(APNsResponse)
    /// No answer came. If it may have been processed, a repetition can reach the phone twice.
    case unanswered(APNsFailure, mayHaveBeenProcessed: Bool)
    /// Nothing was sent: an operator has to mend something first.
    case held(APNsHold)
}

/// An answer of APNs.
public struct APNsResponse: Sendable, Equatable {
    /// HTTP status. To pushes 200 means accepted; to requests about channels also 201, created, and 204, deleted.
    public var status: Int
    /// `reason` of the JSON body; nil on 200 and where the body is not Apple's JSON.
    public var reason: String?
    /// `timestamp` of a 410, in milliseconds since 1970: since when the token is invalid.
    public var timestampMilliseconds: Int64?
    /// apns-id, or apns-request-id, as APNs echoed or made it.
    public var apnsID: String?
    /// retry-after in seconds; Apple does not document it, but it is honoured where it comes.
    public var retryAfterSeconds: Int64?
    /// apns-channel-id of a channel that was created.
    public var channelID: String?
    /// The body of an answer that grants what was asked about channels; empty to pushes.
    public var body: [UInt8] = []
    /// Since APNs last refused a push to this token because of key or topic, it took others' with the same: what it
    /// refuses again is this token's own.
    public var othersPass = false

    /// Makes an answer.
    public init(
        status: Int,
        reason: String? = nil,
        timestampMilliseconds: Int64? = nil,
        apnsID: String? = nil,
        retryAfterSeconds: Int64? = nil,
    ) {
        self.status = status
        self.reason = reason
        self.timestampMilliseconds = timestampMilliseconds
        self.apnsID = apnsID
        self.retryAfterSeconds = retryAfterSeconds
    }
}

/// Why no answer came.
public struct APNsFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Kind: String, Sendable {
        /// No connection could be made: resolving, TCP, TLS or HTTP/2 failed.
        case connectFailed = "connect_failed"
        /// The connection ended before an answer.
        case connectionLost = "connection_lost"
        /// APNs refused the stream again and again; nothing was processed.
        case streamRefused = "stream_refused"
        /// APNs reset the stream.
        case streamReset = "stream_reset"
        /// No answer within the deadline.
        case timeout
        /// The client was closed or the key retired.
        case closed
        /// More pushes of the same key wait than there is room for, and get nowhere; this one was not sent.
        case backlogged
        /// The provider token that the fleet shares could not be got; nothing was sent.
        case providerTokenUnavailable = "provider_token_unavailable"
    }

    /// The kind of failure, also the word in delivery rows.
    public let kind: Kind
    /// For people: host and the trouble with it, such as a certificate that does not verify. Holds no content.
    public let detail: String

    /// Makes a failure.
    public init(_ kind: Kind, detail: String = "") {
        self.kind = kind
        self.detail = detail
    }

    /// The word in delivery rows.
    public var reason: String { kind.rawValue }

    /// The word with the detail.
    public var description: String { detail.isEmpty ? kind.rawValue : "\(kind.rawValue): \(detail)" }
}

/// Why nothing is sent with a key, or to one topic with it: APNs refused it, or the connection that it authenticates.
public struct APNsHold: Sendable, Equatable {
    /// APNs' reason, such as `InvalidProviderToken`.
    public let reason: String
    /// Whether only pushes to one topic are held, not all of the key.
    public let isAboutTopic: Bool
    /// Only one recipient was refused so far, and another is being tried: the answer is there in a moment.
    public let isUnconfirmed: Bool

    /// No provider token could be made with the key, which is not APNs' fault.
    public static let tokenNotSigned = "ProviderTokenNotSigned"

    /// Makes a hold.
    public init(reason: String, isAboutTopic: Bool = false, isUnconfirmed: Bool = false) {
        self.reason = reason
        self.isAboutTopic = isAboutTopic
        self.isUnconfirmed = isUnconfirmed
    }

    init(_ refusal: ConfigurationCircuit.Refusal, isAboutTopic: Bool = false) {
        self.init(reason: refusal.reason, isAboutTopic: isAboutTopic, isUnconfirmed: refusal.isUnconfirmed)
    }
}
