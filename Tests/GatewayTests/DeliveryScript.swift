import APNs

@testable import Gateway

/// A script of events told to a ``RecipientDelivery``; each answers with the actions in words, so that a test reads as
/// what happened and what was done.
struct DeliveryScript {
    let message: MessageUnderWay
    var delivery: RecipientDelivery
    /// The last action itself, for tests that look closer.
    private(set) var action: RecipientDelivery.Action?
    /// What a BadDeviceToken in every environment means.
    var suspicion = TokenSuspicion.unproven
    /// The tokens that were found suspect.
    private(set) var suspects: [SuspectToken] = []

    init(_ message: MessageUnderWay, progress: RecipientProgress = .none, isTakenOver: Bool = false) {
        self.message = message
        self.delivery = RecipientDelivery(progress: progress, isTakenOver: isTakenOver)
    }

    // MARK: - Events; times are seconds after accept

    mutating func start(at seconds: Int64 = 0) -> [String] {
        told(delivery.start(of: message, at: time(seconds)))
    }

    mutating func found(_ activities: [ClaimedActivity], at seconds: Int64 = 0) -> [String] {
        told(delivery.activitiesFound(activities, of: message, schedule: .standard, at: time(seconds)))
    }

    mutating func found(starts: [FoundStart], at seconds: Int64 = 0) -> [String] {
        told(delivery.startsFound(starts, of: message, schedule: .standard, at: time(seconds)))
    }

    mutating func found(devices: [FoundDevice], at seconds: Int64 = 0) -> [String] {
        told(delivery.devicesFound(devices, of: message, schedule: .standard, at: time(seconds)))
    }

    mutating func answered(
        _ target: Int,
        _ outcome: APNsOutcome,
        at seconds: Int64 = 1,
        jitter: Double = 0,
    ) -> [String] {
        var suspects: [SuspectToken] = []
        let suspicion = suspicion
        defer { self.suspects += suspects }
        return told(
            delivery.pushFinished(
                target,
                outcome,
                payloadBytes: 300,
                of: message,
                schedule: .standard,
                at: time(seconds),
                jitter: jitter,
                suspect: { suspect in
                    suspects.append(suspect)
                    return suspicion
                },
            )
        )
    }

    mutating func cannotBeSent(_ target: Int) -> [String] {
        told(delivery.cannotBeSent(target, because: PushComposer.payloadOverLimit, of: message, at: time(0)))
    }

    mutating func quarantine() -> [String] {
        told(delivery.quarantine(of: message))
    }

    /// Goes on from what the pending row keeps, as another process would.
    mutating func resumed(isTakenOver: Bool = false) throws -> Bool {
        guard let progress = RecipientProgress(decoding: delivery.progress.encoded()) else { return false }
        let isSame = progress == delivery.progress
        delivery = RecipientDelivery(progress: progress, isTakenOver: isTakenOver)
        return isSame
    }

    /// The installations whose state is written down as not accepted by the last action.
    var lostStates: [String] {
        guard case .settle(let settlement) = action else { return [] }
        return settlement.corrections.filter { $0.change == .stateNotAccepted }.compactMap(\.installation)
    }

    /// For each target, after how many attempts an answer may be lost.
    var answersLost: [Int] { delivery.progress.targets.map(\.answersLost) }

    // MARK: - Actions in words

    private func time(_ seconds: Int64) -> UnixTime {
        Fixture.accepted + .seconds(seconds)
    }

    private mutating func told(_ action: RecipientDelivery.Action?) -> [String] {
        self.action = action
        switch action {
        case nil: return []
        case .claimActivities: return ["claim"]
        case .askForStarts: return ["ask for starts"]
        case .startAgain(let time): return ["start again at \(words(time))"]
        case .lookUpDevices: return ["look up devices"]
        case .push(let attempts): return attempts.map(words)
        case .settle(let settlement): return words(settlement.next) + settlement.corrections.compactMap(words)
        }
    }

    private func words(_ attempt: PushAttempt) -> String {
        let destination = attempt.destination
        return "push \(attempt.kind) to \(attempt.installation) by \(destination.certificate.businessID) in "
            + destination.environment.rawValue
    }

    private func words(_ next: Settlement.Next) -> [String] {
        switch next {
        case .finished(let records):
            records.map { record in
                let place = record.target.map { " to \($0.installation)" } ?? ""
                return record.route.rawValue + place + (record.isFallback ? " as fallback" : "")
                    + ": \(record.outcome.rawValue), \(record.routeReason)"
            }
        case .waiting(let until, let reason, _): ["wait until \(words(until)): \(reason)"]
        case .inLine(let line, let reason, _): ["wait in line \(line): \(reason)"]
        case .fallingBack(let progress): ["fall back: \(progress.notificationReason)"]
        }
    }

    /// Nil for what tells only that a state did not arrive, which nearly every fault does; see ``lostStates``.
    private func words(_ correction: RegistrationCorrection) -> String? {
        let place = "\(correction.kind) of \(correction.installation ?? "all")"
        switch correction.change {
        case .forget(let until): return "forget \(place) registered until \(words(until))"
        case .rememberEnvironment(let environment): return "remember \(environment.rawValue) for \(place)"
        case .stateNotAccepted: return nil
        case .badDay(let until): return "bad day for \(place) registered until \(words(until))"
        case .forgetBadDays: return "forget bad days of \(place)"
        case .endAccepted: return "end accepted for \(place)"
        case .endGivenUp: return "end given up for \(place)"
        case .startFailed: return "start failed on \(correction.installation ?? "all")"
        case .alertSettled(let messageID): return "alert of \(messageID) settled for \(place)"
        case .alertNotSent(let messageID): return "alert of \(messageID) not sent for \(place)"
        }
    }

    private func words(_ time: UnixTime) -> String {
        let milliseconds = (time.microseconds - Fixture.accepted.microseconds) / 1000
        return milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
