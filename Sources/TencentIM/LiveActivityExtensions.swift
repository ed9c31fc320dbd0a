import Gateway
import LiveActivity
import VerbatimJSON

/// Fields of LiveActivity that Tencent does not have: an app has them once `livepush app set --extensions on` says so.
struct LiveActivityExtensions: Equatable {
    /// Their names.
    static let fields = [
        "StaleDate", "RelevanceScore", "Priority", "Alert", "AttributesType", "Attributes", "InputPushToken",
        "InputPushChannel",
    ]

    /// StaleDate in seconds since 1970.
    var staleDate: Int64?
    /// RelevanceScore, the number byte for byte.
    var relevanceScore: [UInt8]?
    /// Priority, 5 or 10.
    var priority: Int?
    /// Alert; nil: it is absent.
    var alert: ActivityAlert?
    /// AttributesType, Attributes, InputPushToken and InputPushChannel; nil: none of them is there.
    var start: ActivityStart?

    /// - Parameter now: seconds since 1970.
    init(
        decoding fields: RequestFields,
        event: ActivityEvent,
        now: Int64,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) {
        staleDate = try fields.integer("StaleDate")
        let staleDateFindings = StaleDate.findings(event: event, date: staleDate, now: now)
        if let refusal = staleDateFindings.first(where: { $0.severity == .refusal }) {
            throw fields.fault("StaleDate", refusal.message)
        }
        warnings += staleDateFindings.map { RequestWarning($0, field: fields.path(of: "StaleDate")) }
        if let score = fields["RelevanceScore"] {
            guard let number = score.numberOrNumericString else {
                throw fields.fault("RelevanceScore", "must be a number")
            }
            relevanceScore = number
        }
        if let number = try fields.integer("Priority") {
            guard number == 5 || number == 10 else { throw fields.fault("Priority", "must be 5 or 10") }
            priority = Int(number)
        }
        alert = try fields.object("Alert").map { alert throws(TencentError) in
            try LiveActivityExtensions.alert(alert, &warnings)
        }
        start = try LiveActivityExtensions.start(fields, now: now, &warnings)
    }

    private static func start(
        _ fields: RequestFields,
        now: Int64,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> ActivityStart? {
        let type = try fields.string("AttributesType")
        guard type?.utf8.count ?? 0 <= RegistrationRules.longestAttributesType else {
            throw fields.fault("AttributesType", "has more than \(RegistrationRules.longestAttributesType) bytes")
        }
        let attributes = try fields.object("Attributes")
        let wantsToken = try fields.flag("InputPushToken")
        let channel = try fields.string("InputPushChannel")
        guard type != nil || attributes != nil || wantsToken || channel != nil else { return nil }
        if let attributes {
            warnings += DateKeyCheck.findings(in: attributes.object, .attributes, now: now).map {
                RequestWarning($0, field: fields.path(of: "Attributes"))
            }
        }
        return ActivityStart(
            attributesType: type ?? "",
            attributes: attributes.map { Array($0.object.verbatim) } ?? [],
            wantsPushToken: wantsToken,
            pushChannel: channel,
        )
    }

    /// The alert in Apple's own words: `title` and `body`, each a string or `{loc-key, loc-args}`, and `sound`.
    private static func alert(
        _ fields: RequestFields,
        _ warnings: inout [RequestWarning],
    ) throws(TencentError) -> ActivityAlert {
        let names = ["title", "body", "sound"]
        for (key, _) in fields.object.members where !names.contains(key) {
            let message = "nothing reads this field; Alert has title, body and sound"
            warnings.append(RequestWarning(field: fields.path(of: key), code: .unknownField, message: message))
        }
        var texts: [String: AlertText] = [:]
        for name in ["title", "body"] {
            guard let value = fields[name] else { continue }
            do throws(AlertTextFault) {
                texts[name] = try AlertText(value)
            } catch {
                throw fields.fault(name + error.place, error.problem)
            }
            for (key, _) in value.members where !AlertText.members.contains(key) {
                let message = "nothing reads this field; a text has loc-key and loc-args"
                let field = "\(fields.path(of: name)).\(key)"
                warnings.append(RequestWarning(field: field, code: .unknownField, message: message))
            }
        }
        return ActivityAlert(title: texts["title"], body: texts["body"], sound: try fields.string("sound"))
    }

    /// The name of a field of the push as it is in a request; nil: it is none of an extension.
    static func name(of field: PayloadField) -> String? {
        switch field {
        case .alert: "Alert"
        case .attributesType: "AttributesType"
        case .attributes: "Attributes"
        case .inputPushToken: "InputPushToken"
        case .inputPushChannel: "InputPushChannel"
        default: nil
        }
    }
}

extension JSONValue {
    /// The text of a number that a Double holds, as it came, also where a string holds nothing else: Tencent's clients send
    /// `"1"` for 1.
    fileprivate var numberOrNumericString: [UInt8]? {
        let text = string.map { Array($0.utf8) } ?? Array(verbatim)
        guard let number = try? JSONDocument(parsing: text).root, number.double != nil,
            number.verbatim.count == text.count
        else { return nil }
        return text
    }
}
