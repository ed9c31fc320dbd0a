import APNs

extension RecipientRecord {
    /// A row of `pending` that belongs to one recipient.
    struct WaitingRow: Equatable {
        var messageID: Int64
        var account: String
        var due: UnixTime
        var attempts: Int64
        var reason: String
        /// What became of each target so far; nil if a newer release wrote it.
        var progress: RecipientProgress?
    }

    /// Where the targets of a waiting recipient stand: those that have their outcome, and those to be tried again.
    ///
    /// - Parameter isActivity: whether the message instructs an activity, so that a notification stands in for it.
    static func waiting(_ row: WaitingRow, isActivity: Bool) -> [RecipientRecord] {
        guard let targets = row.progress?.targets, !targets.isEmpty else {
            var record = RecipientRecord(account: row.account, outcome: retrying)
            record.attempts = row.attempts
            record.nextAttemptAt = row.due
            record.reason = row.reason.nonEmpty
            return [record]
        }
        return targets.map { RecipientRecord($0, of: row, isActivity: isActivity) }
    }

    /// A recipient of whom nothing is written yet: its first attempts are to begin or under way.
    ///
    /// - Parameter reason: why the whole message waits; empty: it is about to begin.
    static func waiting(_ account: String, reason: String) -> RecipientRecord {
        var record = RecipientRecord(account: account, outcome: retrying)
        record.reason = reason.nonEmpty
        return record
    }

    /// A recipient of a message that waits for its time, or was cancelled before it came.
    ///
    /// - Parameter isErased: whether the account was deleted meanwhile.
    static func scheduled(_ account: String, _ schedule: ScheduleRecord, isErased: Bool) -> RecipientRecord {
        guard schedule.cancelledAt == nil, !isErased else {
            var record = RecipientRecord(account: account, outcome: DeliveryOutcome.cancelled.rawValue)
            record.reason = isErased ? "account_deleted" : "schedule_cancelled"
            return record
        }
        var record = RecipientRecord(account: account, outcome: retrying)
        record.nextAttemptAt = schedule.sendAt
        record.reason = "scheduled"
        return record
    }

    private init(_ target: DeliveryTarget, of row: WaitingRow, isActivity: Bool) {
        self.init(account: row.account, outcome: RecipientRecord.retrying)
        switch target.state {
        case .settled(let outcome): self.outcome = outcome.rawValue
        case .waiting(let until, let why):
            nextAttemptAt = until
            reason = why.nonEmpty
        case .pushing:
            nextAttemptAt = row.due
            reason = row.reason.nonEmpty
        }
        let isDevice = target.kind == .device
        installation = target.installation
        route = (isDevice ? DeliveryRecord.Route.notification : .liveActivity).rawValue
        routeReason = target.reason
        isFallback = isDevice && isActivity
        apnsStatus = target.status.map(Int64.init)
        apnsReason = target.statusReason
        if target.attempts > 0 {
            apnsID = PushComposer.apnsID(row.messageID, target.kind, row.account, target.installation)
        }
        attempts = Int64(target.attempts)
        priority = target.priority.map(Int64.init)
        priorityReason = target.priorityReason
        timestampSent = target.timestampSent
        sentAt = target.sentAt
        tokenFingerprint = target.tokenFingerprint
        environment = target.environment?.rawValue
        businessID = target.businessID
    }
}

extension String {
    fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
