import LiveActivity

/// A message that still waits for one of the account's phones: the recipient's row in `pending`.
struct WaitingMessage: Equatable {
    let messageID: Int64
    let acceptedAt: UnixTime
    /// The activity it instructs; nil: a plain notification.
    let laID: String?
    /// `update` or `end`; nil: a plain notification.
    let event: String?
    /// Why the recipient waits.
    let reason: String
    /// What became of each target so far; nil if a newer release wrote it.
    let progress: RecipientProgress?

    /// What this message means to a registration; nil: it is not one of its targets.
    ///
    /// - Parameter registeredActivities: LaIds that the account has registered. Before targets are known, a message for
    ///   another activity is bound for the devices.
    func lastPush(to record: RegistrationRecord, registeredActivities: Set<String>) -> RegistrationRecord.LastPush? {
        if record.kind == DeliveryTarget.Kind.start.rawValue, event != ActivityEvent.start.rawValue { return nil }
        let isActivity = record.kind == DeliveryTarget.Kind.activity.rawValue
        if isActivity, record.laID != laID { return nil }
        guard let targets = progress?.targets, !targets.isEmpty else {
            guard record.kind != DeliveryTarget.Kind.start.rawValue else { return nil }
            let isForDevices = laID.map { !registeredActivities.contains($0) } ?? true
            guard isActivity || isForDevices else { return nil }
            return RegistrationRecord.LastPush(
                at: acceptedAt,
                event: event,
                outcome: RegistrationRecord.LastPush.retrying,
                apnsReason: reason.isEmpty ? nil : reason,
            )
        }
        guard
            let target = targets.last(where: {
                $0.kind.rawValue == record.kind && $0.installation == record.installation
                    // A phone has a start token for each attributes type.
                    && ($0.kind != .start || $0.tokenFingerprint == record.tokenFingerprint)
            })
        else { return nil }
        var push = RegistrationRecord.LastPush(
            at: target.sentAt ?? acceptedAt,
            event: event,
            outcome: RegistrationRecord.LastPush.retrying,
            apnsStatus: target.status.map(Int64.init),
            apnsReason: target.statusReason,
            routeReason: target.reason,
        )
        switch target.state {
        case .pushing: break
        case .waiting(_, let reason): push.apnsReason = target.statusReason ?? reason
        case .settled(let outcome): push.outcome = outcome.rawValue
        }
        return push
    }
}
