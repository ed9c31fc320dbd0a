import APNs
import LiveActivity

/// What the registrations have to be told with the outcome.
extension RecipientDelivery {
    /// The start did not come up and will not: nothing may wait for it.
    mutating func correctStart(of installation: String) {
        corrections.append(
            RegistrationCorrection(kind: .start, installation: installation, token: nil, change: .startFailed)
        )
    }

    mutating func correct(_ pushed: UnderWay, _ change: RegistrationCorrection.Change) {
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
    mutating func giveUpEnds(isCutShort: Bool) {
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
    mutating func correctState(of installation: String, _ message: MessageUnderWay) {
        guard message.order.activity?.content.event == .update else { return }
        corrections.append(
            RegistrationCorrection(kind: .activity, installation: installation, token: nil, change: .stateNotAccepted)
        )
    }

    /// - Parameter isWaiting: whether the push is tried again.
    mutating func correctAlert(of pushed: UnderWay, isWaiting: Bool) {
        guard let messageID = pushed.attempt.alertMessageID else { return }
        correct(pushed, isWaiting ? .alertNotSent(messageID: messageID) : .alertSettled(messageID: messageID))
    }

    func isAccepted(_ installation: String) -> Bool {
        progress.targets.last { $0.kind == .activity && $0.installation == installation }?.state
            == .settled(.acceptedByAPNs)
    }

    mutating func correctEnd(_ change: RegistrationCorrection.Change, of installation: String?) {
        corrections.append(
            RegistrationCorrection(kind: .activity, installation: installation, token: nil, change: change)
        )
    }

    mutating func takeCorrections() -> [RegistrationCorrection] {
        defer { corrections = [] }
        return corrections
    }
}
