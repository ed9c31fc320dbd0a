/// The `apns-topic` of a push (Apple: "Sending notification requests to APNs").
public enum PushTopic {
    /// What the topic of push type `liveactivity` has behind the bundle id.
    static let liveActivitySuffix = ".push-type.liveactivity"

    /// The topic of push type `liveactivity`.
    public static func liveActivity(bundleID: String) -> String {
        bundleID + Self.liveActivitySuffix
    }

    /// The topic of push types `alert` and `background`: the bundle id alone.
    public static func alert(bundleID: String) -> String {
        bundleID
    }

    /// The bundle id of a text that is the topic of Live Activity pushes; nil: it is none.
    public static func bundleID(ofTopic text: String) -> String? {
        guard text.hasSuffix(liveActivitySuffix), text.utf8.count > liveActivitySuffix.utf8.count else { return nil }
        return String(text.dropLast(liveActivitySuffix.count))
    }

    /// Whether a text can be a bundle id: 1 to 155 letters, digits, `-` and `.`.
    public static func isBundleID(_ text: String) -> Bool {
        1...155 ~= text.utf8.count
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): true
                default: false
                }
            }
    }
}
