public import VerbatimJSON

/// A mistake in a Live Activity push, or something that its sender should know.
///
/// APNs answers 200 to most of them, and the phone then does nothing, or something else.
public struct PayloadFinding: Sendable, Equatable, CustomStringConvertible {
    /// What is to be done about it.
    public enum Severity: String, Sendable {
        /// The push may go out.
        case warning
        /// The push cannot do what it is meant to, or APNs refuses it: it is not sent.
        case refusal
    }

    /// Where it is.
    public var field: PayloadField
    /// The place inside the field, such as `.driver.eta` or `[2]`; empty for the field itself.
    public var path: String
    /// Whether the push may go out all the same.
    public var severity: Severity
    /// What it is, for machines.
    public var code: Code
    /// A clause about the field, for people. It holds nothing of what the field contains but a date.
    public var message: String
    /// The JSON number that would be right, where it follows from the wrong one.
    public var likely: String?

    /// Makes a finding that lets the push out.
    public static func warning(
        _ field: PayloadField,
        path: String = "",
        _ code: Code,
        _ message: String,
        likely: String? = nil,
    ) -> PayloadFinding {
        PayloadFinding(field: field, path: path, severity: .warning, code: code, message: message, likely: likely)
    }

    /// Makes a finding that keeps the push in.
    public static func refusal(
        _ field: PayloadField,
        _ code: Code,
        _ message: String,
        likely: String? = nil,
    ) -> PayloadFinding {
        PayloadFinding(field: field, path: "", severity: .refusal, code: code, message: message, likely: likely)
    }

    /// The field by Apple's name, such as `aps.stale-date`, `aps.content-state.driver.eta` or `apns-priority`. A dialect that
    /// names its fields differently has names of its own for `field`.
    public var name: String {
        self.field.name + self.path
    }

    /// Writes the finding as an object of `field` (see ``name``), `code`, `message` and, where there is one, `likely`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("field", self.name)
        writer.member("code", self.code.rawValue)
        writer.member("message", self.message)
        writer.member("likely", raw: self.likely.map { Array($0.utf8) })
        writer.endObject()
    }

    /// Name and message.
    public var description: String {
        "\(self.name): \(self.message)"
    }
}

extension PayloadFinding {
    /// The words of ``PayloadFinding/code``.
    public enum Code: String, Sendable, CaseIterable {
        // Dates
        /// Unix milliseconds, or a finer unit, where seconds belong.
        case milliseconds
        /// Seconds since 2001 where Unix seconds belong.
        case secondsSince2001 = "seconds_since_2001"
        /// Before 1970.
        case negative
        /// A Date of the app's own types that is given in Unix seconds.
        case dateAsUnixSeconds = "date_as_unix_seconds"
        /// A Date of the app's own types that is given in milliseconds.
        case dateAsMilliseconds = "date_as_milliseconds"
        /// A Date of the app's own types that is given as text.
        case dateAsText = "date_as_text"
        /// The timestamp is in the past.
        case timestampOld = "timestamp_old"
        /// The timestamp is not above that of the push before.
        case timestampNotNewer = "timestamp_not_newer"
        /// The timestamp is ahead of the clock.
        case timestampAhead = "timestamp_ahead"
        /// The timestamp is so far ahead that the phone drops the push.
        case timestampTooFarAhead = "timestamp_too_far_ahead"
        /// The state is out of date as soon as it arrives.
        case staleDatePast = "stale_date_past"
        /// The stale date stands on an end.
        case staleDateIgnored = "stale_date_ignored"
        /// The dismissal date stands on another event than an end.
        case dismissalDateIgnored = "dismissal_date_ignored"
        /// The dismissal date is later than the system waits.
        case dismissalDateFar = "dismissal_date_far"

        // Content
        /// There is no content state.
        case contentStateMissing = "content_state_missing"
        /// Phones cannot decode the state, by a schema of the app's type.
        case contentStateUnfit = "content_state_unfit"
        /// The app's type has no such member, by a schema of it.
        case unknownMember = "unknown_member"
        /// There is no schema of the attributes type, so that the state is not checked.
        case attributesTypeUnknown = "attributes_type_unknown"
        /// The text is not strict JSON.
        case invalidJSON = "invalid_json"
        /// The JSON is no object.
        case notAnObject = "not_an_object"
        /// The JSON is no number, or one too large for a Double.
        case notANumber = "not_a_number"
        /// A start has no alert with a text.
        case alertMissing = "alert_missing"
        /// A start's alert lacks its title or its body; the other one takes its place.
        case alertIncomplete = "alert_incomplete"
        /// An alert without text, which is left out.
        case alertEmpty = "alert_empty"
        /// A localized text without a key.
        case localizationKeyMissing = "localization_key_missing"

        // Start
        /// A start without attributes type.
        case attributesTypeMissing = "attributes_type_missing"
        /// An attributes type that is no bare name of a type.
        case attributesTypeForm = "attributes_type_form"
        /// A start without attributes.
        case attributesMissing = "attributes_missing"
        /// What belongs to a start stands on another event.
        case startFieldIgnored = "start_field_ignored"
        /// Both `input-push-token` and `input-push-channel`.
        case inputConflict = "input_conflict"
        /// The phone's system does not know `input-push-token` and `input-push-channel`.
        case inputNotSupported = "input_not_supported"
        /// The phone's system takes no starts by push.
        case startNotSupported = "start_not_supported"
        /// A push to a broadcast channel that is no update and no end.
        case broadcastCannotStart = "broadcast_cannot_start"

        // Headers and size
        /// A bundle id that is none, or has the topic's suffix already.
        case bundleIDForm = "bundle_id_form"
        /// A token of the size that tokens for notifications have.
        case tokenSize = "token_size"
        /// A channel id that is not base64.
        case channelIDForm = "channel_id_form"
        /// A priority that Live Activities do not have.
        case priorityUnknown = "priority_unknown"
        /// A priority that may keep waiting what should be seen at once.
        case priorityMayWait = "priority_may_wait"
        /// APNs need not try, since the time is over.
        case expirationPast = "expiration_past"
        /// APNs tries only once.
        case expirationOnce = "expiration_once"
        /// A start that may come up when nobody expects it any more.
        case expirationLate = "expiration_late"
        /// A channel that stores nothing takes no expiration but 0.
        case expirationNotStored = "expiration_not_stored"
        /// A collapse id of more than 64 bytes, or with characters that no header has.
        case collapseIDForm = "collapse_id_form"
        /// A broadcast has no collapse id.
        case collapseIDIgnored = "collapse_id_ignored"
        /// An id that is no UUID.
        case pushIDForm = "push_id_form"
        /// More bytes than APNs takes.
        case payloadTooLarge = "payload_too_large"
        /// More bytes of state than ActivityKit takes.
        case stateTooLarge = "state_too_large"

        /// Whether it only guesses, by the name of a member of the app's types, that a date is meant. A schema knows.
        public var isDateGuess: Bool {
            switch self {
            case .dateAsUnixSeconds, .dateAsMilliseconds, .dateAsText: true
            default: false
            }
        }
    }
}

/// A field of a Live Activity push. The raw value is Apple's name of it.
public enum PayloadField: String, Sendable, CaseIterable {
    case timestamp
    case contentState = "content-state"
    case attributesType = "attributes-type"
    case attributes
    case inputPushToken = "input-push-token"
    case inputPushChannel = "input-push-channel"
    case staleDate = "stale-date"
    case dismissalDate = "dismissal-date"
    case relevanceScore = "relevance-score"
    case alert
    case event
    /// The whole body.
    case payload
    /// The last part of the path.
    case token
    case topic = "apns-topic"
    case channelID = "apns-channel-id"
    case priority = "apns-priority"
    case expiration = "apns-expiration"
    case collapseID = "apns-collapse-id"
    case pushID = "apns-id"

    /// Its place in the request: members of `aps` with that before their name.
    public var name: String {
        switch self {
        case .timestamp, .contentState, .attributesType, .attributes, .inputPushToken, .inputPushChannel, .staleDate,
            .dismissalDate, .relevanceScore, .alert, .event:
            "aps." + self.rawValue
        case .payload, .token, .topic, .channelID, .priority, .expiration, .collapseID, .pushID:
            self.rawValue
        }
    }
}
