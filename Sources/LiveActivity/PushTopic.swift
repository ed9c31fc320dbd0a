/// The `apns-topic` of a push (Apple: "Sending notification requests to APNs").
public enum PushTopic {
    /// The topic of push type `liveactivity`.
    public static func liveActivity(bundleID: String) -> String {
        "\(bundleID).push-type.liveactivity"
    }

    /// The topic of push types `alert` and `background`: the bundle id alone.
    public static func alert(bundleID: String) -> String {
        bundleID
    }
}
