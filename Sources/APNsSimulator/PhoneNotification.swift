import VerbatimJSON

/// A notification on the lock screen.
struct PhoneNotification {
    /// The `apns-id`, or a number of the phone's own if the sender gave none.
    let id: String
    let collapseID: String?
    let bundleID: String
    let alert: PushAlert
    let badge: Int32?
    let threadID: String?
    let interruptionLevel: String?
    let receivedAt: UnixTime

    /// Writes the notification as a JSON object; `receivedAt` is in milliseconds since 1970.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", id)
        writer.member("collapseId", collapseID)
        writer.member("bundleId", bundleID)
        alert.write(to: &writer)
        writer.member("badge", badge)
        writer.member("threadId", threadID)
        writer.member("interruptionLevel", interruptionLevel)
        writer.member("receivedAt", receivedAt.milliseconds)
        writer.endObject()
    }
}
