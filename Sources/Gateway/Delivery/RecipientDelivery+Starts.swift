import APNs
import LiveActivity

/// Starts of activities, and the wait of later messages for an activity that may still come up.
extension RecipientDelivery {
    /// Why a target waits for the update token of an activity that a push has started.
    static let updateTokenAwaited = "update_token_awaited"
    /// Why a start waits, or is not sent: the phone was sent as many as it takes.
    static let startGuarded = "start_guarded"
    /// Why a notification takes the place of an update: the start that it waited for did not come up in time.
    static let updateTokenMissing = "update_token_not_registered"
    /// Why a start is not sent: the phone's iOS knows none by push.
    static let startNotSupported = "start_not_supported"

    /// Why a message waits, or a notification takes its place: a start of the activity was accepted before it, and it is
    /// not decided which phones that goes to.
    static let startUndecided = "start_undecided"
    /// How soon it is asked again; nearly always the start is decided by then.
    static let startUndecidedInterval = Duration.milliseconds(200)

    /// Why a start is sent as it is: what it asks for in `input-push-token` or `input-push-channel` was left out, since the
    /// phone's iOS is not known to take it. One that does not take the channel would start nothing.
    static let inputPushLeftOut = "input_push_left_out"

    /// Why there is nothing to push to where no token is registered.
    static func nothingRegistered(for message: MessageUnderWay) -> String {
        message.order.activity?.content.event == .start ? "start_token_not_registered" : "activity_not_registered"
    }

    /// Whether activities of the message's app are started by push, so that one may be coming up.
    func mayMeetStarts(_ message: MessageUnderWay) -> Bool {
        guard let activity = message.order.activity else { return false }
        // Whoever an audience of an activity was found by may have it coming up.
        if case .activity = message.order.audience { return true }
        return activity.content.event == .start || message.application.mayStartActivities
            || progress.targets.contains { $0.kind == .start }
    }

    /// Whether a start is to be claimed, rather than asked what may still come up: no phone of the recipient has the
    /// activity.
    func claimsStart(of message: MessageUnderWay) -> Bool {
        message.order.activity?.content.event == .start
            && !progress.targets.contains { $0.kind == .activity && $0.state != .settled(.cancelled) }
    }

    /// What the question for starts leaves out; see ``DeliveryStore/StartQuestion/excepted``.
    func exceptedStarts(of message: MessageUnderWay, at now: UnixTime) -> [String] {
        guard claimsStart(of: message) else {
            // Their activities have come up.
            return progress.targets.filter { $0.kind == .activity && $0.state != .settled(.cancelled) }
                .map(\.installation)
        }
        return progress.targets.filter { target in
            guard target.kind == .start else { return false }
            return switch target.state {
            case .settled(let outcome): outcome != .cancelled
            case .waiting: target.waitsForAttempt(at: now)
            case .pushing: false
            }
        }.map { "\($0.installation):\($0.tokenFingerprint)" }
    }

    /// The answer: phones on which the activity is started now, or may still come up.
    mutating func startsFound(
        _ found: [FoundStart],
        of message: MessageUnderWay,
        schedule: RetrySchedule,
        at now: UnixTime,
    ) -> Action {
        if found.contains(where: { $0.verdict == .undecided }) {
            return waitForStart(of: message, at: now)
        }
        var attempts: [PushAttempt] = []
        for start in found where start.verdict != .quarantined && start.verdict != .givenUp {
            guard start.verdict != .cameUp else {
                claimsAgain = true
                continue
            }
            let index = target(start)
            switch start.verdict {
            case .claimed:
                if let attempt = begin(index, start, message, schedule, now) { attempts.append(attempt) }
            case .underWay:
                progress.targets[index].reason = "start_under_way"
                progress.targets[index].state = .waiting(
                    until: start.until ?? now,
                    reason: RecipientDelivery.updateTokenAwaited,
                )
            case .superseded: settle(index, as: .superseded, reason: "newer_message_claimed")
            case .guarded:
                guard let until = start.until else {
                    settle(index, as: .refused, reason: RecipientDelivery.startGuarded)
                    continue
                }
                progress.targets[index].state = .waiting(until: until, reason: RecipientDelivery.startGuarded)
            case .expired: settle(index, as: .expired, reason: "start_expired")
            case .cameUp, .quarantined, .undecided, .givenUp: break
            }
        }
        endWaits(except: found.map(\.installation), at: now)
        if found.contains(where: { $0.verdict == .quarantined }), missing == nil {
            missing = "start_token_quarantined"
        }
        if found.contains(where: { $0.verdict == .givenUp }), missing == nil {
            missing = RecipientDelivery.startUndecided
        }
        return attempts.isEmpty ? resolve(of: message, at: now) : .push(attempts)
    }

    /// Everything of the recipient is asked once more, in whatever process: also what waits for another reason.
    private mutating func waitForStart(of message: MessageUnderWay, at now: UnixTime) -> Action {
        .settle(
            Settlement(
                next: .waiting(
                    until: min(now + RecipientDelivery.startUndecidedInterval, message.deadline),
                    reason: RecipientDelivery.startUndecided,
                    progress: progress,
                ),
                corrections: takeCorrections(),
            )
        )
    }

    /// Settles what waited for phones of which nothing is coming up any more.
    private mutating func endWaits(except installations: [String], at now: UnixTime) {
        for index in progress.targets.indices where progress.targets[index].kind == .start {
            guard case .waiting(_, let reason) = progress.targets[index].state,
                !installations.contains(progress.targets[index].installation),
                !progress.targets[index].waitsForAttempt(at: now)
            else { continue }
            if reason == RecipientDelivery.updateTokenAwaited {
                settle(index, as: .expired, reason: RecipientDelivery.updateTokenMissing)
            } else {
                settle(index, as: .cancelled, reason: "registration_gone")
            }
        }
    }

    /// A target that waited for an update token, or for another attempt of a start that came up after all, goes on as
    /// one of the activity that is registered by now.
    mutating func takeUpWait(on installation: String) {
        let waiting = progress.targets.firstIndex {
            $0.kind == .start && $0.installation == installation && $0.isWaiting
        }
        guard let waiting else { return }
        progress.targets[waiting].kind = .activity
        progress.targets[waiting].reason = "activity_registered"
    }

    /// A start was answered: one that is lost is nothing to wait for, and none is tried longer than it is delivered.
    mutating func startFinished(_ index: Int, _ attempt: PushAttempt) {
        switch progress.targets[index].state {
        case .settled(.acceptedByAPNs), .pushing: break
        case .settled: correctStart(of: attempt.installation)
        case .waiting(let until, let reason):
            // Its whole second, so that the claim finds it over.
            let end = UnixTime(seconds: attempt.expiration) + .seconds(1)
            progress.targets[index].state = .waiting(until: min(until, end), reason: reason)
        }
    }

    // MARK: - Targets

    /// The index of the phone's target; a new one where the former has its outcome, or was for another token.
    private mutating func target(_ start: FoundStart) -> Int {
        let known = progress.targets.lastIndex { target in
            guard target.kind == .start, target.installation == start.installation else { return false }
            if case .settled = target.state { return false }
            return true
        }
        if let known {
            if progress.targets[known].tokenFingerprint != start.tokenFingerprint {
                progress.targets[known].refusedIn = nil
            }
            progress.targets[known].tokenFingerprint = start.tokenFingerprint
            progress.targets[known].state = .pushing
            return known
        }
        return begin(.start, on: start.installation, start.tokenFingerprint, because: "start_token_registered")
    }

    /// A target that nothing was tried for yet, as far as it is known.
    ///
    /// - Returns: its position.
    mutating func begin(
        _ kind: DeliveryTarget.Kind,
        on installation: String,
        _ tokenFingerprint: String,
        because reason: String,
    ) -> Int {
        var target = DeliveryTarget(
            kind: kind,
            installation: installation,
            tokenFingerprint: tokenFingerprint,
            state: .pushing,
            reason: reason,
        )
        target.answersLost = isTakenOver ? 1 : 0
        progress.targets.append(target)
        return progress.targets.count - 1
    }

    private mutating func begin(
        _ index: Int,
        _ start: FoundStart,
        _ message: MessageUnderWay,
        _ schedule: RetrySchedule,
        _ now: UnixTime,
    ) -> PushAttempt? {
        guard let instruction = message.order.activity, let push = start.push else { return nil }
        progress.targets[index].reason = "start_token_registered"
        if let system = push.system, system < .pushToStart {
            settle(index, as: .refused, reason: RecipientDelivery.startNotSupported)
            correctStart(of: start.installation)
            return nil
        }
        if let misfit = push.checkedContent?.misfit {
            progress.targets[index].statusReason = misfit
            settle(index, as: .refused)
            correctStart(of: start.installation)
            return nil
        }
        let wanted = (push.checkedContent?.converted ?? instruction.content).start
        if let wanted, wanted.adapted(to: push.system) != wanted {
            progress.targets[index].reason = RecipientDelivery.inputPushLeftOut
        }
        let (priority, reason) = ActivityPriority(instruction, for: message.application).choose(isBudgetSpent: false)
        progress.targets[index].priorityReason = reason
        return begin(index, TokenToTry(push), message, schedule, now) {
            PushAttempt(
                target: index,
                installation: start.installation,
                kind: .start,
                token: push.token,
                destination: $0,
                timestamp: push.timestamp,
                expiration: push.expiresAt.seconds,
                priority: priority,
                checkedContent: push.checkedContent,
                system: push.system,
            )
        }
    }
}

extension DeliveryTarget {
    /// Whether it waits for a time that has not come, whatever happens to its registration. The wait for an update token
    /// is over at any time.
    fileprivate func waitsForAttempt(at now: UnixTime) -> Bool {
        guard case .waiting(let until, let reason) = state else { return false }
        return now < until && reason != RecipientDelivery.updateTokenAwaited
    }

    /// Why a start, or an update that waited for one, is lost without APNs' having refused it; nil: it is not.
    var lossWithoutRefusal: String? {
        guard kind == .start, case .settled = state else { return nil }
        let losses = [
            RecipientDelivery.updateTokenMissing, RecipientDelivery.startGuarded, RecipientDelivery.startNotSupported,
        ]
        return losses.contains(reason) ? reason : nil
    }

    /// See ``lossWithoutRefusal``.
    var isLostWithoutRefusal: Bool { lossWithoutRefusal != nil }
}
