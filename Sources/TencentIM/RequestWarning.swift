import Gateway
import LiveActivity

/// What a caller should know of a request that was accepted all the same; one element of `Warnings`.
struct RequestWarning: Equatable, Sendable {
    /// The words that `Code` may hold.
    enum Code: Equatable, Sendable {
        /// What is to be said of the Live Activity push, such as `dismissal_date_ignored` or `date_as_unix_seconds`.
        case payload(PayloadFinding.Code)
        /// What a schema of the app's type says of the state, such as `content_state_unfit`.
        case content(ContentNotice.Code)
        /// LiveActivity holds a field that nothing reads.
        case unknownField
        /// The notification's text was cut so that it fits 4096 bytes.
        case textCut
        /// MsgLifeTime is over seven days and counts as seven.
        case lifetimeClamped
        /// Another field goes before this one, which was left out.
        case fieldIgnored
        /// AndroidInfo or HarmonyInfo holds a value that Tencent does not know.
        case unknownValue
        /// The field is accepted, but this gateway does not act on it.
        case fieldNotSupported
        /// Nobody is in the segment that a tag names.
        case segmentEmpty

        /// The word as it is answered.
        var word: String {
            switch self {
            case .payload(let code): code.rawValue
            case .content(let code): code.rawValue
            case .unknownField: "unknown_field"
            case .textCut: "text_cut"
            case .lifetimeClamped: "lifetime_clamped"
            case .fieldIgnored: "field_ignored"
            case .unknownValue: "unknown_value"
            case .fieldNotSupported: "field_not_supported"
            case .segmentEmpty: "segment_empty"
            }
        }
    }

    /// The field's path in the request.
    var field: String
    /// What is the matter.
    var code: Code
    /// A sentence. Never holds what the field contains, but for what a date would be in the right unit.
    var message: String

    /// Makes a warning.
    init(field: String, code: Code, message: String) {
        self.field = field
        self.code = code
        self.message = message
    }

    /// A finding of the push in the words of the request.
    ///
    /// - Parameter field: the path of the request's field that the finding is about.
    init(_ finding: PayloadFinding, field: String) {
        self.init(field: field + finding.path, code: .payload(finding.code), message: finding.message)
    }
}
