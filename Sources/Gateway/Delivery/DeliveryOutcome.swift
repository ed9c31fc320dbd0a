/// What became of a target, written once into its delivery row. The words are SEMANTICS of the table `delivery`.
public enum DeliveryOutcome: String, Sendable {
    /// APNs answered 200. No proof that the phone showed anything.
    case acceptedByAPNs = "accepted_by_apns"
    /// APNs answered 410: the token will not work again.
    case tokenDead = "token_dead"
    /// APNs refused the push, or this gateway did where APNs surely would.
    case refused
    /// The deadline passed before APNs accepted it.
    case expired
    /// A newer message was claimed for the activity first.
    case superseded
    /// The state is the one that the last push brought within a minute.
    case unchanged
    /// The sender wanted no push.
    case suppressed
    /// The app is in front on that device.
    case foreground
    /// APNs accepted an `end` for the activity before.
    case activityEnded = "activity_ended"
    /// No target, or nothing to show.
    case nothingToSend = "nothing_to_send"
    /// The registration was cleared while the push waited.
    case cancelled
    /// The message was under way in three instances that died.
    case quarantined
}
