/// A push that passed every check of APNs.
struct AcceptedPush {
    let token: DeviceToken
    let topic: PushTopic
    let pushType: PushType
    /// 1, 5 or 10, which is also what a push without the header has.
    let priority: Int
    /// `apns-id`, if the sender gave one.
    let id: String?
    let collapseID: String?
    let payload: PushPayload
    /// Whether it is a start whose `input-push-channel` is no channel of the app in this environment.
    var namesUnknownChannel = false
    /// Whether it is a broadcast that its channel had stored, which may be hours old.
    var isStored = false
}
