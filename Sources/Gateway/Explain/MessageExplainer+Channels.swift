import LiveActivity
import PostgresClient

extension MessageExplainer: ChannelExplainer {
    /// Explains a push to a channel. APNs, which sending asks for the storage of a channel that is not known here, is not
    /// asked: one that stores is taken for granted then.
    public func explain(
        _ order: ChannelOrder,
        sending message: ChannelMessage,
    ) async throws(ChannelFault) -> ChannelExplanation {
        let target = try ChannelTarget(of: order, in: directory)
        let now = now()
        let schemas = directory.current.applications[order.sdkAppID]?.contentSchemas
        let broadcast = try ChannelBroadcast(message, target, by: schemas, now: now.seconds)
        let (state, obstacles) = try await known(of: message.channelID, target)
        var (push, findings) = try broadcast.push(storing: state.storage ?? .mostRecent)
        push.timestamp = max(push.timestamp, state.lastTimestamp.addingReportingOverflow(1).partialValue)
        let payload = push.payload
        let explanation = ChannelExplanation(
            isSent: !state.isGone,
            bundleID: target.certificate.bundleID,
            environment: target.environment,
            businessID: order.businessID,
            message: SentChannelMessage(
                timestamp: push.timestamp,
                priority: push.priority,
                expiration: push.expiration,
                payloadBytes: payload.count,
                warnings: findings,
            ),
            headers: [(":path", push.path(token: "")), ("authorization", "bearer (provider token)")] + push.headers
                + [("apns-request-id", "(made when it is sent)")],
            payload: payload,
            payloadLimit: push.limit,
            priorityReason: message.priority == nil ? "default" : "caller",
            content: schemas.map { _ in broadcast.check.verdicts(on: message.content) },
            channelID: message.channelID,
            channel: state,
            notes: notes(on: state) + obstacles.compactMap { $0.note(businessID: order.businessID, target.environment) },
        )
        explainedChannel = explanation
        return explanation
    }

    private func known(
        of channelID: String,
        _ target: ChannelTarget,
    ) async throws(ChannelFault) -> (ChannelState, [PushObstacle]) {
        do throws(PostgresError) {
            return (
                try await ChannelStore(pool: store.pool).state(of: channelID, target),
                try await store.obstacles(of: target.sdkAppID)
            )
        } catch {
            throw .unavailable(GatewayUnavailable(error, logger: logger))
        }
    }

    private func notes(on state: ChannelState) -> [RecipientExplanation.Note] {
        var notes: [RecipientExplanation.Note] = []
        if state.isGone {
            let message = "the channel was deleted, or APNs has never had it in this environment: it would be refused"
            notes.append(RecipientExplanation.Note(code: "channel_gone", message: message))
        } else if state.storage == nil {
            let message =
                "no channel of this id was made or used here: APNs is asked before the first push, and if it stores "
                + "nothing apns-expiration is 0"
            notes.append(RecipientExplanation.Note(code: "channel_unknown", message: message))
        }
        return notes
    }
}

extension ChannelContentCheck {
    /// What each version says of the content as it was given.
    fileprivate func verdicts(on given: ActivityContent) -> [RecipientExplanation.ContentVerdict] {
        guard isBySchema else {
            return [RecipientExplanation.ContentVerdict(schema: nil, word: "unchecked", notices: [])]
        }
        var rules = rules
        // Where several types fit nothing is rewritten.
        rules.convertsDates = content != given
        return checks.map { check in
            RecipientExplanation.ContentVerdict(
                check,
                given,
                under: rules,
                unknown: check.unknownMembers,
                isReplaceable: false,
            )
        }
    }
}
