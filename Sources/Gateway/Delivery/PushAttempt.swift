import APNs
public import LiveActivity

/// One push to one target: what goes to APNs, before it is turned into bytes.
public struct PushAttempt: Sendable, Equatable {
    /// Which of the delivery's targets it is for.
    public var target: Int
    /// The installation, from which apns-id derives.
    public var installation: String
    /// Which payload is sent.
    public var kind: DeliveryTarget.Kind
    /// Where the push goes on the phone's side.
    public var token: PushToken
    /// Where it goes on Apple's side.
    public var destination: PushDestination
    /// aps.timestamp, Unix seconds; activity pushes only.
    public var timestamp: Int64?
    /// apns-expiration, Unix seconds.
    public var expiration: Int64
    /// apns-priority.
    public var priority: Int
    /// Which translation of the notification is sent, by its position; nil: the message's own texts.
    public var translation: Int?
    /// The number for the icon; nil: it stays.
    public var badge: Int64?
    /// What is sent in place of the message's own content; nil: that itself.
    var checkedContent: CheckedContent?
    /// The iOS version of the phone that a start goes to; nil: unknown, or another push.
    var system: IOSVersion?
    /// The alert of an older update that goes along with this one's state.
    var waitingAlert: WaitingAlert?
    /// The newer state that goes out again, under the ids of its message, with this one's alert.
    var sentState: SentState?
    /// The message whose alert the push carries; nil: it carries none.
    var alertMessageID: Int64?

    /// Whether it is a Live Activity push, a start included.
    var isActivity: Bool { kind != .device }
}
