import LiveActivity

/// A push to a broadcast channel, as far as it is decided here: what goes out and what its sender should know.
struct ChannelBroadcast {
    /// What the schemas say.
    let check: ChannelContentCheck
    private let message: ChannelMessage
    private let target: ChannelTarget
    private let now: Int64

    /// - Parameters:
    ///   - schemas: of the app; nil: it has none.
    ///   - now: Unix seconds by the clock.
    /// - Throws: what is wrong whatever the channel stores, so that nobody need be asked about it.
    init(
        _ message: ChannelMessage,
        _ target: ChannelTarget,
        by schemas: ContentSchemas?,
        now: Int64,
    ) throws(ChannelFault) {
        check = ChannelContentCheck(message, by: schemas, now: now)
        var message = message
        message.content = check.content
        self.message = message
        self.target = target
        self.now = now
        _ = try push(storing: .mostRecent)
    }

    /// The push, whose timestamp is now, and what its sender should know of it.
    ///
    /// - Throws: what is wrong with it.
    func push(
        storing storage: ChannelStorage
    ) throws(ChannelFault) -> (push: LiveActivityPush, findings: [PayloadFinding]) {
        let expiration: Int64? =
            switch (storage, message.timeToLive) {
            case (.none, _): 0
            case (.mostRecent, nil): nil
            case (.mostRecent, 0): 0
            case (.mostRecent, let timeToLive?): now.addingReportingOverflow(timeToLive).partialValue
            }
        let push = LiveActivityPush(
            bundleID: target.certificate.bundleID,
            destination: .channel(message.channelID, storage: storage),
            content: message.content,
            timestamp: now,
            priority: message.priority,
            expiration: expiration,
        )
        var findings = check.adding(to: push.findings(now: now))
        if storage == .none, let timeToLive = message.timeToLive, timeToLive > 0 {
            let words = "is 0 in spite of the time to live: the channel stores nothing, and takes no other"
            findings.append(.warning(.expiration, .expirationNotStored, words))
        }
        let refusals = findings.filter { $0.severity == .refusal }
        guard refusals.isEmpty else { throw .push(refusals) }
        return (push, findings)
    }
}
