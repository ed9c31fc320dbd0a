/// One app as configured with `livepush app`.
public struct Application: Sendable, Equatable {
    /// Language of the texts that stand for a message element, such as `[image]`.
    public enum PlaceholderLanguage: String, Sendable {
        case international
        case chinese
    }

    /// Which fallback notifications replace each other on the phone.
    public enum FallbackCollapse: String, Sendable {
        /// None: each message has its own collapse id.
        case message
        /// Those of one (account, activity).
        case activity
    }

    /// The SDKAppID.
    public var sdkAppID: Int64
    /// The key that signs UserSigs, as text bytes (Tencent does not decode its hex). Never log it.
    public var secretKey: [UInt8]
    /// Accounts that may call the server API.
    public var administrators: Set<String>
    /// Whether a recipient must have been imported.
    public var requiresImportedAccounts: Bool
    /// Whether Title and Desc are copied into the alert of Live Activity pushes.
    public var copiesAlertToLiveActivity: Bool
    /// apns-priority of Live Activity updates, 5 or 10; nil: by the rule of the dialect.
    public var liveActivityPriority: Int?
    /// Which fallbacks replace each other.
    public var fallbackCollapse: FallbackCollapse
    /// Language of placeholder texts.
    public var placeholderLanguage: PlaceholderLanguage
    /// Whether its callers may use fields that the vendor of the API does not have, such as a start of an activity.
    public var allowsExtensions: Bool
    /// Whether Pushwoosh's API may be called for it, which can start activities.
    public var hasApplicationCode = false
    /// Keeps its callers to its limits; nil: it has none.
    public var rateLimiter: RateLimiter?
    /// What its phones decode; nil: it has no schema, so that nothing is checked.
    public var contentSchemas: ContentSchemas?

    /// Makes an app's configuration.
    public init(
        sdkAppID: Int64,
        secretKey: [UInt8],
        administrators: Set<String>,
        requiresImportedAccounts: Bool = false,
        copiesAlertToLiveActivity: Bool = false,
        liveActivityPriority: Int? = nil,
        fallbackCollapse: FallbackCollapse = .message,
        placeholderLanguage: PlaceholderLanguage = .international,
        allowsExtensions: Bool = false,
        rateLimiter: RateLimiter? = nil,
        contentSchemas: ContentSchemas? = nil,
    ) {
        self.sdkAppID = sdkAppID
        self.secretKey = secretKey
        self.administrators = administrators
        self.requiresImportedAccounts = requiresImportedAccounts
        self.copiesAlertToLiveActivity = copiesAlertToLiveActivity
        self.liveActivityPriority = liveActivityPriority
        self.fallbackCollapse = fallbackCollapse
        self.placeholderLanguage = placeholderLanguage
        self.allowsExtensions = allowsExtensions
        self.rateLimiter = rateLimiter
        self.contentSchemas = contentSchemas
    }

    /// Whether its activities may be started by push, and their updates may have alerts of their own.
    var mayStartActivities: Bool { allowsExtensions || hasApplicationCode }
}
