import APNs
import LiveActivity

/// One recipient on its way through the decisions of delivery, with an APNs that takes every push.
final class ExplainedRecipient {
    let task: RecipientTask
    /// Whether it had to wait for its turn: the next claim takes that wait for over.
    private(set) var hasWaited = false
    private var pushes: [Int: RecipientExplanation.Push] = [:]
    private var notes: [Int: [RecipientExplanation.Note]] = [:]
    private var pauses: [Int: UnixTime] = [:]
    private var verdicts: [String: RecipientExplanation.ContentVerdict] = [:]
    private var withoutTarget: DeliveryRecord?
    /// What it waits for before it has any target, and when it looks again; nil: nothing.
    private var wait: (reason: String, until: UnixTime)?

    /// - Parameter installations: the only ones that get the message; nil: all.
    init(_ account: String, _ installations: [String]?, _ message: MessageTask) {
        let delivery = RecipientDelivery(progress: .beginning(on: installations))
        task = RecipientTask(account, message, delivery, 0)
    }

    /// Goes on as far as it gets without the database.
    ///
    /// - Returns: what the database is to be asked; nil: everything is decided.
    func follow(_ first: RecipientDelivery.Action, schedule: RetrySchedule, at now: UnixTime) -> Question? {
        var action: RecipientDelivery.Action? = first
        while let current = action {
            switch current {
            case .claimActivities: return .activities
            case .askForStarts: return .starts
            case .lookUpDevices: return task.isToBeCounted ? .badges : .devices
            case .push(let attempts):
                action = nil
                for attempt in attempts {
                    action = push(attempt, schedule, now) ?? action
                }
            case .startAgain(let time):
                // A second time nothing changes any more.
                guard !hasWaited else { return nil }
                hasWaited = true
                for (index, target) in task.delivery.progress.targets.enumerated() where target.isWaiting {
                    pauses[index] = time
                }
                action = task.delivery.start(of: task.message.underWay, at: now)
            case .settle(let settlement):
                switch settlement.next {
                case .finished(let records):
                    withoutTarget = records.first { $0.target == nil }
                    return nil
                case .waiting(let until, let reason, _):
                    if [RecipientDelivery.startUndecided, RecipientDelivery.revokedPushUnderWay].contains(reason) {
                        wait = (reason, until)
                    }
                    return nil
                case .inLine: return nil
                case .fallingBack: action = task.delivery.start(of: task.message.underWay, at: now)
                }
            }
        }
        return nil
    }

    /// What the database is asked.
    enum Question {
        case activities
        case starts
        case devices
        case badges
    }

    /// What a schema says of the content for a phone.
    func note(_ verdict: RecipientExplanation.ContentVerdict?, for installation: String) {
        verdicts[installation] = verdict
    }

    // MARK: - Pushes

    private func push(_ attempt: PushAttempt, _ schedule: RetrySchedule, _ now: UnixTime) -> RecipientDelivery.Action? {
        let message = task.message.underWay
        guard let request = task.message.composer.request(for: attempt, to: task.account, at: now) else {
            let reason = PushComposer.payloadOverLimit
            return task.delivery.cannotBeSent(attempt.target, because: reason, of: message, at: now)
        }
        let underWay = task.delivery.underWay[attempt.target]
        pushes[attempt.target] = RecipientExplanation.Push(
            environment: attempt.destination.environment,
            otherEnvironment: underWay?.otherDestinations.first?.environment,
            businessID: attempt.destination.certificate.businessID,
            headers: headers(of: request, attempt),
            payload: request.payload,
            priority: attempt.priority,
            priorityReason: task.delivery.progress.targets[attempt.target].priorityReason ?? "",
            expiration: attempt.expiration,
        )
        notes[attempt.target] = notes(on: attempt, underWay)
        return task.delivery.pushFinished(
            attempt.target,
            .responded(APNsResponse(status: 200)),
            payloadBytes: request.payload.count,
            of: message,
            schedule: schedule,
            at: now,
            jitter: 0,
            suspect: { _ in .unproven },
        )
    }

    private func headers(of request: APNsRequest, _ attempt: PushAttempt) -> [(name: String, value: String)] {
        let ofMessage = PushIdentifiers.collapseID(messageID: task.message.underWay.receipt.id)
        return [
            (":path", "/3/device/(token \(attempt.token.fingerprint))"),
            ("authorization", "bearer (provider token)"),
            ("apns-topic", request.topic),
            ("apns-push-type", request.pushType.rawValue),
            ("apns-priority", String(request.priority)),
            ("apns-expiration", String(request.expiration)),
            ("apns-id", "(derives from the message)"),
        ]
            + (request.collapseID.map {
                [("apns-collapse-id", $0 == ofMessage ? "m(id of the message)" : $0)]
            } ?? [])
    }

    private func notes(
        on attempt: PushAttempt,
        _ underWay: RecipientDelivery.UnderWay?,
    ) -> [RecipientExplanation.Note] {
        var notes: [RecipientExplanation.Note] = []
        func add(_ code: String, _ message: String) {
            notes.append(RecipientExplanation.Note(code: code, message: message))
        }
        let environment = attempt.destination.environment.rawValue
        if let underWay, underWay.knownEnvironment == nil {
            let next = underWay.otherDestinations.first.map { ", then \($0.environment.rawValue)" }
            let none = "; the app has no certificate for the other with this bundle id"
            add("environment_unknown", "the token's environment is not known: \(environment) is tried\(next ?? none)")
        }
        if underWay?.hasBadDays == true {
            add("token_suspect", "APNs did not know this token at the last pushes; after three such days none goes out")
        }
        if task.delivery.progress.targets[attempt.target].priorityReason == ActivityPriority.budgetSpent {
            add("priority_lowered", "the phone had its hour's share of pushes of priority 10, so that this one has 5")
        }
        if let alert = attempt.waitingAlert, task.message.composer.leftAlertOut {
            add("alert_left_out", "the alert of message \(alert.messageID) does not fit beside the state, and is lost")
        } else if let alert = attempt.waitingAlert {
            add("alert_taken_along", "the alert of message \(alert.messageID), which did not come through, goes along")
        }
        if let state = attempt.sentState {
            add(
                "alert_with_newest_state",
                "a newer state was sent before: that of message \(state.messageID) goes out again with this one's alert",
            )
        }
        return notes
    }

    // MARK: - The outcome

    /// What the recipient would get, once everything is decided.
    func targets() -> [RecipientExplanation.Target] {
        var targets = task.delivery.progress.targets.enumerated().map { target($0.offset, $0.element) }
        if let record = withoutTarget {
            targets.append(
                RecipientExplanation.Target(
                    route: record.route.rawValue,
                    outcome: record.outcome.rawValue,
                    reason: record.routeReason,
                )
            )
        }
        if let wait {
            let route: DeliveryRecord.Route =
                wait.reason == RecipientDelivery.startUndecided ? .liveActivity : .notification
            targets.append(
                RecipientExplanation.Target(
                    route: route.rawValue,
                    outcome: "waiting",
                    reason: wait.reason,
                    waitsUntil: wait.until,
                )
            )
        }
        return targets
    }

    private func target(_ index: Int, _ target: DeliveryTarget) -> RecipientExplanation.Target {
        let route: DeliveryRecord.Route = target.kind == .device ? .notification : .liveActivity
        var explained = RecipientExplanation.Target(
            route: route.rawValue,
            installation: target.installation,
            tokenFingerprint: target.tokenFingerprint,
            outcome: "to_be_sent",
            reason: target.reason,
            waitsUntil: pauses[index],
            push: pushes[index],
            content: target.kind == .device ? nil : verdicts[target.installation],
            notes: notes[index] ?? [],
        )
        if let until = pauses[index] {
            explained.notes.append(.paced(until: until))
        }
        guard explained.push == nil else { return explained }
        switch target.state {
        case .waiting(let until, let reason):
            explained.outcome = "waiting"
            explained.reason = reason
            explained.detail = target.statusReason.flatMap { $0 == reason ? nil : $0 }
            explained.waitsUntil = until
        case .settled(let outcome):
            explained.outcome = outcome.rawValue
            explained.detail = target.statusReason
        case .pushing: break
        }
        return explained
    }
}

extension RecipientExplanation.Note {
    fileprivate static func paced(until: UnixTime) -> RecipientExplanation.Note {
        RecipientExplanation.Note(
            code: "paced",
            message:
                "another push went to the activity a moment ago: this one waits until \(until.seconds), and what is "
                + "newer by then takes its place",
        )
    }
}

extension RecipientExplanation.ContentVerdict {
    /// What the schemas of an app say of a message's content for a phone; nil: the app has none.
    init?(
        _ message: MessageUnderWay,
        attributesType: String?,
        appVersion: String?,
        now: UnixTime,
    ) {
        guard let schemas = message.application.contentSchemas, let content = message.order.activity?.content else {
            return nil
        }
        guard let schema = schemas.schema(attributesType: attributesType, appVersion: appVersion) else {
            self.init(schema: nil, word: "unchecked", notices: [])
            return
        }
        let check = ContentCheck(content, by: schema, now: now.seconds)
        let isOfPushwoosh = message.order.dialect == .pushwoosh
        let unknown = check.unknownMembers.filter { !isOfPushwoosh || !$0.isOfPushwooshMember }
        self.init(check, content, under: schemas.rules, unknown: unknown)
    }

    /// What one version makes of content.
    ///
    /// - Parameters:
    ///   - rules: of the app.
    ///   - unknown: members that the version lacks, and that are worth a word.
    ///   - isReplaceable: whether a notification can take its place, and a refusal is for one phone alone.
    init(
        _ check: ContentCheck,
        _ content: ActivityContent,
        under rules: ContentRules,
        unknown: [ContentNotice],
        isReplaceable: Bool = true,
    ) {
        let misfits = check.misfits(under: rules)
        let word =
            if misfits.isEmpty {
                rules.convertsDates && check.converting(content) != nil ? "converted" : "fits"
            } else {
                switch rules.policy {
                case .reject where isReplaceable: "refused"
                case .fallback where isReplaceable: "replaced"
                case .reject, .fallback, .warn: "sent_all_the_same"
                }
            }
        self.init(schema: check.name, word: word, notices: misfits + unknown)
    }
}
