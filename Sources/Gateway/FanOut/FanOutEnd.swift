/// How a message to an audience ends, for those of whom nothing was written down before.
enum FanOutEnd: Sendable, Equatable {
    /// All of the audience was found.
    case listed
    /// A newer message goes to the same audience.
    case superseded(by: Int64)
    /// Its deadline passed.
    case expired
    /// The sender wants no push.
    case suppressed
    /// The sender took it back.
    case revoked
    /// Too many instances died with it.
    case quarantined

    /// Why a message does not go on, if so: asked before each chunk.
    ///
    /// - Parameters:
    ///   - newer: a newer message that takes its place, if there is one.
    ///   - isRevoked: whether its sender took it back.
    init?(of order: PushOrder, newer: Int64?, isRevoked: Bool, deadline: UnixTime, at now: UnixTime) {
        if order.suppression != nil {
            self = .suppressed
        } else if isRevoked {
            self = .revoked
        } else if deadline <= now {
            self = .expired
        } else if let newer, order.yieldsToNewer {
            self = .superseded(by: newer)
        } else {
            return nil
        }
    }

    /// `fan_out.outcome`.
    var word: String {
        switch self {
        case .listed: "listed"
        case .superseded: "superseded"
        case .expired: "expired"
        case .suppressed: "suppressed"
        case .revoked: "cancelled"
        case .quarantined: "quarantined"
        }
    }

    /// `fan_out.ended_by`.
    var newer: Int64? {
        if case .superseded(let newer) = self { newer } else { nil }
    }
}

extension PushOrder {
    /// Whether an older message to the audience of the same activity need not go on: everybody whom that has not reached
    /// gets this one.
    var replacesOlder: Bool {
        guard case .activity(let laID) = audience, let activity, activity.laID == laID, suppression == nil else {
            return false
        }
        return activity.content.event != .start
    }

    /// Whether it need not go on once a newer one does. An `end` goes to all whatever comes after it, and so does what
    /// says something aloud: of an alert and of a notification that stands in, nobody is to be kept.
    var yieldsToNewer: Bool {
        guard replacesOlder, let content = activity?.content, content.event == .update else { return false }
        return content.alert?.isEmpty != false && notification.isNothing
    }
}
