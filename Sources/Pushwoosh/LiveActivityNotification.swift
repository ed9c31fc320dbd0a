import Gateway
import LiveActivity

/// One element of `notifications`: decoded, every field checked.
struct LiveActivityNotification: Equatable {
    /// Who gets it.
    enum Target: Equatable {
        /// Everybody on one of whose phones the activity runs: an update that names nobody.
        case activity
        /// Every account of the app: a start that names nobody.
        case everyone
        /// The accounts of these users.
        case users([String])
        /// Phones, by their device tokens or their hwids.
        case devices([String])
        /// A segment.
        case filter(String)
        /// Accounts on whose phones activities with these tokens run: an update of the API's oldest form.
        case tokens([PushToken])
    }

    /// `live_activity_id`; nil where tokens tell the activity.
    var laID: String?
    /// Event, state, dates and alert.
    var content: ActivityContent
    /// `apns_priority`, 10; nil: 5.
    var priority: Int?
    /// What a notification shows that stands in.
    var fallback: NotificationContent
    /// Who gets it.
    var target: Target
    /// When it is sent; nil: at once.
    var sendAt: UnixTime?
    /// What the caller should know.
    var warnings: [RequestWarning]

    /// What the gateway is asked to do.
    ///
    /// - Parameters:
    ///   - laID: the activity.
    ///   - tokens: of the devices, where the target is devices.
    ///   - accounts: on whose phones the activity runs, where the target is tokens.
    func order(
        _ method: PushwooshMethod,
        code: String,
        application: ApplicationCode,
        laID: String,
        tokens: [PushToken] = [],
        accounts: [String] = [],
    ) -> PushOrder {
        let recipients: [String]
        let audience: Audience?
        switch target {
        case .activity: (recipients, audience) = ([], .activity(laID))
        case .everyone: (recipients, audience) = ([], .everyone)
        case .users(let users): (recipients, audience) = (users, nil)
        case .devices: (recipients, audience) = ([], .devices(tokens))
        case .tokens: (recipients, audience) = (accounts, nil)
        case .filter(let segment): (recipients, audience) = ([], .segments(all: [segment], any: []))
        }
        return PushOrder(
            dialect: .pushwoosh,
            endpoint: method.rawValue,
            sdkAppID: application.sdkAppID,
            messageKey: code,
            sender: application.code,
            recipients: recipients,
            audience: audience,
            activity: ActivityInstruction(
                laID: laID,
                content: content,
                defaultDismissal: .system,
                priority: priority,
                priorityRule: .caller,
            ),
            notification: fallback,
            suppression: nil,
            lifetime: PushOrder.maximumLifetime,
        )
    }
}
