/// What the gateway knows of a message that was accepted, without its content.
public struct MessageRecord: Sendable, Equatable {
    /// When it was accepted.
    public var acceptedAt: UnixTime
    /// The sending account.
    public var sender: String
    /// The route through which it came, such as `openim/sendmsg`.
    public var endpoint: String
    /// The activity that it instructs; nil: a plain notification.
    public var laID: String?
    /// `update` or `end`; nil: a plain notification.
    public var event: String?
    /// Its time, while it waits for it, and where it was cancelled before; nil: it was sent.
    public var schedule: ScheduleRecord?
    /// What became of it: of each recipient one for each target, or one that says why there is none.
    ///
    /// Of a message to an audience the first ``mostOfAudience``, by account.
    public var recipients: [RecipientRecord]
    /// How far it has come; nil: it went to accounts that the sender named.
    public var fanOut: FanOutRecord?

    /// Of how many targets of an audience is told.
    public static let mostOfAudience = 1000
}

/// How far a message to an audience has come.
public struct FanOutRecord: Sendable, Equatable {
    /// `activity`, `devices`, `everyone` or `segments`.
    public var audience: String
    /// `waiting` until its first recipients are looked up, then `under_way`; `listed`, `superseded`, `expired`, `suppressed`,
    /// `cancelled` or `quarantined` once it has ended.
    public var state: String
    /// How many recipients were found so far.
    public var listed: Int64 = 0
    /// The key of the newer message that superseded it.
    public var endedBy: String?
    /// What logs and views show in place of the device tokens that nobody had registered.
    public var unknownDevices: [String] = []
    /// When its first recipients were looked up.
    public var startedAt: UnixTime?
    /// When it ended. Recipients may still wait for another attempt.
    public var finishedAt: UnixTime?
    /// How many targets have each outcome, in the order of the words; `retrying` are recipients.
    public var outcomes: [(outcome: String, count: Int64)] = []

    init(audience: String, state: String) {
        self.audience = audience
        self.state = state
    }

    /// Compares all of them.
    public static func == (left: FanOutRecord, right: FanOutRecord) -> Bool {
        left.audience == right.audience && left.state == right.state && left.listed == right.listed
            && left.endedBy == right.endedBy && left.unknownDevices == right.unknownDevices
            && left.startedAt == right.startedAt && left.finishedAt == right.finishedAt
            && left.outcomes.elementsEqual(right.outcomes, by: ==)
    }
}

/// Where a message stands that was to be sent later.
public struct ScheduleRecord: Sendable, Equatable {
    /// When it is, or was, to be sent.
    public var sendAt: UnixTime
    /// When it was cancelled; nil: it waits.
    public var cancelledAt: UnixTime?
    /// Who cancelled it: an administrator's account, or what did.
    public var cancelledBy: String?
}

/// What became of one message at one target of one recipient, or where it stands.
public struct RecipientRecord: Sendable, Equatable {
    /// What stands for an outcome while nothing is decided.
    static let retrying = "retrying"

    /// The receiving account.
    public var account: String
    /// A ``DeliveryOutcome``, or `retrying` while nothing is decided, from the moment of the acceptance on.
    public var outcome: String
    /// The installation; nil where nothing was sent to any, or none is known yet.
    public var installation: String?
    /// `live_activity`, `notification` or `none`; nil while it is not chosen.
    public var route: String?
    /// Why that route.
    public var routeReason: String?
    /// Whether the notification stands in for a Live Activity push.
    public var isFallback = false
    /// While it waits: when it is tried next.
    public var nextAttemptAt: UnixTime?
    /// While it waits: why.
    public var reason: String?
    /// HTTP status of APNs' last answer; nil: none came.
    public var apnsStatus: Int64?
    /// Reason in APNs' last answer, or why there was none.
    public var apnsReason: String?
    /// `apns-id` of the push, the same on every attempt; nil: none was sent.
    public var apnsID: String?
    /// How many pushes were sent.
    public var attempts: Int64 = 0
    /// `apns-priority` that was sent.
    public var priority: Int64?
    /// Why that priority.
    public var priorityReason: String?
    /// `aps.timestamp` that was sent, in seconds since 1970.
    public var timestampSent: Int64?
    /// When the last attempt was sent.
    public var sentAt: UnixTime?
    /// When the outcome was written; nil: it is not yet.
    public var finishedAt: UnixTime?
    /// What logs and views show in place of the token.
    public var tokenFingerprint: String?
    /// `sandbox` or `production`: of the last attempt.
    public var environment: String?
    /// The certificate that signed the last attempt.
    public var businessID: Int64?
    /// The iOS version that the installation has registered by now.
    public var osVersion: String?

    init(account: String, outcome: String) {
        self.account = account
        self.outcome = outcome
    }
}
