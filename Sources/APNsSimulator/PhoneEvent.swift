import VerbatimJSON

/// What became of one push to a phone.
struct PhoneEvent {
    /// How it went.
    enum Outcome {
        /// Something is to be seen or heard; perhaps a part of the push has no effect.
        case shown(Phone.Ignored?)
        /// Nothing is to be seen; the app was told.
        case woke
        /// APNs took it, and nothing came of it.
        case ignored(Phone.Ignored)
        /// APNs refused it, so that it never came to the phone.
        case refused(Refusal)
    }

    let receivedAt: UnixTime
    /// `start`, `update` or `end`; else the push type.
    let kind: String
    /// What the activity is called, as declared.
    let activity: String?
    /// nil of a broadcast to an activity that a push has started, which has none.
    let token: DeviceToken?
    let outcome: Outcome

    /// Writes the event as a JSON object; `receivedAt` is in milliseconds since 1970.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("receivedAt", receivedAt.milliseconds)
        writer.member("kind", kind)
        writer.member("activity", activity)
        writer.member("token", token?.fingerprint)
        switch outcome {
        case .shown(let ignored):
            writer.member("outcome", "shown")
            if let ignored {
                writer.key("ignoredPart")
                ignored.write(to: &writer)
            }
        case .woke:
            writer.member("outcome", "woke_app")
        case .ignored(let ignored):
            writer.member("outcome", "ignored")
            writer.member("reason", ignored.reason.rawValue)
            writer.member("explanation", ignored.reason.explanation)
        case .refused(let refusal):
            writer.member("outcome", "refused")
            writer.member("status", refusal.status)
            writer.member("reason", refusal.reason)
        }
        writer.endObject()
    }
}
