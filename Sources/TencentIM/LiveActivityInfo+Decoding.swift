import LiveActivity
import VerbatimJSON

extension LiveActivityInfo {
    /// The longest LaId in bytes, not characters.
    static let maximumIDBytes = 64

    /// - Parameter now: seconds since 1970.
    init(decoding fields: RequestFields, now: Int64, _ warnings: inout [RequestWarning]) throws(TencentError) {
        guard let laID = try fields.string("LaId") else { throw fields.fault("LaId", "missing") }
        guard !laID.isEmpty, laID.utf8.count <= LiveActivityInfo.maximumIDBytes else {
            throw fields.fault(
                "LaId",
                "has \(laID.utf8.count) bytes, must have 1 to \(LiveActivityInfo.maximumIDBytes)"
            )
        }
        guard let name = try fields.string("Event") else { throw fields.fault("Event", "missing") }
        guard let event = ActivityEvent(rawValue: name) else {
            throw fields.fault("Event", "must be update or end")
        }
        guard let state = try fields.object("ContentState") else { throw fields.fault("ContentState", "missing") }
        self.laID = laID
        self.event = event
        contentState = Array(state.object.verbatim)
        dismissalDate = try LiveActivityInfo.dismissalDate(in: fields, event: event, now: now, &warnings)
        for (key, _) in fields.object.members where !LiveActivityInfo.fields.contains(key) {
            warnings.append(
                RequestWarning(
                    field: fields.path(of: key),
                    code: .unknownField,
                    message: "nothing reads this field; LiveActivity has LaId, Event, ContentState and DismissalDate",
                )
            )
        }
    }

    private static let fields: Set<String> = ["LaId", "Event", "ContentState", "DismissalDate"]

    private static func dismissalDate(
        in fields: RequestFields,
        event: ActivityEvent,
        now: Int64,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> Int64? {
        guard let date = try fields.integer("DismissalDate") else { return nil }
        switch UnixSecondsCheck.classify(date, now: now) {
        case .plausible: break
        case .negative: throw fields.fault("DismissalDate", "must not be negative")
        case .milliseconds(let likely):
            throw fields.fault("DismissalDate", "looks like milliseconds; in Unix seconds it would be \(likely)")
        case .referenceDate(let likely):
            throw fields.fault("DismissalDate", "looks like seconds since 2001; in Unix seconds it would be \(likely)")
        }
        let path = fields.path(of: "DismissalDate")
        switch DismissalDate.warning(event: event, requested: date, now: now) {
        case nil: break
        case .ignoredOnUpdate:
            let message = "means nothing on an update and was left out"
            warnings.append(RequestWarning(field: path, code: .dismissalDateIgnored, message: message))
            return nil
        case .beyondLongestDelay:
            let message = "is more than four hours ahead; the system removes an ended activity after four hours"
            warnings.append(RequestWarning(field: path, code: .dismissalDateFar, message: message))
        }
        return date
    }
}
