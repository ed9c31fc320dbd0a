/// What a dialect needs of the gateway. One object per lane, used on that lane's thread.
public protocol MessageGateway: AnyObject {
    /// The app as configured, or nil if there is none with that id.
    ///
    /// - Throws: ``GatewayUnavailable`` while a process that just began does not know yet what is configured: an app
    ///   that it has not read of may well be there; and where the app's secret key cannot be opened.
    func application(_ sdkAppID: Int64) throws(GatewayUnavailable) -> Application?

    /// Whether phones may register with this businessId of the app.
    func hasCertificate(businessID: Int64, in sdkAppID: Int64) -> Bool

    /// The time by PostgreSQL's clock.
    func now() -> UnixTime

    /// Checks a Live Activity's content by the schemas of the app, for the phones that are registered for it now.
    ///
    /// - Returns: nil if there is nothing to check, or by.
    func review(_ order: PushOrder) async throws(GatewayUnavailable) -> ContentReview?

    /// Stores a message durably, to be sent at its time. When this returns, the push will be tried whatever happens to
    /// this process. The content of one that is to be sent later is checked by the app's schemas when it is sent.
    ///
    /// - Throws: ``GatewayUnavailable``. Nothing is known to be stored then, and nothing is remembered of what was not.
    func accept(_ order: PlannedOrder) async throws(GatewayUnavailable) -> Acceptance

    /// Stores messages as ``accept(_:)-(PlannedOrder)`` does, all or none.
    ///
    /// - Returns: what each became, in order.
    /// - Throws: ``GatewayUnavailable``; nothing is known to be stored then.
    func accept(_ orders: [PlannedOrder]) async throws(GatewayUnavailable) -> [Acceptance]

    /// Whether anybody is in a segment of the app.
    func hasSegment(_ name: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> Bool

    /// The nickname of an imported account, nil if it has none.
    func nickname(of account: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> String?

    /// Imports accounts or changes the nickname and picture of imported ones. All or none.
    func importAccounts(_ profiles: [AccountProfile], in sdkAppID: Int64) async throws(GatewayUnavailable)

    /// Which of `accounts` are imported.
    func importedAccounts(among accounts: [String], in sdkAppID: Int64) async throws(GatewayUnavailable) -> AccountSet

    /// Erases accounts with their registrations. All or none.
    ///
    /// - Returns: those that had been imported.
    func deleteAccounts(_ accounts: [String], in sdkAppID: Int64) async throws(GatewayUnavailable) -> AccountSet
}

/// A message that is stored durably.
public struct AcceptedMessage: Sendable, Equatable {
    /// Its place in accept order.
    public let id: Int64
    /// When it was accepted.
    public let acceptedAt: UnixTime

    /// Makes a receipt.
    public init(id: Int64, acceptedAt: UnixTime) {
        self.id = id
        self.acceptedAt = acceptedAt
    }
}

/// What a request became.
public struct Acceptance: Sendable, Equatable {
    /// The message; of a repeat, the one that the first request became.
    public let message: AcceptedMessage
    /// The key that the caller of the first request was given.
    public let messageKey: String
    /// Whether the same request was accepted before, so that this one is pushed no more.
    public let isRepeat: Bool

    /// Makes an answer.
    public init(message: AcceptedMessage, messageKey: String, isRepeat: Bool) {
        self.message = message
        self.messageKey = messageKey
        self.isRepeat = isRepeat
    }
}

/// An account as the chat backend imports it.
public struct AccountProfile: Sendable, Equatable {
    /// UserID, 1 to 128 bytes.
    public var account: String
    /// Put before texts that derive from MsgBody; nil leaves what was imported before.
    public var nickname: String?
    /// URL of the account's picture; nil leaves what was imported before.
    public var faceURL: String?

    /// Makes a profile.
    public init(account: String, nickname: String?, faceURL: String?) {
        self.account = account
        self.nickname = nickname
        self.faceURL = faceURL
    }
}

/// The gateway cannot take the request now; the caller may repeat it.
public struct GatewayUnavailable: Error, Equatable {
    /// What is in the way.
    public enum Reason: Sendable, Equatable {
        /// PostgreSQL cannot be reached or lost the connection. A message may have been stored all the same.
        case databaseAway
        /// Too much work waits.
        case overloaded
        /// PostgreSQL refused the statement: a fault of this gateway or its schema, logged with its SQLSTATE.
        case databaseRefused
        /// The request is only to be explained, and is of a kind that sends nothing.
        case nothingToExplain
        /// The app, or its certificate, is stored, but this gateway cannot open its secret: another may.
        case secretNotReadable
        /// The request is over a limit of its app that holds for all gateways together. Nothing was stored.
        case overLimit(RateLimitExceeded)
    }

    /// What is in the way where it is a secret, in words for callers.
    public static let secretNotReadable =
        "this gateway cannot open what is stored of the app, since its LIVEPUSH_MASTER_KEY is not the one that sealed it; "
        + "try again"

    /// What is in the way.
    public let reason: Reason
    /// After how many seconds to try again.
    public let retryAfter: Int64

    /// Makes the error.
    public init(_ reason: Reason, retryAfter: Int64 = 5) {
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// The request is over a limit.
    public init(_ exceeded: RateLimitExceeded) {
        self.init(.overLimit(exceeded), retryAfter: exceeded.retryAfter)
    }
}
