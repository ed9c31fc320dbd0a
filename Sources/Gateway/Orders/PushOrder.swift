public import LiveActivity

/// What a message asks for, the same for every dialect.
public struct PushOrder: Sendable, Equatable {
    /// The API through which a message came.
    public enum Dialect: String, Sendable {
        /// Tencent's IM REST API.
        case tencent
    }

    /// Why the sender wants no push of any kind. Recorded as `suppressed` with this reason.
    public enum Suppression: String, Sendable {
        /// Tencent: `OfflinePushInfo.PushFlag` is 1.
        case pushFlag = "push_flag"
        /// Tencent: `OnlineOnlyFlag` is 1.
        case onlineOnly = "online_only"
        /// Tencent: `MsgLifeTime` is 0.
        case noLifetime = "no_lifetime"
    }

    /// The API through which it came.
    public var dialect: Dialect
    /// The route through which it came, such as `openim/sendmsg`.
    public var endpoint: String
    /// The app that sends.
    public var sdkAppID: Int64
    /// The key that the caller is given, at most 50 bytes.
    public var messageKey: String
    /// The sending account.
    public var sender: String
    /// The receiving accounts, each once, in the caller's order; empty where there is an ``audience``.
    public var recipients: [String]
    /// Who gets the message, where it names no accounts.
    public var audience: Audience?
    /// What to do with the recipients' Live Activities; nil: the message is a plain notification.
    public var activity: ActivityInstruction?
    /// What a notification shows, whether it is the message itself or the fallback.
    public var notification: NotificationContent
    /// What the sender wrote for phones of other makers: the text of a JSON object with the members that came, each
    /// byte for byte. Nothing here acts on it; it is kept and erased with the order.
    public var otherPlatforms: [UInt8]?
    /// Set where no push of any kind is wanted.
    public var suppression: Suppression?
    /// Schemas all versions of which take the content, so that it is not checked again; not stored.
    public var fitsAll: ContentSchemas?
    /// How long a push may be tried, in seconds from accept, 0 to 604,800.
    public var lifetime: Int64
    /// The message that was taken back, whose notifications this one replaces, and goes nowhere else.
    public var replaced: ReplacedMessage?

    /// Makes an order. The dialect has checked every limit before.
    public init(
        dialect: Dialect,
        endpoint: String,
        sdkAppID: Int64,
        messageKey: String,
        sender: String,
        recipients: [String],
        audience: Audience? = nil,
        activity: ActivityInstruction?,
        notification: NotificationContent,
        suppression: Suppression?,
        lifetime: Int64,
        otherPlatforms: [UInt8]? = nil,
    ) {
        self.dialect = dialect
        self.endpoint = endpoint
        self.sdkAppID = sdkAppID
        self.messageKey = messageKey
        self.sender = sender
        self.recipients = recipients
        self.audience = audience
        self.activity = activity
        self.notification = notification
        self.suppression = suppression
        self.lifetime = lifetime
        self.otherPlatforms = otherPlatforms
    }

    /// The longest lifetime, seven days; also the default of an absent `MsgLifeTime`.
    public static let maximumLifetime: Int64 = 604_800
}
