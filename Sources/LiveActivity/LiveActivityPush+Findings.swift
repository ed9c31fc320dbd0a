extension LiveActivityPush {
    /// Everything that is to be said of the push: the content's findings, its timestamp, headers and size.
    ///
    /// - Parameters:
    ///   - now: Unix seconds.
    ///   - lastTimestamp: the highest timestamp sent to this activity before, if known.
    ///   - system: of the phone that it goes to, if known.
    public func findings(now: Int64, lastTimestamp: Int64? = nil, system: IOSVersion? = nil) -> [PayloadFinding] {
        let timestamp = PushTimestamp.findings(
            event: self.content.event,
            timestamp: self.timestamp,
            last: lastTimestamp,
            now: now,
        )
        return timestamp + self.content.findings(now: now, system: system) + self.content.textFindings(now: now)
            + self.addressFindings + self.priorityFindings + self.expirationFindings(now: now) + self.idFindings
            + self.sizeFindings
    }

    /// What is to be said of a token: those for notifications have 32 bytes, and those of activities that were seen have more.
    /// Apple says to assume no size, so it is a warning.
    public static func findings(of token: PushToken) -> [PayloadFinding] {
        guard token.bytes.count == 32 else { return [] }
        let message =
            "has the size of a token for notifications; it must be the activity's own push token, or the push-to-start token"
        return [.warning(.token, .tokenSize, message)]
    }

    // MARK: - Address

    private var addressFindings: [PayloadFinding] {
        var findings: [PayloadFinding] = []
        if self.bundleID.hasSuffix(PushTopic.liveActivitySuffix) {
            let message =
                "is made of the bundle id, which is given with \(PushTopic.liveActivitySuffix) behind it already"
            findings.append(.refusal(.topic, .bundleIDForm, message))
        } else if !PushTopic.isBundleID(self.bundleID) {
            let message = "is made of the bundle id: letters, digits, '-' and '.', such as com.example.app"
            findings.append(.refusal(.topic, .bundleIDForm, message))
        }
        guard case .channel(let id, _) = self.destination else { return findings }
        if !ActivityContent.isChannelID(id) {
            findings.append(.refusal(.channelID, .channelIDForm, "must be the id as APNs gave it, base64"))
        }
        if self.content.event == .start {
            let message = "a broadcast cannot start an activity; a start goes to a push-to-start token"
            findings.append(.refusal(.event, .broadcastCannotStart, message))
        }
        return findings
    }

    private var idFindings: [PayloadFinding] {
        var findings: [PayloadFinding] = []
        if let collapseID {
            if self.destination != .phone {
                findings.append(
                    .warning(.collapseID, .collapseIDIgnored, "is none of a broadcast's headers and was left out")
                )
            } else if !Self.isHeaderValue(collapseID) {
                let message = "must have 1 to 64 bytes, no control characters and no blanks at its ends"
                findings.append(.refusal(.collapseID, .collapseIDForm, message))
            }
        }
        if let id, !Self.isUUID(id) {
            findings.append(.refusal(.pushID, .pushIDForm, "must be a UUID of the form 8-4-4-4-12"))
        }
        return findings
    }

    private static func isHeaderValue(_ text: String) -> Bool {
        1...64 ~= text.utf8.count && text.utf8.first != 0x20 && text.utf8.last != 0x20
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    private static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12] && parts.allSatisfy { $0.allSatisfy(\.isHexDigit) }
    }

    // MARK: - Priority and expiration

    private var priorityFindings: [PayloadFinding] {
        switch self.priority {
        case 10:
            return []
        case 5:
            let isUrgent = self.content.event != .update || !(self.content.alert?.isEmpty ?? true)
            guard isUrgent else { return [] }
            let subject = self.content.event == .update ? "an alert" : self.content.event == .end ? "an end" : "a start"
            return [.warning(.priority, .priorityMayWait, "is 5: \(subject) may wait until the phone is unlocked")]
        default:
            return [.refusal(.priority, .priorityUnknown, "must be 5 or 10 for a Live Activity")]
        }
    }

    private func expirationFindings(now: Int64) -> [PayloadFinding] {
        if let fault = UnixSecondsCheck.finding(.expiration, self.expiration, now: now) { return [fault] }
        switch self.destination {
        case .channel(_, .none):
            guard self.expiration != 0 else { return [] }
            return [.refusal(.expiration, .expirationNotStored, "must be 0: the channel stores nothing", likely: "0")]
        case .channel(_, .mostRecent):
            guard self.expiration == 0 else { return self.pastExpiration(now: now) }
            let message = "is 0: the push is not stored, though the channel would store it"
            return [.warning(.expiration, .expirationOnce, message)]
        case .phone:
            guard self.content.event == .start else { return self.pastExpiration(now: now) }
            if self.expiration == 0 {
                let message = "is 0: APNs tries once, and the start is lost to a phone that is away for a moment"
                return [.warning(.expiration, .expirationOnce, message)]
            }
            if self.expiration > now + Self.lateStart {
                let message = "is more than an hour ahead; the activity may come up when nobody expects it any more"
                return [.warning(.expiration, .expirationLate, message)]
            }
            return self.pastExpiration(now: now)
        }
    }

    private func pastExpiration(now: Int64) -> [PayloadFinding] {
        guard self.expiration != 0, self.expiration <= now else { return [] }
        return [.warning(.expiration, .expirationPast, "is in the past; APNs need not deliver the push any more")]
    }

    private static let lateStart: Int64 = 3600

    // MARK: - Size

    private var sizeFindings: [PayloadFinding] {
        let count = self.payload.count
        if count > self.limit {
            let message = "has \(count) bytes, at most \(self.limit) are allowed"
            return [.refusal(.payload, .payloadTooLarge, message)]
        }
        // Fits a broadcast, and still is more than the activity may hold (Apple: "Displaying live data with Live Activities").
        guard self.content.contentState.count > PayloadLimit.bytes else { return [] }
        let message =
            "has \(self.content.contentState.count) bytes; an activity holds at most \(PayloadLimit.bytes), attributes counted"
        return [.warning(.contentState, .stateTooLarge, message)]
    }
}
