import ContentSchema
import LiveActivity

/// What the phones that decode by one version of a type get of a message.
final class CheckedContent: Sendable, Equatable {
    /// Reason of a target whose app cannot decode the state, and to which nothing else is sent.
    static let refused = "content_state_refused"
    /// Reason of a target whose app cannot decode the state, so that a notification takes its place.
    static let replaced = "content_state_replaced"

    /// The reason, and the place and what is wrong there; nil: it is sent.
    let misfit: String?
    /// With dates rewritten; nil: the message's own content.
    let converted: ActivityContent?

    private init(misfit: String?, converted: ActivityContent?) {
        self.misfit = misfit
        self.converted = converted
    }

    /// - Returns: nil if the message's own content is sent.
    init?(_ content: ActivityContent, by schema: StoredSchema, rules: ContentRules, now: Int64) {
        let check = ContentCheck(content, by: schema, now: now)
        let misfit = check.misfits(under: rules).first
        switch rules.policy {
        case .reject: self.misfit = misfit.map { "\(Self.refused): \($0.record)" }
        case .fallback: self.misfit = misfit.map { "\(Self.replaced): \($0.record)" }
        case .warn: self.misfit = nil
        }
        self.converted = rules.convertsDates && self.misfit == nil ? check.converting(content) : nil
        if self.misfit == nil, self.converted == nil { return nil }
    }

    /// Whether both are the outcome of the same check.
    static func == (left: CheckedContent, right: CheckedContent) -> Bool {
        left === right
    }
}

extension ContentNotice {
    /// Place and message as the delivery row keeps them; a name in the place may be long.
    fileprivate var record: String {
        let text = "\(self.part.rawValue)\(self.place): \(self.problem)"
        return text.count <= 300 ? text : text.prefix(300) + "..."
    }
}

/// The checks of one message: one for each version that its recipients' apps have.
struct ContentChecks {
    private struct Phone: Hashable {
        let attributesType: String?
        let appVersion: String?
    }

    private struct Version: Hashable {
        let attributesType: String
        let version: Int64
    }

    /// What phones call their versions is theirs to choose, so that not every text is remembered.
    private static let phoneLimit = 1000

    private var phones: [Phone: CheckedContent?] = [:]
    private var versions: [Version: CheckedContent?] = [:]

    /// What a phone gets; nil: the message's own content.
    ///
    /// - Parameter now: Unix seconds.
    mutating func check(
        _ content: ActivityContent,
        attributesType: String?,
        appVersion: String?,
        by schemas: ContentSchemas,
        now: Int64,
    ) -> CheckedContent? {
        let phone = Phone(attributesType: attributesType, appVersion: appVersion)
        if let known = self.phones[phone] { return known }
        guard let schema = schemas.schema(attributesType: attributesType, appVersion: appVersion) else { return nil }
        let version = Version(attributesType: schema.schema.attributesType, version: schema.version)
        let checked =
            self.versions[version] ?? CheckedContent(content, by: schema, rules: schemas.rules, now: now)
        self.versions[version] = .some(checked)
        if self.phones.count < Self.phoneLimit { self.phones[phone] = .some(checked) }
        return checked
    }
}
