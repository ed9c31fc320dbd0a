import LiveActivity
import VerbatimJSON

extension LiveActivityInfo {
    /// The longest LaId in bytes, not characters.
    static let maximumIDBytes = 64

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - allowsExtensions: whether there may be fields that Tencent does not have; without it they are unknown ones.
    init(
        decoding fields: RequestFields,
        now: Int64,
        allowsExtensions: Bool,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) {
        guard let laID = try fields.string("LaId") else { throw fields.fault("LaId", "missing") }
        guard !laID.isEmpty, laID.utf8.count <= LiveActivityInfo.maximumIDBytes else {
            throw fields.fault(
                "LaId",
                "has \(laID.utf8.count) bytes, must have 1 to \(LiveActivityInfo.maximumIDBytes)"
            )
        }
        guard let name = try fields.string("Event") else { throw fields.fault("Event", "missing") }
        guard let event = ActivityEvent(rawValue: name), allowsExtensions || event != .start else {
            throw fields.fault("Event", allowsExtensions ? "must be start, update or end" : "must be update or end")
        }
        guard let state = try fields.object("ContentState") else { throw fields.fault("ContentState", "missing") }
        self.laID = laID
        self.event = event
        contentState = Array(state.object.verbatim)
        warnings += DateKeyCheck.findings(in: state.object, .contentState, now: now).map {
            RequestWarning($0, field: fields.path(of: "ContentState"))
        }
        dismissalDate = try LiveActivityInfo.dismissalDate(in: fields, event: event, now: now, &warnings)
        extensions =
            allowsExtensions
            ? try LiveActivityExtensions(decoding: fields, event: event, now: now, &warnings) : nil
        let known = allowsExtensions ? LiveActivityInfo.extendedFields : LiveActivityInfo.fields
        for key in fields.object.names(besides: known) {
            let names = known.dropLast().joined(separator: ", ") + " and " + (known.last ?? "")
            let message = "nothing reads this field; LiveActivity has \(names)"
            warnings.append(RequestWarning(field: fields.path(of: key), code: .unknownField, message: message))
        }
    }

    private static let fields = ["LaId", "Event", "ContentState", "DismissalDate"]
    private static let extendedFields = fields + LiveActivityExtensions.fields

    private static func dismissalDate(
        in fields: RequestFields,
        event: ActivityEvent,
        now: Int64,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> Int64? {
        if let value = fields["DismissalDate"], value.integer == nil, let seconds = value.double, abs(seconds) < 1e15 {
            // What a Date is in Swift, most often, or a time in another language: seconds with a fraction.
            let whole = Int64(seconds)
            let fault = DismissalDate.findings(event: event, requested: whole, now: now)
                .first { $0.severity == .refusal }
            let advice = fault.map { "; \(whole) \($0.message)" } ?? "; for that date send \(whole)"
            throw fields.fault("DismissalDate", "must be a whole number of seconds" + advice)
        }
        guard let date = try fields.integer("DismissalDate") else { return nil }
        let findings = DismissalDate.findings(event: event, requested: date, now: now)
        if let refusal = findings.first(where: { $0.severity == .refusal }) {
            throw fields.fault("DismissalDate", refusal.message)
        }
        warnings += findings.map { RequestWarning($0, field: fields.path(of: "DismissalDate")) }
        return event == .end ? date : nil
    }
}
