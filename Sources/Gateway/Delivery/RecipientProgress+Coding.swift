import APNs
import VerbatimJSON

/// The encoding in `pending.progress`: a JSON object with a version; see `PushOrder`'s encoding for the rule.
extension RecipientProgress {
    /// The newest version that this release reads. It writes the first, and the second only where some installations are
    /// named: a release that knows none would push to all.
    static let encodingVersion: Int64 = 2

    func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("version", installations == nil ? 1 : RecipientProgress.encodingVersion)
        writer.member("stage", stage.rawValue)
        writer.member("notificationReason", notificationReason)
        writer.key("targets")
        writer.beginArray()
        for target in targets {
            target.encode(to: &writer)
        }
        writer.endArray()
        if let installations {
            writer.key("installations")
            writer.beginArray()
            for installation in installations {
                writer.string(installation)
            }
            writer.endArray()
        }
        writer.endObject()
        return writer.bytes
    }

    /// Reads progress back; nil if a newer release wrote it or it is damaged.
    init?(decoding bytes: [UInt8]) {
        guard let root = try? JSONDocument(parsing: bytes).root,
            let version = root["version"]?.integer, 1...RecipientProgress.encodingVersion ~= version,
            let stage = root["stage"]?.string.flatMap(Stage.init(rawValue:)),
            let reason = root["notificationReason"]?.string
        else { return nil }
        var targets: [DeliveryTarget] = []
        for element in root["targets"]?.elements ?? [] {
            guard let target = DeliveryTarget(decoding: element) else { return nil }
            targets.append(target)
        }
        self.init(
            stage: stage,
            notificationReason: reason,
            targets: targets,
            installations: root["installations"].map { $0.elements.compactMap(\.string) },
        )
    }
}

extension DeliveryTarget {
    fileprivate func encode(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kind", kind.rawValue)
        writer.member("installation", installation)
        writer.member("tokenFingerprint", tokenFingerprint)
        switch state {
        case .pushing: break
        case .waiting(let until, let waitReason):
            writer.member("waitsUntil", until.microseconds)
            writer.member("waitsBecause", waitReason)
        case .settled(let outcome): writer.member("outcome", outcome.rawValue)
        }
        writer.member("reason", reason)
        writer.member("attempts", attempts)
        writer.member("answersLost", answersLost > 0 ? answersLost : nil)
        writer.member("status", status)
        writer.member("statusReason", statusReason)
        writer.member("businessID", businessID)
        writer.member("environment", environment?.rawValue)
        writer.member("refusedIn", refusedIn?.rawValue)
        writer.member("priority", priority)
        writer.member("priorityReason", priorityReason)
        writer.member("timestampSent", timestampSent)
        writer.member("payloadBytes", payloadBytes)
        writer.member("badge", badge)
        writer.member("sentAt", sentAt?.microseconds)
        writer.endObject()
    }

    fileprivate init?(decoding value: JSONValue) {
        guard let kind = value["kind"]?.string.flatMap(Kind.init(rawValue:)),
            let installation = value["installation"]?.string,
            let fingerprint = value["tokenFingerprint"]?.string,
            let reason = value["reason"]?.string
        else { return nil }
        var state = State.pushing
        if let name = value["outcome"]?.string {
            guard let outcome = DeliveryOutcome(rawValue: name) else { return nil }
            state = .settled(outcome)
        } else if let until = value["waitsUntil"]?.integer {
            let because = value["waitsBecause"]?.string ?? ""
            state = .waiting(until: UnixTime(microseconds: until), reason: because)
        }
        self.init(
            kind: kind,
            installation: installation,
            tokenFingerprint: fingerprint,
            state: state,
            reason: reason,
        )
        attempts = value["attempts"]?.integer.flatMap { Int(exactly: $0) } ?? 0
        answersLost = value["answersLost"]?.integer.flatMap { Int(exactly: $0) } ?? 0
        status = value["status"]?.integer.flatMap { Int(exactly: $0) }
        statusReason = value["statusReason"]?.string
        refusedIn = value["refusedIn"]?.string.flatMap(APNsEnvironment.init(rawValue:))
        businessID = value["businessID"]?.integer
        environment = value["environment"]?.string.flatMap(APNsEnvironment.init(rawValue:))
        priority = value["priority"]?.integer.flatMap { Int(exactly: $0) }
        priorityReason = value["priorityReason"]?.string
        timestampSent = value["timestampSent"]?.integer
        payloadBytes = value["payloadBytes"]?.integer.flatMap { Int(exactly: $0) }
        badge = value["badge"]?.integer
        sentAt = value["sentAt"]?.integer.map(UnixTime.init(microseconds:))
    }
}
