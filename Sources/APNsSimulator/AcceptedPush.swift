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
}
