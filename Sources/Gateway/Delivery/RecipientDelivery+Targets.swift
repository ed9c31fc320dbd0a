import APNs
import LiveActivity

/// Where a message goes to at one recipient, and what became of that.
extension RecipientDelivery {
    /// The index of the target to push to, or nil if this token has its outcome already. A new token of a phone whose
    /// former one was lost is tried afresh.
    mutating func target(
        _ kind: DeliveryTarget.Kind,
        _ installation: String,
        _ token: PushToken,
        at now: UnixTime,
    ) -> Int? {
        let known = progress.targets.lastIndex { $0.kind == kind && $0.installation == installation }
        if let known {
            let target = progress.targets[known]
            switch target.state {
            case .settled(.cancelled):
                // It was cleared and is registered again.
                break
            case .settled:
                guard target.isLostActivityPush, target.tokenFingerprint != token.fingerprint else { return nil }
            case .waiting(let until, let reason)
            where now < until && target.tokenFingerprint == token.fingerprint && reason != RecipientDelivery.paced:
                // Taken up for another phone's sake; this one was told to wait longer. Of pacing the claim is the judge.
                return nil
            case .waiting, .pushing:
                if target.tokenFingerprint != token.fingerprint {
                    progress.targets[known].refusedIn = nil
                }
                progress.targets[known].tokenFingerprint = token.fingerprint
                progress.targets[known].state = .pushing
                return known
            }
        }
        let reason =
            switch kind {
            case .activity: "activity_registered"
            case .start: "start_token_registered"
            case .device: progress.notificationReason
            }
        return begin(kind, on: installation, token.fingerprint, because: reason)
    }

    /// Settles what waited for registrations that went away meanwhile.
    mutating func cancelGone(_ kind: DeliveryTarget.Kind, except isRegistered: (String) -> Bool) {
        for index in progress.targets.indices where progress.targets[index].kind == kind {
            guard case .waiting = progress.targets[index].state else { continue }
            guard !isRegistered(progress.targets[index].installation) else { continue }
            settle(index, as: .cancelled, reason: "registration_gone")
        }
    }

    mutating func begin(
        _ index: Int,
        _ registration: ClaimedActivity,
        _ message: MessageUnderWay,
        _ schedule: RetrySchedule,
        _ now: UnixTime,
    ) -> PushAttempt? {
        guard let instruction = message.order.activity else { return nil }
        let ownAlert = instruction.content.alert.flatMap { $0.isEmpty ? nil : $0 }
        let waitingAlert = ownAlert == nil ? registration.waitingAlert : nil
        let (priority, reason) =
            waitingAlert != nil && instruction.content.event == .update && instruction.priorityRule == .urgency
            ? ActivityPriority.alertTakenAlong
            : ActivityPriority(instruction, for: message.application).choose(isBudgetSpent: registration.isBudgetSpent)
        progress.targets[index].priorityReason = reason
        // A start of an activity that runs already is an update of it.
        let event: ActivityEvent = instruction.content.event == .end ? .end : .update
        let end = min(message.deadline, message.endOfLife(startedAt: registration.startedAt, event: event))
        let token = TokenToTry(registration)
        let attempt = begin(index, token, message, schedule, now) {
            PushAttempt(
                target: index,
                installation: registration.installation,
                kind: .activity,
                token: registration.token,
                destination: $0,
                timestamp: registration.timestamp,
                expiration: end.seconds,
                priority: priority,
                checkedContent: registration.checkedContent,
                waitingAlert: waitingAlert,
                sentState: registration.sentState,
                alertMessageID: ownAlert == nil ? waitingAlert?.messageID : message.receipt.id,
            )
        }
        if attempt == nil {
            correctState(of: registration.installation, message)
        }
        return attempt
    }

    mutating func begin(
        _ index: Int,
        _ device: FoundDevice,
        _ translation: Int?,
        _ message: MessageUnderWay,
        _ schedule: RetrySchedule,
        _ now: UnixTime,
    ) -> PushAttempt? {
        let isSilent = message.order.notification.isSilent
        progress.targets[index].priorityReason = isSilent ? "background" : "notification"
        // A retry shows the number of the first attempt, whatever was counted since.
        let badge = progress.targets[index].badge ?? device.badge
        progress.targets[index].badge = badge
        return begin(index, TokenToTry(device), message, schedule, now) {
            PushAttempt(
                target: index,
                installation: device.installation,
                kind: .device,
                token: device.token,
                destination: $0,
                timestamp: nil,
                expiration: message.deadline.seconds,
                // APNs refuses a background push of priority 10.
                priority: isSilent ? 5 : 10,
                translation: translation,
                badge: badge,
            )
        }
    }

    mutating func begin(
        _ index: Int,
        _ token: TokenToTry,
        _ message: MessageUnderWay,
        _ schedule: RetrySchedule,
        _ now: UnixTime,
        attempt: (PushDestination) -> PushAttempt,
    ) -> PushAttempt? {
        let candidates = PushDestination.candidates(
            businessID: token.businessID,
            known: token.environment,
            in: message.certificates,
        )
        var destinations = candidates
        // One that refused the token for good is not asked again while the other has not answered.
        if let refused = progress.targets[index].refusedIn {
            let open = candidates.filter { $0.environment != refused }
            destinations = open.isEmpty ? candidates : open
        }
        let wanted = progress.targets[index].refusedIn?.other ?? token.environment ?? candidates.first?.environment
        guard !message.lacksKey(for: token.businessID, in: wanted ?? .production) else {
            waitForSecret(index, schedule, now)
            return nil
        }
        guard let first = destinations.first else {
            // Neither the message's fault nor the phone's: it waits for `livepush certificate add` or its deadline.
            progress.targets[index].statusReason = "certificate_missing"
            progress.targets[index].state = .waiting(until: now + schedule.holdDelay, reason: "certificate_missing")
            return nil
        }
        let attempt = attempt(first)
        underWay[index] = UnderWay(
            attempt: attempt,
            sentAt: now,
            firstSentAt: now,
            otherDestinations: destinations.dropFirst(),
            knownEnvironment: token.environment,
            hasBadDays: token.hasBadDays,
        )
        return attempt
    }

    mutating func record(
        _ pushed: UnderWay,
        _ outcome: APNsOutcome,
        payloadBytes: Int,
        _ index: Int,
    ) {
        let attempt = pushed.attempt
        progress.targets[index].businessID = attempt.destination.certificate.businessID
        progress.targets[index].environment = attempt.destination.environment
        progress.targets[index].payloadBytes = payloadBytes
        progress.targets[index].timestampSent = attempt.timestamp
        progress.targets[index].priority = attempt.priority
        switch outcome {
        case .responded(let response):
            progress.targets[index].attempts += 1
            progress.targets[index].status = response.status
            progress.targets[index].statusReason = response.reason
            progress.targets[index].sentAt = pushed.sentAt
        case .unanswered(let failure, let mayHaveBeenProcessed):
            progress.targets[index].attempts += 1
            progress.targets[index].status = nil
            progress.targets[index].statusReason = failure.reason
            if mayHaveBeenProcessed {
                progress.targets[index].answersLost += 1
                progress.targets[index].sentAt = pushed.sentAt
            }
        case .held(let hold):
            progress.targets[index].statusReason = hold.reason
        }
    }

    mutating func settle(_ index: Int, as outcome: DeliveryOutcome, reason: String? = nil) {
        progress.targets[index].state = .settled(outcome)
        if let reason {
            progress.targets[index].reason = reason
        }
    }

    mutating func settleOpenTargets(as outcome: DeliveryOutcome, reason: String?) {
        for index in progress.targets.indices {
            if case .settled = progress.targets[index].state { continue }
            settle(index, as: outcome, reason: reason)
        }
    }

    mutating func wait(_ index: Int, until: UnixTime, because reason: String? = nil) {
        let reason = reason ?? progress.targets[index].statusReason ?? "no_answer"
        progress.targets[index].state = .waiting(until: until, reason: reason)
    }

    /// Another gateway may be able to use the key, so it may go on at once; if it comes back here, it waits.
    mutating func waitForSecret(_ index: Int, _ schedule: RetrySchedule, _ now: UnixTime) {
        let isFirst = progress.targets[index].statusReason != UnreadableSecrets.reason
        progress.targets[index].statusReason = UnreadableSecrets.reason
        wait(index, until: now + (isFirst ? .zero : schedule.holdDelay))
    }

    func earliestWaiting() -> (UnixTime, String)? {
        var earliest: (UnixTime, String)?
        for target in progress.targets {
            guard case .waiting(let until, let reason) = target.state else { continue }
            if let (known, _) = earliest, known <= until { continue }
            earliest = (until, reason)
        }
        return earliest
    }

    mutating func enterNotificationStage(because reason: String) {
        guard progress.stage != .notification else { return }
        progress.stage = .notification
        progress.notificationReason = reason
    }

    func nothing(_ outcome: DeliveryOutcome, _ reason: String) -> DeliveryRecord {
        DeliveryRecord(
            route: .nothing,
            routeReason: reason,
            isFallback: progress.targets.contains(where: \.isLostActivityPush),
            outcome: outcome,
            target: nil,
        )
    }
}

/// What the choice of a destination needs of a registration.
struct TokenToTry {
    let businessID: Int64
    let environment: APNsEnvironment?
    let hasBadDays: Bool

    init(_ start: FoundStart.Push) {
        businessID = start.businessID
        environment = start.environment
        hasBadDays = start.hasBadDays
    }

    init(_ activity: ClaimedActivity) {
        businessID = activity.businessID
        environment = activity.environment
        hasBadDays = activity.hasBadDays
    }

    init(_ device: FoundDevice) {
        businessID = device.businessID
        environment = device.environment
        hasBadDays = device.hasBadDays
    }
}
