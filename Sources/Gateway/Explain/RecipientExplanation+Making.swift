import APNs

extension RecipientExplanation {
    /// Most other activities that are named.
    private static let namedActivities = 5

    /// - Parameters:
    ///   - held: every registration of the account.
    ///   - repeats: the message of the same request, accepted a moment ago.
    init(
        _ recipient: ExplainedRecipient,
        _ held: [Registration],
        _ order: PushOrder,
        repeats: (messageKey: String, acceptedAt: UnixTime)?,
        obstacles: [PushObstacle],
        at now: UnixTime,
    ) {
        let targets = recipient.targets().map { $0.noting(obstacles) }
        let laID = order.activity?.laID
        let startedType = order.activity?.content.start?.attributesType
        self.init(
            account: recipient.task.account,
            result: repeats == nil ? Self.result(of: targets) : .nothing,
            registrations: held.filter { registration in
                switch registration.kind {
                case "activity": registration.laID == laID && laID != nil
                case "start": registration.attributesType == startedType && startedType != nil
                default: true
                }
            },
            targets: targets,
            notes: [],
            at: now,
        )
        if let repeats {
            notes.append(
                Note(
                    code: "repeated_request",
                    message: "the same request was accepted \((now - repeats.acceptedAt).components.seconds) s ago as "
                        + "\(repeats.messageKey): sent again within 120 s it is answered with that key and pushed no more; "
                        + "another MsgRandom makes it a new one",
                )
            )
        }
        noteOthers(held, order)
    }

    private static func result(of targets: [Target]) -> Result {
        if targets.contains(where: { $0.push != nil }) { return .push }
        let comes = [
            RecipientDelivery.updateTokenAwaited, RecipientDelivery.startUndecided, RecipientDelivery.startGuarded,
            RecipientDelivery.paced, RecipientDelivery.revokedPushUnderWay,
        ]
        return targets.contains { $0.outcome == "waiting" && comes.contains($0.reason) } ? .later : .nothing
    }

    /// What is registered instead of what the message is about.
    private mutating func noteOthers(_ held: [Registration], _ order: PushOrder) {
        guard !held.isEmpty else {
            notes.append(
                Note(
                    code: "nothing_registered",
                    message:
                        "nothing is registered for this account in this app: account and app come from the UserSig "
                        + "with which the phone registers",
                )
            )
            return
        }
        if let laID = order.activity?.laID, !registrations.contains(where: { $0.kind == "activity" }) {
            let others = held.filter { $0.kind == "activity" && $0.state == "live" }.compactMap(\.laID)
            if !others.isEmpty {
                let named = Set(others).sorted().prefix(Self.namedActivities).joined(separator: ", ")
                notes.append(
                    Note(
                        code: "other_activities",
                        message: "the activity \(laID) is not registered; the account has: \(named)",
                    )
                )
            }
        }
        if let type = order.activity?.content.start?.attributesType,
            !registrations.contains(where: { $0.kind == "start" })
        {
            let others = Set(held.filter { $0.kind == "start" }.compactMap(\.attributesType))
            if !others.isEmpty {
                let named = others.sorted().prefix(Self.namedActivities).joined(separator: ", ")
                notes.append(
                    Note(
                        code: "other_attributes_types",
                        message: "no start token is registered for \(type); the account has: \(named)",
                    )
                )
            }
        }
    }
}

extension RecipientExplanation.Target {
    /// With what keeps the push from going out at once.
    fileprivate func noting(_ obstacles: [PushObstacle]) -> RecipientExplanation.Target {
        guard let push else { return self }
        var noted = self
        noted.notes += obstacles.compactMap { $0.note(businessID: push.businessID, push.environment) }
        return noted
    }
}

extension PushObstacle {
    /// What keeps pushes of a certificate to an environment from going out at once; nil: not this.
    func note(businessID: Int64, _ environment: APNsEnvironment) -> RecipientExplanation.Note? {
        guard self.businessID ?? businessID == businessID,
            self.environment.map({ $0 == environment.rawValue }) ?? true
        else { return nil }
        return RecipientExplanation.Note(
            code: alarm,
            message: "it may have to wait, see livepush doctor and the view alarms: \(detail)",
        )
    }
}
