import APNs
import LiveActivity

/// The delivery of one message to one recipient: a value that is told what was found and answered, and says what to do
/// next. It does no I/O and reads no clock.
///
/// The way through: `start` -> claim activities -> pushes -> all lost? settle `fallingBack`, claim once more -> devices
/// -> pushes -> settle `finished`, or `waiting` with the progress from which another `start` goes on.
struct RecipientDelivery: Sendable {
    /// What to do next.
    enum Action: Sendable, Equatable {
        /// Claim the recipient's registrations of the activity; answer with ``activitiesFound(_:of:schedule:at:)``.
        case claimActivities
        /// Claim starts, or ask which activities may still come up; answer with ``startsFound(_:of:schedule:at:)``.
        case askForStarts
        /// Keep it in memory until then, and go on with ``start(of:at:)``.
        case startAgain(at: UnixTime)
        /// Look up the recipient's devices; answer with ``devicesFound(_:of:schedule:at:)``.
        case lookUpDevices
        /// Send these; answer each with ``pushFinished(_:_:of:at:jitter:)``.
        case push([PushAttempt])
        /// Write this down. After `fallingBack`, go on with ``start(of:at:)``.
        case settle(Settlement)
    }

    /// Why a target waits for its turn after another message's push.
    private static let paced = "paced"

    var progress: RecipientProgress
    private var underWay: [Int: UnderWay] = [:]
    private var corrections: [RegistrationCorrection] = []
    /// Whether it was asked for starts since it was begun or gone on with.
    var hasAskedForStarts = false
    /// Whether an activity came up since registrations were claimed; claimed again once, they are not the next time.
    var claimsAgain = false
    var hasClaimedAgain = false
    /// Why the recipient has no activity to push to, where that is so.
    var missing: String?

    /// A push that APNs has not answered, and where else it could go.
    private struct UnderWay: Sendable {
        var attempt: PushAttempt
        var sentAt: UnixTime
        /// When it was sent to the first environment.
        var firstSentAt: UnixTime
        var otherDestinations: ArraySlice<PushDestination>
        var knownEnvironment: APNsEnvironment?
        var hasBadDays: Bool
    }

    init(progress: RecipientProgress = .none) {
        self.progress = progress
    }

    // MARK: - Events

    /// Begins, or goes on from stored progress.
    mutating func start(of message: MessageUnderWay, at now: UnixTime) -> Action {
        (hasAskedForStarts, claimsAgain, hasClaimedAgain) = (false, false, false)
        missing = nil
        if let suppression = message.order.suppression {
            return finish(of: message, adding: nothing(.suppressed, suppression.rawValue))
        }
        guard now < message.deadline else {
            return expire(of: message)
        }
        if message.order.activity == nil {
            enterNotificationStage(because: "no_activity_in_message")
        }
        return progress.stage == .notification ? lookUpDevices(of: message) : .claimActivities
    }

    /// The claim's answer: every registration of the activity that the recipient has.
    ///
    /// - Parameter schedule: tells how long a push waits for its certificate.
    mutating func activitiesFound(
        _ found: [ClaimedActivity],
        of message: MessageUnderWay,
        schedule: RetrySchedule,
        at now: UnixTime,
    ) -> Action {
        var attempts: [PushAttempt] = []
        let found = found.filter { $0.verdict != .notLive }
        let live = found.filter { $0.verdict != .quarantined }
        for registration in live {
            takeUpWait(on: registration.installation)
            guard let index = target(.activity, registration.installation, registration.token, at: now) else {
                // Claimed only for another phone's sake: the state did not go there again.
                if registration.verdict == .claimed, !isAccepted(registration.installation) {
                    correctState(of: registration.installation, message)
                }
                continue
            }
            switch registration.verdict {
            case .superseded: settle(index, as: .superseded, reason: "newer_message_claimed")
            case .activityEnded: settle(index, as: .activityEnded, reason: "activity_ended")
            case .unchanged: settle(index, as: .unchanged, reason: "state_unchanged")
            case .paced:
                let until = registration.sendableFrom ?? now
                progress.targets[index].state = .waiting(until: until, reason: RecipientDelivery.paced)
            case .claimed:
                if let misfit = registration.checkedContent?.misfit {
                    progress.targets[index].statusReason = misfit
                    settle(index, as: .refused)
                    correctState(of: registration.installation, message)
                } else {
                    attempts.append(contentsOf: begin(index, registration, message, schedule, now))
                }
            case .notLive, .quarantined: break
            }
        }
        cancelGone(.activity, except: live.map(\.installation))
        guard attempts.isEmpty else { return .push(attempts) }
        if !found.isEmpty {
            missing = "activity_token_quarantined"
        }
        return resolve(of: message, at: now)
    }

    /// The recipient's devices.
    mutating func devicesFound(
        _ found: [FoundDevice],
        of message: MessageUnderWay,
        schedule: RetrySchedule,
        at now: UnixTime,
    ) -> Action {
        let notification = message.order.notification
        var attempts: [PushAttempt] = []
        for device in found {
            guard let index = target(.device, device.installation, device.token, at: now) else { continue }
            let translation = notification.translation(for: device.language)
            if device.isQuarantined {
                settle(index, as: .nothingToSend, reason: "token_quarantined")
            } else if notification.isSilent {
                // Nobody sees it, so neither the permission to notify nor an app in front is in its way.
                attempts.append(contentsOf: begin(index, device, nil, message, schedule, now))
            } else if device.deniesNotifications {
                settle(index, as: .nothingToSend, reason: "permission_denied")
            } else if let until = device.foregroundUntil, now < until {
                settle(index, as: .foreground, reason: "app_in_foreground")
            } else if notification.translated(by: translation).isEmpty {
                settle(index, as: .nothingToSend, reason: "no_text")
            } else {
                attempts.append(contentsOf: begin(index, device, translation, message, schedule, now))
            }
        }
        cancelGone(.device, except: found.map(\.installation))
        return attempts.isEmpty ? resolve(of: message, at: now) : .push(attempts)
    }

    /// APNs' answer to a push, or why there is none.
    ///
    /// - Parameters:
    ///   - outcome: what the client reported.
    ///   - payloadBytes: size of the body that was sent.
    ///   - jitter: 0 to 1, for the time of the next attempt.
    ///   - suspect: asked what it means that all environments in which the token was tried answered BadDeviceToken.
    /// - Returns: nil while other pushes of the recipient are under way.
    mutating func pushFinished(
        _ index: Int,
        _ outcome: APNsOutcome,
        payloadBytes: Int,
        of message: MessageUnderWay,
        schedule: RetrySchedule,
        at now: UnixTime,
        jitter: @autoclosure () -> Double,
        suspect: (SuspectToken) -> TokenSuspicion,
    ) -> Action? {
        guard let pushed = underWay.removeValue(forKey: index), progress.targets.indices.contains(index) else {
            return nil
        }
        record(pushed, outcome, payloadBytes: payloadBytes, index)
        let verdict = PushVerdict.of(outcome)
        switch verdict {
        case .accepted:
            settle(index, as: .acceptedByAPNs)
            let environment = pushed.attempt.destination.environment
            if environment != pushed.knownEnvironment {
                correct(pushed, .rememberEnvironment(environment))
            }
            if pushed.hasBadDays {
                correct(pushed, .forgetBadDays)
            }
            if pushed.attempt.kind == .activity, message.order.activity?.content.event == .end {
                // Not by token: the phone may have rotated it while the push was under way.
                correctEnd(.endAccepted, of: pushed.attempt.installation)
            }
        case .dead(let invalidSince):
            settle(index, as: .tokenDead)
            correct(pushed, .forget(registeredUntil: invalidSince ?? pushed.sentAt))
        case .tryOtherEnvironment:
            if let destination = pushed.otherDestinations.first {
                var next = pushed
                next.attempt.destination = destination
                next.sentAt = now
                next.otherDestinations = pushed.otherDestinations.dropFirst()
                underWay[index] = next
                progress.targets[index].refusedIn = pushed.attempt.destination.environment
                return .push([next.attempt])
            }
            let suspectToken = SuspectToken(
                pushed.attempt,
                pushed.knownEnvironment,
                progress.targets[index].refusedIn,
                sentAt: pushed.firstSentAt,
            )
            switch suspect(suspectToken) {
            case .configurationFault:
                // Once it is mended, the first environment may be the right one.
                progress.targets[index].refusedIn = nil
                let attempts = progress.targets[index].attempts
                let delay = max(schedule.holdDelay, schedule.delay(afterAttempts: attempts, jitter: jitter()))
                wait(index, until: now + delay, because: "mass_token_failure")
            case .tokenFault:
                settle(index, as: .refused)
                correct(pushed, .badDay(registeredUntil: pushed.sentAt))
            case .unproven:
                settle(index, as: .refused)
            }
        case .refused:
            settle(index, as: .refused)
        case .hold:
            wait(index, until: now + schedule.holdDelay)
        case .retryAfterTooMany(let seconds):
            let delay = schedule.delayAfterTooManyRequests(
                attempts: progress.targets[index].attempts,
                retryAfter: seconds,
                jitter: jitter(),
            )
            wait(index, until: now + delay)
        case .retry:
            wait(index, until: now + schedule.delay(afterAttempts: progress.targets[index].attempts, jitter: jitter()))
        }
        if verdict != .accepted, pushed.attempt.kind == .activity {
            correctState(of: pushed.attempt.installation, message)
        }
        if pushed.attempt.kind == .start {
            startFinished(index, pushed.attempt)
        }
        correctAlert(of: pushed, isWaiting: progress.targets[index].isWaiting)
        return underWay.isEmpty ? resolve(of: message, at: now) : nil
    }

    /// The push cannot be made, which the dialect should have refused.
    mutating func cannotBeSent(
        _ index: Int,
        because reason: String,
        of message: MessageUnderWay,
        at now: UnixTime,
    ) -> Action? {
        guard let unsent = underWay.removeValue(forKey: index), progress.targets.indices.contains(index) else {
            return nil
        }
        if unsent.attempt.kind == .activity {
            correctState(of: unsent.attempt.installation, message)
        }
        if unsent.attempt.kind == .start {
            correctStart(of: unsent.attempt.installation)
        }
        correctAlert(of: unsent, isWaiting: false)
        progress.targets[index].statusReason = reason
        settle(index, as: .refused)
        return underWay.isEmpty ? resolve(of: message, at: now) : nil
    }

    /// The message was under way in too many instances that died: nothing is sent any more.
    mutating func quarantine(of message: MessageUnderWay) -> Action {
        settleOpenTargets(as: .quarantined, reason: "taken_over_too_often")
        let isRecorded = progress.targets.contains { $0.state == .settled(.quarantined) }
        return finish(of: message, adding: isRecorded ? nil : nothing(.quarantined, "taken_over_too_often"))
    }

    // MARK: - Resolution

    /// Decides once no push is under way.
    mutating func resolve(of message: MessageUnderWay, at now: UnixTime) -> Action {
        if progress.stage != .notification, !hasAskedForStarts, mayMeetStarts(message) {
            hasAskedForStarts = true
            return .askForStarts
        }
        if claimsAgain, !hasClaimedAgain {
            hasClaimedAgain = true
            return .claimActivities
        }
        if let (until, reason) = earliestWaiting() {
            if reason == RecipientDelivery.paced { return .startAgain(at: min(until, message.deadline)) }
            return .settle(
                Settlement(
                    next: .waiting(until: min(until, message.deadline), reason: reason, progress: progress),
                    corrections: takeCorrections(),
                )
            )
        }
        let activityPushes = progress.targets.filter { $0.kind != .device && $0.state != .settled(.cancelled) }
        let allAreLost = activityPushes.allSatisfy(\.isLostActivityPush)
        switch progress.stage {
        case .activity where activityPushes.isEmpty:
            enterNotificationStage(because: missing ?? RecipientDelivery.nothingRegistered(for: message))
            return lookUpDevices(of: message)
        case .activity:
            guard allAreLost else { return finish(of: message, adding: nil) }
            if let reason = activityPushes.last?.lossWithoutRefusal, activityPushes.allSatisfy(\.isLostWithoutRefusal) {
                // Registrations were looked at just now.
                enterNotificationStage(because: reason)
                return lookUpDevices(of: message)
            }
            progress.stage = .recheck
            progress.notificationReason = "activity_push_refused"
            return .settle(Settlement(next: .fallingBack(progress: progress), corrections: takeCorrections()))
        case .recheck:
            guard allAreLost else { return finish(of: message, adding: nil) }
            progress.stage = .notification
            return lookUpDevices(of: message)
        case .notification:
            let hasDevice = progress.targets.contains { $0.kind == .device }
            return finish(of: message, adding: hasDevice ? nil : nothing(.nothingToSend, "no_device"))
        }
    }

    private mutating func lookUpDevices(of message: MessageUnderWay) -> Action {
        if message.order.notification.isNothing {
            return finish(of: message, adding: nothing(.nothingToSend, "no_text"))
        }
        return .lookUpDevices
    }

    private mutating func expire(of message: MessageUnderWay) -> Action {
        settleOpenTargets(as: .expired, reason: nil)
        let isRecorded = progress.targets.contains { $0.state == .settled(.expired) }
        return finish(of: message, adding: isRecorded ? nil : nothing(.expired, "deadline_passed"))
    }

    mutating func finish(of message: MessageUnderWay, adding last: DeliveryRecord?) -> Action {
        if message.order.activity?.content.event == .end {
            giveUpEnds(isCutShort: last?.outcome == .expired || last?.outcome == .quarantined)
        }
        var records = progress.targets.map { target in
            let outcome = if case .settled(let outcome) = target.state { outcome } else { DeliveryOutcome.cancelled }
            let isDevice = target.kind == .device
            return DeliveryRecord(
                route: isDevice ? .notification : .liveActivity,
                routeReason: target.reason,
                isFallback: isDevice && message.order.activity != nil,
                outcome: outcome,
                target: target,
            )
        }
        if let last {
            records.append(last)
        }
        return .settle(Settlement(next: .finished(records), corrections: takeCorrections()))
    }

    // MARK: - Targets

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
        progress.targets.append(
            DeliveryTarget(
                kind: kind,
                installation: installation,
                tokenFingerprint: token.fingerprint,
                state: .pushing,
                reason: reason,
            )
        )
        return progress.targets.count - 1
    }

    /// Settles what waited for registrations that went away meanwhile.
    private mutating func cancelGone(_ kind: DeliveryTarget.Kind, except installations: [String]) {
        for index in progress.targets.indices where progress.targets[index].kind == kind {
            guard case .waiting = progress.targets[index].state else { continue }
            guard !installations.contains(progress.targets[index].installation) else { continue }
            settle(index, as: .cancelled, reason: "registration_gone")
        }
    }

    private mutating func begin(
        _ index: Int,
        _ registration: ClaimedActivity,
        _ message: MessageUnderWay,
        _ schedule: RetrySchedule,
        _ now: UnixTime,
    ) -> [PushAttempt] {
        guard let instruction = message.order.activity else { return [] }
        let ownAlert = instruction.content.alert.flatMap { $0.isEmpty ? nil : $0 }
        let waitingAlert = ownAlert == nil ? registration.waitingAlert : nil
        let (priority, reason) =
            waitingAlert != nil && instruction.content.event == .update
            ? ActivityPriority.alertTakenAlong
            : ActivityPriority(instruction, for: message.application).choose(isBudgetSpent: registration.isBudgetSpent)
        progress.targets[index].priorityReason = reason
        // A start of an activity that runs already is an update of it.
        let event: ActivityEvent = instruction.content.event == .end ? .end : .update
        let end = min(message.deadline, message.endOfLife(startedAt: registration.startedAt, event: event))
        let token = TokenToTry(registration)
        let attempts = begin(index, token, message, schedule, now) {
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
                alertMessageID: ownAlert == nil ? waitingAlert?.messageID : message.receipt.id,
            )
        }
        if attempts.isEmpty {
            correctState(of: registration.installation, message)
        }
        return attempts
    }

    private mutating func begin(
        _ index: Int,
        _ device: FoundDevice,
        _ translation: Int?,
        _ message: MessageUnderWay,
        _ schedule: RetrySchedule,
        _ now: UnixTime,
    ) -> [PushAttempt] {
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
    ) -> [PushAttempt] {
        let candidates = PushDestination.candidates(
            businessID: token.businessID,
            known: token.environment,
            in: message.certificates,
        )
        // One that refused the token for good is not asked again while the other has not answered.
        let open = candidates.filter { $0.environment != progress.targets[index].refusedIn }
        let destinations = open.isEmpty ? candidates : open
        guard let first = destinations.first else {
            // Neither the message's fault nor the phone's: it waits for `livepush certificate add` or its deadline.
            progress.targets[index].statusReason = "certificate_missing"
            progress.targets[index].state = .waiting(until: now + schedule.holdDelay, reason: "certificate_missing")
            return []
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
        return [attempt]
    }

    private mutating func record(
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

    private mutating func settleOpenTargets(as outcome: DeliveryOutcome, reason: String?) {
        for index in progress.targets.indices {
            if case .settled = progress.targets[index].state { continue }
            settle(index, as: outcome, reason: reason)
        }
    }

    private mutating func wait(_ index: Int, until: UnixTime, because reason: String? = nil) {
        let reason = reason ?? progress.targets[index].statusReason ?? "no_answer"
        progress.targets[index].state = .waiting(until: until, reason: reason)
    }

    private func earliestWaiting() -> (UnixTime, String)? {
        var earliest: (UnixTime, String)?
        for target in progress.targets {
            guard case .waiting(let until, let reason) = target.state else { continue }
            if let (known, _) = earliest, known <= until { continue }
            earliest = (until, reason)
        }
        return earliest
    }

    private mutating func enterNotificationStage(because reason: String) {
        guard progress.stage != .notification else { return }
        progress.stage = .notification
        progress.notificationReason = reason
    }

    private func nothing(_ outcome: DeliveryOutcome, _ reason: String) -> DeliveryRecord {
        DeliveryRecord(
            route: .nothing,
            routeReason: reason,
            isFallback: progress.targets.contains(where: \.isLostActivityPush),
            outcome: outcome,
            target: nil,
        )
    }

    // MARK: - Corrections

    /// The start did not come up and will not: nothing may wait for it.
    mutating func correctStart(of installation: String) {
        corrections.append(
            RegistrationCorrection(kind: .start, installation: installation, token: nil, change: .startFailed)
        )
    }

    private mutating func correct(_ pushed: UnderWay, _ change: RegistrationCorrection.Change) {
        corrections.append(
            RegistrationCorrection(
                kind: pushed.attempt.kind,
                installation: pushed.attempt.installation,
                token: pushed.attempt.token,
                change: change,
            )
        )
    }

    /// A claimed `end` that APNs did not take must not keep later updates from the activity.
    ///
    /// - Parameter isCutShort: nothing was tried any more; an instance that died may have claimed what is not known here.
    private mutating func giveUpEnds(isCutShort: Bool) {
        if isCutShort {
            correctEnd(.endGivenUp, of: nil)
            return
        }
        for target in progress.targets where target.kind == .activity {
            switch target.state {
            case .settled(.acceptedByAPNs), .settled(.activityEnded), .settled(.superseded): continue
            default: correctEnd(.endGivenUp, of: target.installation)
            }
        }
    }

    /// The claim took the state for sent; a later message that brings the same must not be skipped.
    private mutating func correctState(of installation: String, _ message: MessageUnderWay) {
        guard message.order.activity?.content.event == .update else { return }
        corrections.append(
            RegistrationCorrection(kind: .activity, installation: installation, token: nil, change: .stateNotAccepted)
        )
    }

    /// - Parameter isWaiting: whether the push is tried again.
    private mutating func correctAlert(of pushed: UnderWay, isWaiting: Bool) {
        guard let messageID = pushed.attempt.alertMessageID else { return }
        correct(pushed, isWaiting ? .alertNotSent(messageID: messageID) : .alertSettled(messageID: messageID))
    }

    private func isAccepted(_ installation: String) -> Bool {
        progress.targets.last { $0.kind == .activity && $0.installation == installation }?.state
            == .settled(.acceptedByAPNs)
    }

    private mutating func correctEnd(_ change: RegistrationCorrection.Change, of installation: String?) {
        corrections.append(
            RegistrationCorrection(kind: .activity, installation: installation, token: nil, change: change)
        )
    }

    private mutating func takeCorrections() -> [RegistrationCorrection] {
        defer { corrections = [] }
        return corrections
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
