/// The values of `apns-push-type` with what each asks of the other headers (Apple: "Sending notification requests to
/// APNs").
enum PushType: String, CaseIterable {
    case alert
    case background
    case complication
    case controls
    case fileprovider
    case liveactivity
    case location
    case mdm
    case pushtotalk
    case voip
    case widgets

    /// What follows the bundle ID in the topic.
    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .complication: ".complication"
        case .controls: ".push-type.controls"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .voip: ".voip"
        case .widgets: ".push-type.widgets"
        }
    }

    /// Bytes that the body may have.
    var maximumPayload: Int {
        self == .voip ? 5120 : 4096
    }
}
