import Gateway

/// What a caller should know of a request that was accepted all the same; one element of `Warnings`.
struct RequestWarning: Equatable, Sendable {
    /// The words that `Code` may hold.
    enum Code: String, Sendable {
        /// DismissalDate stands on an update, where it means nothing; it was left out.
        case dismissalDateIgnored = "dismissal_date_ignored"
        /// DismissalDate is more than four hours ahead; the system removes the activity after four.
        case dismissalDateFar = "dismissal_date_far"
        /// LiveActivity holds a field that nothing reads.
        case unknownField = "unknown_field"
        /// The notification's text was cut so that it fits 4096 bytes.
        case textCut = "text_cut"
        /// MsgLifeTime is over seven days and counts as seven.
        case lifetimeClamped = "lifetime_clamped"
        /// Another field goes before this one, which was left out.
        case fieldIgnored = "field_ignored"
        /// AndroidInfo or HarmonyInfo holds a value that Tencent does not know.
        case unknownValue = "unknown_value"
        /// The field is accepted, but this gateway does not act on it.
        case fieldNotSupported = "field_not_supported"
    }

    /// The field's path in the request.
    var field: String
    /// What is the matter.
    var code: Code
    /// A sentence. Never holds what the field contains.
    var message: String
}
