import LiveActivity

/// What the schemas of an app say of a push to a broadcast channel.
///
/// Nobody knows which phones follow a channel, nor which version of the app they have: every version of the type counts, and
/// where the type is not named every type. A state that fits none is refused, unless the app's policy is to warn; no
/// notification can take a broadcast's place.
struct ChannelContentCheck {
    /// What is sent: with dates rewritten, where the app wants that.
    let content: ActivityContent
    /// What is wrong, and what the sender should know.
    let findings: [PayloadFinding]
    /// Whether a schema had a say: then nobody need guess which numbers are dates.
    let isBySchema: Bool
    /// What each version says that has a say, the types in the order of their names, each oldest first.
    let checks: [ContentCheck]
    /// What the app wants done with what does not fit.
    let rules: ContentRules

    /// The checks of one type, one for each version, oldest first.
    private struct Candidate {
        let checks: [ContentCheck]
        let newest: ContentCheck
        let fits: Bool

        init?(_ versions: [StoredSchema], _ content: ActivityContent, _ rules: ContentRules, now: Int64) {
            checks = versions.map { ContentCheck(content, by: $0, now: now) }
            guard let newest = checks.last else { return nil }
            self.newest = newest
            fits = checks.contains { $0.misfits(under: rules).isEmpty }
        }
    }

    /// - Parameters:
    ///   - schemas: of the app; nil: it has none.
    ///   - now: Unix seconds by the clock.
    init(_ message: ChannelMessage, by schemas: ContentSchemas?, now: Int64) {
        let content = message.content
        var converted: ActivityContent?
        var findings: [PayloadFinding] = []
        let types = schemas.map { schemas in
            message.attributesType.map { [schemas.versions(ofType: $0)] } ?? schemas.versionsOfEachType
        }
        let rules = schemas?.rules ?? ContentRules()
        let candidates = (types ?? []).compactMap { Candidate($0, content, rules, now: now) }
        let fitting = candidates.filter(\.fits)
        let nearest = candidates.map(\.newest).min { $0.misfits(under: rules).count < $1.misfits(under: rules).count }
        if let nearest, fitting.isEmpty, rules.policy != .warn {
            findings += nearest.misfits(under: rules).map { notice in
                let isOneOfSeveral = candidates.count > 1
                var finding = PayloadFinding(
                    isOneOfSeveral ? notice.adding("it fits no type of the app, and \(nearest.name) best") : notice
                )
                finding.severity = .refusal
                return finding
            }
        } else {
            let meant = fitting.isEmpty ? candidates : fitting
            let misfits = candidates.flatMap(\.checks).filter { !$0.misfits(under: rules).isEmpty }
            if candidates.count > 1, !misfits.isEmpty {
                let names = fitting.map(\.newest.attributesType)
                let fits =
                    names.isEmpty ? "no type of the app" : "of the app's types only " + names.joined(separator: ", ")
                let message = "is missing, and the state fits \(fits); named, it is checked by that type alone"
                findings.append(.warning(.attributesType, .attributesTypeMissing, message))
            }
            for check in meant.flatMap(\.checks) {
                findings += check.misfits(under: rules).map {
                    PayloadFinding($0.adding("phones with \(check.name) show nothing"))
                }
            }
            if meant.count == 1 {
                let newest = meant[0].newest
                if rules.convertsDates, newest.misfits(under: rules).isEmpty, let right = newest.converting(content) {
                    converted = right
                    findings += newest.conversions.map { PayloadFinding($0) }
                }
                findings += newest.unknownMembers.map { PayloadFinding($0) }
            }
        }
        if candidates.isEmpty, schemas != nil {
            findings.append(
                .warning(
                    .attributesType,
                    .attributesTypeUnknown,
                    "has no schema, so that the state is not checked",
                )
            )
        }
        self.content = converted ?? content
        self.findings = findings
        self.isBySchema = !candidates.isEmpty
        self.checks = candidates.flatMap(\.checks)
        self.rules = rules
    }
}

extension PayloadFinding {
    /// A notice about the state of a push, as a warning.
    fileprivate init(_ notice: ContentNotice) {
        let code: Code =
            switch notice.code {
            case .unfit: .contentStateUnfit
            case .dateAsUnixSeconds: .dateAsUnixSeconds
            case .dateAsMilliseconds: .dateAsMilliseconds
            case .unknownMember: .unknownMember
            }
        self = .warning(.contentState, path: notice.place, code, notice.message)
    }
}

extension ChannelContentCheck {
    /// What is found in a push as a whole together with what the schemas say.
    func adding(to others: [PayloadFinding]) -> [PayloadFinding] {
        (isBySchema ? others.filter { !$0.code.isDateGuess } : others) + findings
    }
}
