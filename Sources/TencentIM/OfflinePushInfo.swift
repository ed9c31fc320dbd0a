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
}
