/// A push that passed every check of APNs.
struct AcceptedPush {
    let token: DeviceToken
    let topic: PushTopic
    let pushType: PushType
    let payload: PushPayload
}
