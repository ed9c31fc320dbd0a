import VerbatimJSON

extension ActivityContent {
    /// What is to be said of the content, apart from the JSON in it: dates, alert, and what a start needs.
    ///
    /// - Parameters:
    ///   - now: Unix seconds.
    ///   - system: of the phone that gets a start; nil if unknown.
    public func findings(now: Int64, system: IOSVersion? = nil) -> [PayloadFinding] {
        var findings: [PayloadFinding] = []
        if self.contentState.isEmpty { findings.append(self.missingState) }
        findings += self.event == .start ? self.startFindings(system: system) : self.startFieldsOfOtherEvent
        findings += self.alertFindings
        findings += StaleDate.findings(event: self.event, date: self.staleDate, now: now)
        findings += DismissalDate.findings(event: self.event, requested: self.dismissalDate, now: now)
        return findings
    }

    /// What is to be said of the content state, the attributes and the relevance score as JSON. Where they were read from a
    /// checked document, only ``DateKeyCheck`` is left to ask.
    ///
    /// - Parameter now: Unix seconds.
    public func textFindings(now: Int64) -> [PayloadFinding] {
        var findings: [PayloadFinding] = []
        if !self.contentState.isEmpty {
            findings += Self.findings(inObject: self.contentState, .contentState, now: now)
        }
        if self.event == .start, let attributes = self.start?.attributes, !attributes.isEmpty {
            findings += Self.findings(inObject: attributes, .attributes, now: now)
        }
        if let relevanceScore, (try? JSONDocument(parsing: relevanceScore))?.root.double == nil {
            let message = "must be a number; any size is allowed, and the highest of an app's activities counts"
            findings.append(.refusal(.relevanceScore, .notANumber, message))
        }
        return findings
    }

    private static func findings(inObject text: [UInt8], _ field: PayloadField, now: Int64) -> [PayloadFinding] {
        let root: JSONValue
        do {
            root = try JSONDocument(parsing: text).root
        } catch {
            return [.refusal(field, .invalidJSON, "\(error)")]
        }
        guard root.kind == .object else { return [.refusal(field, .notAnObject, "must be a JSON object")] }
        return DateKeyCheck.findings(in: root, field, now: now)
    }

    // MARK: - State and alert

    private var missingState: PayloadFinding {
        if self.event == .end {
            let message = "is missing; the ended activity keeps the state that it shows, not one that is under way"
            return .warning(.contentState, .contentStateMissing, message)
        }
        return .refusal(.contentState, .contentStateMissing, "is missing")
    }

    private var alertFindings: [PayloadFinding] {
        guard let alert, !alert.isEmpty else {
            if self.event == .start {
                return [
                    .refusal(.alert, .alertMissing, "is missing or has no text; a start must have a title and a body")
                ]
            }
            guard self.alert != nil else { return [] }
            return [.warning(.alert, .alertEmpty, "has no text and was left out; its sound does not play")]
        }
        var findings: [PayloadFinding] = []
        for (name, text) in [("title", alert.title), ("body", alert.body)] {
            guard case .localized(let key, _) = text, key.isEmpty else { continue }
            var finding = PayloadFinding.refusal(.alert, .localizationKeyMissing, "has no loc-key")
            finding.path = ".\(name)"
            findings.append(finding)
        }
        if self.event == .start, alert.title?.isEmpty ?? true || alert.body?.isEmpty ?? true {
            let (missing, present) = alert.title?.isEmpty ?? true ? ("title", "body") : ("body", "title")
            let message =
                "has no \(missing); a start must have both, so that the \(present) is sent as the \(missing) too"
            findings.append(.warning(.alert, .alertIncomplete, message))
        }
        return findings
    }

    // MARK: - Start

    private func startFindings(system: IOSVersion?) -> [PayloadFinding] {
        var findings: [PayloadFinding] = []
        if let system, system < .pushToStart {
            let message = "iOS \(system) takes no starts by push; iOS 17.2 is the first that does"
            findings.append(.refusal(.event, .startNotSupported, message))
        }
        let type = self.start?.attributesType ?? ""
        if type.isEmpty {
            let message = "is missing; it is the name of the app's ActivityAttributes type"
            findings.append(.refusal(.attributesType, .attributesTypeMissing, message))
        } else if !Self.isTypeName(type) {
            let message = "is no bare name of a Swift type; the module's name does not belong before it"
            findings.append(.warning(.attributesType, .attributesTypeForm, message))
        }
        if (self.start?.attributes ?? []).isEmpty {
            let message = "is missing; {} is enough where the type has no properties of its own"
            findings.append(.refusal(.attributes, .attributesMissing, message))
        }
        return findings + self.inputFindings(system: system)
    }

    private func inputFindings(system: IOSVersion?) -> [PayloadFinding] {
        guard let start, start.wantsPushToken || start.pushChannel != nil else { return [] }
        var findings: [PayloadFinding] = []
        if start.wantsPushToken && start.pushChannel != nil {
            let message = "stands beside input-push-token; an activity follows its own token or a channel"
            findings.append(.refusal(.inputPushChannel, .inputConflict, message))
        }
        if let channel = start.pushChannel, !Self.isChannelID(channel) {
            findings.append(
                .refusal(.inputPushChannel, .channelIDForm, "must be a channel's id as APNs gave it, base64")
            )
        }
        if let system, system < .startInputs {
            let field: PayloadField = start.pushChannel == nil ? .inputPushToken : .inputPushChannel
            let effect = start.pushChannel == nil ? "does not know it" : "does not bring up a start with it"
            findings.append(.refusal(field, .inputNotSupported, "is of iOS 18; iOS \(system) \(effect)"))
        }
        return findings
    }

    private var startFieldsOfOtherEvent: [PayloadFinding] {
        guard let start else { return [] }
        let fields: [(PayloadField, isSet: Bool)] = [
            (.attributesType, !start.attributesType.isEmpty), (.attributes, !start.attributes.isEmpty),
            (.inputPushToken, start.wantsPushToken), (.inputPushChannel, start.pushChannel != nil),
        ]
        return fields.filter(\.isSet).map { field, _ in
            .warning(field, .startFieldIgnored, "belongs to a start only and was left out")
        }
    }

    private static func isTypeName(_ text: String) -> Bool {
        text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    static func isChannelID(_ text: String) -> Bool {
        Base64.decode(Array(text.utf8)).map { !$0.isEmpty } ?? false
    }
}
