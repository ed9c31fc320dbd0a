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

    /// Why nothing more is sent of a message that was taken back, and why its replacement goes where it goes.
    static let revoked = "revoked"
    /// Why a replacement waits.
    static let revokedPushUnderWay = "revoked_push_under_way"
    /// Why a target waits for its turn after another message's push.
    static let paced = "paced"
    /// Why an update is superseded whose alert went out with a newer state that had been sent before.
    static let alertSentAlone = "alert_sent_with_newest_state"
    /// Why a target waits whose push was not sent, since too many wait before it.
    static let backlogged = "backlogged"

    var progress: RecipientProgress
    var underWay: [Int: UnderWay] = [:]
    var corrections: [RegistrationCorrection] = []
    /// Whether it was asked for starts since it was begun or gone on with.
    var hasAskedForStarts = false
    /// Whether an activity came up since registrations were claimed; claimed again once, they are not the next time.
    var claimsAgain = false
    var hasClaimedAgain = false
    /// Why the recipient has no activity to push to, where that is so.
    var missing: String?
    /// Where a push did not get to, since too many wait before it.
    var line: String?

    /// A push that APNs has not answered, and where else it could go.
    struct UnderWay: Sendable {
        var attempt: PushAttempt
        var sentAt: UnixTime
        /// When it was sent to the first environment.
        var firstSentAt: UnixTime
        var otherDestinations: ArraySlice<PushDestination>
        var knownEnvironment: APNsEnvironment?
        var hasBadDays: Bool
    }

    /// Whether an instance died with it, so that it may have sent what begins here.
    private(set) var isTakenOver = false

    /// - Parameter isTakenOver: an instance died with it: every push that is open may have been sent without an answer.
    init(progress: RecipientProgress = .none, isTakenOver: Bool = false) {
        self.progress = progress
        guard isTakenOver else { return }
        self.isTakenOver = true
        for index in progress.targets.indices {
            if case .settled = progress.targets[index].state { continue }
            self.progress.targets[index].answersLost += 1
        }
    }

    // MARK: - Events

    /// Begins, or goes on from stored progress.
    mutating func start(of message: MessageUnderWay, at now: UnixTime) -> Action {
        (hasAskedForStarts, claimsAgain, hasClaimedAgain) = (false, false, false)
        (missing, line) = (nil, nil)
        if let suppression = message.order.suppression {
            return finish(of: message, adding: nothing(.suppressed, suppression.rawValue))
        }
        guard now < message.deadline else {
            return expire(of: message)
        }
        if message.order.activity == nil {
            let isReplacement = message.order.replaced != nil
            enterNotificationStage(because: isReplacement ? RecipientDelivery.revoked : "no_activity_in_message")
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
        for registration in found where registration.verdict.isOfLiveToken {
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
                    if let attempt = begin(index, registration, message, schedule, now) { attempts.append(attempt) }
                }
            case .notLive, .quarantined: break
            }
        }
        cancelGone(.activity) { installation in
            found.contains { $0.verdict.isOfLiveToken && $0.installation == installation }
        }
        guard attempts.isEmpty else { return .push(attempts) }
        if found.contains(where: { $0.verdict != .notLive }) {
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
        for device in found where goes(to: device.installation) {
            guard let index = target(.device, device.installation, device.token, at: now) else { continue }
            let translation = notification.translation(for: device.language)
            if device.isQuarantined {
                settle(index, as: .nothingToSend, reason: "token_quarantined")
            } else if notification.isSilent {
                // Nobody sees it, so neither the permission to notify nor an app in front is in its way.
                if let attempt = begin(index, device, nil, message, schedule, now) { attempts.append(attempt) }
            } else if device.deniesNotifications {
                settle(index, as: .nothingToSend, reason: "permission_denied")
            } else if let until = device.foregroundUntil, now < until {
                settle(index, as: .foreground, reason: "app_in_foreground")
            } else if notification.translated(by: translation).isEmpty {
                settle(index, as: .nothingToSend, reason: "no_text")
            } else {
                if let attempt = begin(index, device, translation, message, schedule, now) { attempts.append(attempt) }
            }
        }
        cancelGone(.device) { installation in found.contains { $0.installation == installation } }
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
        let verdict = PushVerdict.of(outcome)
        if verdict != .notSent {
            record(pushed, outcome, payloadBytes: payloadBytes, index)
        }
        switch verdict {
        case .accepted:
            if pushed.attempt.sentState == nil {
                settle(index, as: .acceptedByAPNs)
            } else {
                settle(index, as: .superseded, reason: RecipientDelivery.alertSentAlone)
            }
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
            let tried = pushed.attempt.destination
            if message.lacksKey(for: tried.certificate.businessID, in: tried.environment.other) {
                // Whether the token is bad is not known before the other environment was asked.
                progress.targets[index].refusedIn = tried.environment
                waitForSecret(index, schedule, now)
                break
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
        case .hold(let isUnconfirmed):
            let delay = isUnconfirmed ? schedule.delay(afterAttempts: 1, jitter: jitter()) : schedule.holdDelay
            wait(index, until: now + delay)
        case .retryAfterTooMany(let seconds):
            let delay = schedule.delayAfterTooManyRequests(
                attempts: progress.targets[index].attempts,
                retryAfter: seconds,
                jitter: jitter(),
            )
            wait(index, until: now + delay)
        case .retry(let seconds):
            let delay = schedule.delay(
                afterAttempts: progress.targets[index].attempts,
                retryAfter: seconds,
                jitter: jitter(),
            )
            wait(index, until: now + delay)
        case .notSent:
            wait(index, until: now, because: RecipientDelivery.backlogged)
            line = pushed.attempt.destination.line
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

    /// Whether the message goes to an installation of the account, of whatever kind its token is.
    func goes(to installation: String) -> Bool {
        progress.installations?.contains(installation) ?? true
    }

    /// The message was taken back: nothing more of it is sent.
    mutating func cancel(of message: MessageUnderWay) -> Action {
        settleOpenTargets(as: .cancelled, reason: RecipientDelivery.revoked)
        return finish(
            of: message,
            adding: progress.targets.isEmpty ? nothing(.cancelled, RecipientDelivery.revoked) : nil,
        )
    }

    /// Keeps the message from all installations but these.
    mutating func go(onlyTo installations: [String]) {
        progress.installations = installations
    }

    /// What the message is to replace may still come up: it waits for that.
    func waitForReplacedPushes(at now: UnixTime) -> Action {
        .settle(
            Settlement(
                next: .waiting(
                    until: now + .seconds(1),
                    reason: RecipientDelivery.revokedPushUnderWay,
                    progress: progress,
                ),
                corrections: [],
            )
        )
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
            if let line, reason == RecipientDelivery.backlogged {
                return .settle(
                    Settlement(
                        next: .inLine(line, reason: reason, progress: progress),
                        corrections: takeCorrections(),
                    )
                )
            }
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
            let reason = message.order.replaced == nil ? "no_device" : "nothing_shown"
            return finish(of: message, adding: hasDevice ? nil : nothing(.nothingToSend, reason))
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
        let reason = message.isLeftToOthers ? UnreadableSecrets.reason : "deadline_passed"
        return finish(of: message, adding: isRecorded ? nil : nothing(.expired, reason))
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
}
