import LiveActivity

/// What the schemas of an app say of a push to a broadcast channel.
///
/// Nobody knows which phones follow a channel, nor which version of the app they have: every version of the type counts. A
/// state that fits none is refused where the type is named, unless the app's policy is to warn; no notification can take a
/// broadcast's place.
struct ChannelContentCheck {
    /// What is sent: with dates rewritten, where the app wants that.
    let content: ActivityContent
    /// What is wrong, and what the sender should know.
    let findings: [PayloadFinding]
    /// Whether a schema had a say: then nobody need guess which numbers are dates.
    let isBySchema: Bool

    /// - Parameters:
    ///   - schemas: of the app; nil: it has none.
    ///   - now: Unix seconds by the clock.
    init(_ message: ChannelMessage, by schemas: ContentSchemas?, now: Int64) {
        var content = message.content
        var findings: [PayloadFinding] = []
        let versions = schemas?.versions(ofType: message.attributesType) ?? []
        if let schemas, let newest = versions.last {
            let rules = schemas.rules
            let checks = versions.map { ContentCheck(message.content, by: $0, now: now) }
            let misfits = checks.filter { !$0.misfits(under: rules).isEmpty }
            // Of a channel whose type is not told, the only type of the app need not be the one.
            if misfits.count == checks.count, rules.policy != .warn, message.attributesType != nil {
                let check = ContentCheck(message.content, by: newest, now: now)
                findings += check.misfits(under: rules).map { notice in
                    var finding = PayloadFinding(notice)
                    finding.severity = .refusal
                    return finding
                }
            } else {
                for check in misfits {
                    findings += check.misfits(under: rules).map {
                        PayloadFinding($0.adding("phones with \(check.name) show nothing"))
                    }
                }
            }
            let check = ContentCheck(message.content, by: newest, now: now)
            if rules.convertsDates, check.misfits(under: rules).isEmpty, let converted = check.converting(content) {
                content = converted
                findings += check.conversions.map { PayloadFinding($0) }
            }
            findings += check.unknownMembers.map { PayloadFinding($0) }
        } else if schemas != nil, message.attributesType != nil {
            findings.append(
                .warning(
                    .attributesType,
                    .attributesTypeUnknown,
                    "has no schema, so that the state is not checked",
                )
            )
        }
        self.content = content
        self.findings = findings
        self.isBySchema = !versions.isEmpty
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

    /// Whether it only guesses, by the name of a member, that a date is meant.
    fileprivate var isGuess: Bool {
        field == .contentState && [.dateAsUnixSeconds, .dateAsMilliseconds, .dateAsText].contains(code)
    }
}

extension ChannelContentCheck {
    /// What is found in a push as a whole together with what the schemas say.
    func adding(to others: [PayloadFinding]) -> [PayloadFinding] {
        (isBySchema ? others.filter { !$0.isGuess } : others) + findings
    }
}
