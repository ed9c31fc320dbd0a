import LiveActivity

/// OfflinePushInfo: how a message shows on a phone that does not run the app.
struct OfflinePushInfo: Equatable {
    /// PushFlag 1: no push.
    var isPushOff: Bool
    /// Title for every platform.
    var title: String?
    /// The notification's text; takes the place of the text that derives from MsgBody.
    var text: String?
    /// Goes to the app as it came.
    var ext: String?
    /// MultiLanguageContent.
    var translations: [NotificationTranslation] = []
    /// BadgeSetNum, else BadgeAddNum, else ApnsInfo.BadgeMode, else what the endpoint has for a rule.
    var badge: BadgeChange
    /// AndroidInfo and HarmonyInfo, as far as they came: the text of a JSON object that holds both byte for byte.
    var otherPlatforms: [UInt8]?
    /// ApnsInfo.
    var apns: ApnsInfo
}

/// OfflinePushInfo.ApnsInfo: what concerns iPhones only.
struct ApnsInfo: Equatable {
    /// A file name in the app's bundle.
    var sound: String?
    /// Takes the place of OfflinePushInfo.Title.
    var title: String?
    /// SubTitle.
    var subtitle: String?
    /// URL of a picture for the app's service extension.
    var image: String?
    /// MutableContent 1: the service extension runs.
    var isMutable = false
    /// InterruptionLevel.
    var interruptionLevel: InterruptionLevel?
    /// BadgeMode: whether the push counts 1 on the app's icon; nil: the endpoint's rule.
    var countsOnBadge: Bool?
    /// ContentAvailable 1, and nothing that comes before it: the push wakes the app and shows nothing.
    var isSilent = false
    /// LiveActivity.
    var liveActivity: LiveActivityInfo?
}

/// OfflinePushInfo.ApnsInfo.LiveActivity.
struct LiveActivityInfo: Equatable {
    /// The app's id of the activity, 1 to 64 bytes.
    var laID: String
    /// Event.
    var event: ActivityEvent
    /// ContentState, byte for byte.
    var contentState: [UInt8]
    /// DismissalDate in seconds since 1970; nil on an update.
    var dismissalDate: Int64?
    /// What Tencent does not have; nil where the app does not allow it.
    var extensions: LiveActivityExtensions?
}
