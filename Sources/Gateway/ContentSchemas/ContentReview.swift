import ContentSchema
public import LiveActivity

/// What is to be said to the sender of a push about its content, before anything of it is stored.
public struct ContentReview: Sendable, Equatable {
    /// A version of the app, by what its phones registered for the activity.
    public struct PhoneVersion: Sendable, Equatable {
        /// The attributes type; nil: it was not told.
        public var attributesType: String?
        /// The app's version; nil: it was not told.
        public var appVersion: String?
        /// How many registrations have it.
        public var count: Int64

        /// Makes a version as found.
        public init(attributesType: String?, appVersion: String?, count: Int64 = 1) {
            self.attributesType = attributesType
            self.appVersion = appVersion
            self.count = count
        }
    }

    /// Why the push is refused as a whole; nil: it is accepted.
    public var refusal: ContentNotice?
    /// What the sender should know besides.
    public var warnings: [ContentNotice] = []
    /// Whether a schema had a say: then nobody need guess which numbers are dates.
    public var isBySchema = false
    /// Schemas all versions of which take the content as it is; nil: it is checked for each phone when it is sent.
    public var fitsAll: ContentSchemas?

    /// Reviews content for the phones that will get it. It is refused where the policy is to reject, phones were found,
    /// and every one of them has a version that it does not fit.
    ///
    /// - Parameters:
    ///   - phones: what is registered for the activity; empty: nothing is. A state that does not fit the type of a start,
    ///     or of other events no type of the app, is warned about then, since the phone may still register.
    ///   - schemas: of the app.
    ///   - now: Unix seconds by the clock.
    public init(_ content: ActivityContent, for phones: [PhoneVersion], by schemas: ContentSchemas, now: Int64) {
        let rules = schemas.rules
        guard !phones.isEmpty else {
            let type = content.start?.attributesType
            let checks = (type.map { schemas.versions(ofType: $0).suffix(1) } ?? schemas.newest[...])
                .map { ContentCheck(content, by: $0, now: now) }
            let misfits = checks.map { $0.misfits(under: rules) }
            guard misfits.allSatisfy({ !$0.isEmpty }),
                // Of several types, the one that was meant is most likely the one with the fewest faults.
                let nearest = misfits.indices.min(by: { misfits[$0].count < misfits[$1].count })
            else { return }
            self.isBySchema = checks.count == 1
            let name = checks[nearest].name
            let which = checks.count == 1 ? "that is \(name)" : "it fits no type of the app, and \(name) best"
            self.warnings = [
                misfits[nearest][0].adding("\(which); no phone has registered the activity yet")
            ]
            return
        }
        var misfits: [(check: ContentCheck, count: Int64)] = []
        var fitting: [ContentCheck] = []
        var isUncheckedSomewhere = false
        for (schema, count) in Self.schemas(of: phones, by: schemas) {
            guard let schema else {
                isUncheckedSomewhere = true
                continue
            }
            let check = ContentCheck(content, by: schema, now: now)
            if check.misfits(under: rules).isEmpty { fitting.append(check) } else { misfits.append((check, count)) }
        }
        self.isBySchema = !isUncheckedSomewhere
        if rules.policy == .reject, fitting.isEmpty, !isUncheckedSomewhere, let (check, _) = misfits.first {
            self.refusal = Self.refusal(check, rules)
            self.warnings = check.unknownMembers
            return
        }
        for (check, count) in misfits {
            let (phones, them) = count == 1 ? ("1 phone has", "it") : ("\(count) phones have", "them")
            let consequence =
                switch rules.policy {
                case .reject: "nothing is sent to \(them)"
                case .fallback: "a notification takes its place"
                case .warn: "it is sent all the same"
                }
            let notices = check.misfits(under: rules)
            self.warnings += notices.map { $0.adding("\(phones) \(check.name), \(consequence)") }
        }
        if rules.convertsDates {
            let sent = fitting + (rules.policy == .warn ? misfits.map(\.check) : [])
            self.warnings += sent.flatMap(\.conversions)
        }
        self.warnings += Self.unknownMembers(of: fitting + misfits.map(\.check))
    }

    /// What is said where every phone of the app decodes the content, whatever its version; nil: it is not so, so that
    /// the phones have to be looked up.
    init?(ofFlawless content: ActivityContent, by schemas: ContentSchemas, now: Int64) {
        var checks: [ContentCheck] = []
        for versions in schemas.types.values {
            for schema in versions {
                let check = ContentCheck(content, by: schema, now: now)
                guard check.isFlawless else { return nil }
                checks.append(check)
            }
        }
        self.isBySchema = true
        self.fitsAll = schemas
        let type = content.start?.attributesType
        self.warnings = Self.unknownMembers(of: checks.filter { type == nil || $0.attributesType == type })
    }

    /// Members that no version has. What only older ones lack is how types grow.
    private static func unknownMembers(of checks: [ContentCheck]) -> [ContentNotice] {
        guard let first = checks.first else { return [] }
        return first.unknownMembers.filter { notice in
            checks.dropFirst().allSatisfy { check in
                check.unknownMembers.contains { $0.part == notice.part && $0.place == notice.place }
            }
        }
    }

    private static func refusal(_ check: ContentCheck, _ rules: ContentRules) -> ContentNotice {
        let notices = check.misfits(under: rules)
        let others = notices.count > 1 ? "there are \(notices.count - 1) more faults; " : ""
        return notices[0].adding("\(others)the phones have \(check.name)")
    }

    /// The versions that the phones have, each once.
    private static func schemas(
        of phones: [PhoneVersion],
        by schemas: ContentSchemas,
    ) -> [(schema: StoredSchema?, count: Int64)] {
        var found: [(schema: StoredSchema?, count: Int64)] = []
        for phone in phones {
            let schema = schemas.schema(attributesType: phone.attributesType, appVersion: phone.appVersion)
            if let known = found.firstIndex(where: { $0.schema?.isSame(as: schema) ?? (schema == nil) }) {
                found[known].count += phone.count
            } else {
                found.append((schema, phone.count))
            }
        }
        return found
    }
}

extension ContentCheck {
    /// The version in words.
    var name: String { "version \(self.version) of \(self.attributesType)" }

    /// Members that the type does not have.
    public var unknownMembers: [ContentNotice] {
        self.verdicts.flatMap { part, verdict in
            verdict.unknownMembers.map { ContentNotice(unknownMember: $0, of: self.attributesType, part) }
        }
    }

    /// What is said of each date that is rewritten.
    var conversions: [ContentNotice] {
        self.verdicts.flatMap { part, verdict in
            verdict.misreadDates.map { ContentNotice($0, part).adding("rewritten for \(self.name)") }
        }
    }
}

extension StoredSchema {
    fileprivate func isSame(as other: StoredSchema?) -> Bool {
        self.version == other?.version && self.schema.attributesType == other?.schema.attributesType
    }
}
