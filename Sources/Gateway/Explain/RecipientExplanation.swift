public import APNs

/// What one recipient would get of a message that were accepted now, and why.
public struct RecipientExplanation: Sendable {
    /// What it comes to.
    public enum Result: String, Sendable {
        /// At least one push goes out at once, or within the second that pacing takes.
        case push
        /// Nothing goes out yet: the message waits for its turn, or for an activity that is coming up.
        case later
        /// What waits of a message that is taken back is cancelled, and no push goes out.
        case cancelled
        /// No push goes out.
        case nothing
    }

    /// What waits, or is under way, of a message that is to be taken back.
    public struct Revoked: Sendable, Equatable {
        /// Whether a gateway works on it now, so that it is too late: APNs' answer decides.
        public var isUnderWay: Bool
        /// Why it waits; empty: it has not been tried yet.
        public var reason: String
        /// Until when it would wait; nil: it is under way.
        public var until: UnixTime?
    }

    /// Something that a person should know, with a word for machines.
    public struct Note: Sendable, Equatable {
        /// The word.
        public var code: String
        /// A sentence. Holds nothing of the message's content but names of members.
        public var message: String
    }

    /// A token that the gateway holds and that matters for the message.
    public struct Registration: Sendable, Equatable {
        /// `device`, `activity` or `start`.
        public var kind: String
        /// The installation.
        public var installation: String
        /// The activity; nil for a device or a start token.
        public var laID: String?
        /// Name of the `ActivityAttributes` type.
        public var attributesType: String?
        /// The certificate that pushes to it.
        public var businessID: Int64
        /// Bundle id of the certificate; nil: there is no such certificate any more.
        public var bundleID: String?
        /// `sandbox` or `production`; nil until known.
        public var environment: String?
        /// What logs and views show in place of the token.
        public var tokenFingerprint: String
        /// `live`, `ended`, `expired` or `quarantined`.
        public var state: String
        /// When this token was last registered.
        public var registeredAt: UnixTime
        /// When the last update of an activity can go out.
        public var expiresAt: UnixTime?
        /// App version as reported.
        public var appVersion: String?
        /// iOS version as reported.
        public var osVersion: String?
        /// System language as reported.
        public var language: String?
        /// Until then the app is in front.
        public var foregroundUntil: UnixTime?
        /// When the last push to it was sent or settled.
        public var lastPushAt: UnixTime?
        /// What became of that push.
        public var lastOutcome: String?
    }

    /// What a schema of the app says of the content, for one phone.
    public struct ContentVerdict: Sendable, Equatable {
        /// The version by which the phone decodes, such as `OrderAttributes, version 2`; nil: there is none to check by.
        public var schema: String?
        /// `fits`, `converted`, `refused`, `replaced` by a notification, `sent_all_the_same` or `unchecked`.
        public var word: String
        /// What it found, each with its place.
        public var notices: [ContentNotice]
    }

    /// A push as it would go to APNs, without the token.
    public struct Push: Sendable, Equatable {
        /// The environment that is tried first.
        public var environment: APNsEnvironment
        /// The one that is tried if that does not know the token; nil: none.
        public var otherEnvironment: APNsEnvironment?
        /// The certificate that signs.
        public var businessID: Int64
        /// The header fields, lower case, the token and what derives from the id of a message that is not accepted yet
        /// described rather than given.
        public var headers: [(name: String, value: String)]
        /// The body, byte for byte.
        public var payload: [UInt8]
        /// apns-priority.
        public var priority: Int
        /// Why that priority.
        public var priorityReason: String
        /// apns-expiration in Unix seconds.
        public var expiration: Int64

        /// Whether both are the same push.
        public static func == (left: Push, right: Push) -> Bool {
            left.environment == right.environment && left.otherEnvironment == right.otherEnvironment
                && left.businessID == right.businessID && left.payload == right.payload
                && left.headers.elementsEqual(right.headers, by: ==) && left.priorityReason == right.priorityReason
        }
    }

    /// One phone, or none: what would happen there.
    public struct Target: Sendable, Equatable {
        /// `live_activity`, `notification` or `none`.
        public var route: String
        /// The installation; nil where there is none.
        public var installation: String?
        /// Fingerprint of the token.
        public var tokenFingerprint: String?
        /// `to_be_sent`, `waiting`, or the outcome that would be recorded at once.
        public var outcome: String
        /// Why, as the delivery row would have it.
        public var reason: String
        /// More of the reason, such as the place in the content that a phone cannot decode.
        public var detail: String?
        /// Until when it waits, or would wait if it goes out after a pause.
        public var waitsUntil: UnixTime?
        /// What goes out.
        public var push: Push?
        /// What a schema says.
        public var content: ContentVerdict?
        /// What a person should know.
        public var notes: [Note] = []
    }

    /// The receiving account.
    public var account: String
    /// What it comes to.
    public var result: Result
    /// What the gateway holds of the account, as far as it matters.
    public var registrations: [Registration]
    /// What would happen at each phone.
    public var targets: [Target]
    /// What waits of the message that is to be taken back; nil: nothing, or the request takes none back.
    public var revoked: Revoked?
    /// What a person should know.
    public var notes: [Note]
    /// The gateway's time for which all of this holds.
    public var at: UnixTime
}
