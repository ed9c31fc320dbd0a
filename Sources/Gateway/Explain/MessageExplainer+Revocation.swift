import PostgresClient

extension MessageExplainer: MessageRevoker {
    /// Explains what taking a message back would do at each recipient whom it concerns.
    public func revoke(
        _ key: String,
        replacing replacement: PushOrder?,
        by sender: String,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Revocation {
        let now = now()
        return try await asking { () throws(PostgresError) in
            guard let found = try await store.revocable(key, in: sdkAppID) else {
                return try await explainScheduled(key, in: sdkAppID, at: now)
            }
            if let refusal = found.refusal(replacing: replacement, at: now) { return refusal }
            try await explain(found, replacing: replacement, at: now)
            hasExplained = true
            return .explained
        }
    }

    private func explain(
        _ message: DeliveryStore.RevocableMessage,
        replacing replacement: PushOrder?,
        at now: UnixTime,
    ) async throws(PostgresError) {
        let waits = try await store.waits(of: message)
        cancelled = AccountSet(waits.filter { !$0.revoked.isUnderWay }.map(\.account))
        let limit = MessageExplainer.recipientLimit
        var explained: [RecipientExplanation] = []
        for var order in message.replacements(by: replacement) where explained.count < limit {
            order.recipients = Array(order.recipients.prefix(limit - explained.count))
            explained += try await explain(order, nil, at: now)
        }
        let isSuppressed = replacement?.suppression != nil
        for account in isSuppressed ? message.recipients : [] where explained.count < limit {
            explained.append(RecipientExplanation(account, ["not_replaced": notReplaced], at: now))
        }
        var places: [[UInt8]: Int] = [:]
        for (place, explanation) in explained.enumerated() {
            places[Array(explanation.account.utf8)] = place
        }
        for wait in waits {
            let place = places[Array(wait.account.utf8)] ?? explained.endIndex
            if place == explained.endIndex {
                guard explained.count < limit else { continue }
                explained.append(RecipientExplanation(wait.account, [:], at: now))
            }
            explained[place].take(wait.revoked)
        }
        explanations += explained
        note(message, explained, activities: try await store.acceptedActivityPushes(of: message.receipt))
    }

    private var notReplaced: String { "the replacement has PushFlag 1: what was shown stays" }

    private func note(
        _ message: DeliveryStore.RevocableMessage,
        _ explained: [RecipientExplanation],
        activities: Int64,
    ) {
        func add(_ code: String, _ text: String) {
            notes.append(RecipientExplanation.Note(code: code, message: text))
        }
        if explained.isEmpty {
            add("nothing_to_revoke", "nothing of the message waits, and no notification of it was shown")
        }
        if explained.count >= MessageExplainer.recipientLimit {
            add("audience_cut", "of the recipients whom it concerns the first \(explained.count) are explained")
        }
        if message.cursor != nil {
            add("audience_unfinished", "who of the audience has not been looked up yet gets nothing any more")
        }
        if activities > 0 {
            let words = "\(activities) Live Activity pushes of the message were accepted by APNs and stay"
            add("activity_stays", "\(words): the next update or end replaces what they show")
        }
    }

    /// One that waits for its time was shown nowhere.
    private func explainScheduled(
        _ key: String,
        in sdkAppID: Int64,
        at now: UnixTime,
    ) async throws(PostgresError) -> Revocation {
        let waiting = try await store.scheduled(key, in: sdkAppID)
        guard !waiting.isEmpty else { return .unknown }
        for message in waiting {
            for account in message.recipients.prefix(MessageExplainer.recipientLimit - explanations.count) {
                var explanation = RecipientExplanation(account, [:], at: now)
                explanation.take(RecipientExplanation.Revoked(isUnderWay: false, reason: "", until: message.sendAt))
                explanations.append(explanation)
            }
            let whom = message.recipients.isEmpty ? "an audience" : "\(message.recipients.count) recipients"
            let text = "a message to \(whom) waits for its time, \(message.sendAt.seconds), and is cancelled as a whole"
            notes.append(RecipientExplanation.Note(code: "scheduled", message: text))
        }
        hasExplained = true
        return .explained
    }
}

extension RecipientExplanation {
    /// One to whom no push goes.
    fileprivate init(_ account: String, _ notes: [String: String], at now: UnixTime) {
        self.init(
            account: account,
            result: .nothing,
            registrations: [],
            targets: [],
            notes: notes.map { Note(code: $0.key, message: $0.value) },
            at: now,
        )
    }

    fileprivate mutating func take(_ revoked: Revoked) {
        self.revoked = revoked
        guard result == .nothing else { return }
        result = revoked.isUnderWay ? .later : .cancelled
    }
}
