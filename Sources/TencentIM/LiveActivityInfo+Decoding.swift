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
        guard let event = ActivityEvent(rawValue: name), event != .start else {
            throw fields.fault("Event", "must be update or end")
        }
        guard let state = try fields.object("ContentState") else { throw fields.fault("ContentState", "missing") }
        self.laID = laID
        self.event = event
        contentState = Array(state.object.verbatim)
        warnings += DateKeyCheck.findings(in: state.object, .contentState, now: now).map {
            RequestWarning($0, field: fields.path(of: "ContentState"))
        }
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
        let findings = DismissalDate.findings(event: event, requested: date, now: now)
        if let refusal = findings.first(where: { $0.severity == .refusal }) {
            throw fields.fault("DismissalDate", refusal.message)
        }
        warnings += findings.map { RequestWarning($0, field: fields.path(of: "DismissalDate")) }
        return event == .end ? date : nil
    }
}
