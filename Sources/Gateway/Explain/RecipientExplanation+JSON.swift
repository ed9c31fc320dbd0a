import LiveActivity
public import VerbatimJSON

extension RecipientExplanation {
    /// Writes it as one element of `Explain`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("To_Account", account)
        writer.member("Result", result.rawValue)
        if let revoked {
            writer.key("Revoked")
            revoked.write(to: &writer)
        }
        writer.key("Registrations")
        writer.beginArray()
        for registration in registrations {
            registration.write(to: &writer, at: at)
        }
        writer.endArray()
        writer.key("Targets")
        writer.beginArray()
        for target in targets {
            target.write(to: &writer)
        }
        writer.endArray()
        notes.writeMember(to: &writer)
        writer.endObject()
    }
}

extension RecipientExplanation.Revoked {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("Outcome", isUnderWay ? "under_way" : "cancelled")
        writer.member("Reason", reason.isEmpty ? nil : reason)
        writer.member("Means", ReasonText.of(reason))
        writer.member("WaitsUntil", until?.seconds)
        writer.endObject()
    }
}

extension RecipientExplanation.Registration {
    fileprivate func write(to writer: inout JSONWriter, at now: UnixTime) {
        writer.beginObject()
        writer.member("Kind", kind)
        writer.member("Installation", installation)
        writer.member("LaId", laID)
        writer.member("AttributesType", attributesType)
        writer.member("TokenFingerprint", tokenFingerprint)
        writer.member("State", state)
        writer.member("RegisteredAt", registeredAt.seconds)
        writer.member("AgeSeconds", (now - registeredAt).components.seconds)
        writer.member("Environment", environment)
        writer.member("BusinessId", businessID)
        writer.member("BundleId", bundleID)
        writer.member("ExpiresAt", expiresAt?.seconds)
        writer.member("AppVersion", appVersion)
        writer.member("OsVersion", osVersion)
        writer.member("Language", language)
        writer.member("ForegroundUntil", foregroundUntil?.seconds)
        writer.member("LastPushAt", lastPushAt?.seconds)
        writer.member("LastOutcome", lastOutcome)
        writer.endObject()
    }
}

extension RecipientExplanation.Target {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("Installation", installation)
        writer.member("TokenFingerprint", tokenFingerprint)
        writer.member("Route", route)
        writer.member("Outcome", outcome)
        writer.member("Reason", reason)
        writer.member("Means", ReasonText.of(reason))
        writer.member("Detail", detail)
        writer.member("WaitsUntil", waitsUntil?.seconds)
        if let content {
            writer.key("Content")
            content.write(to: &writer)
        }
        if let push {
            writer.key("Push")
            push.write(to: &writer)
        }
        notes.writeMember(to: &writer)
        writer.endObject()
    }
}

extension RecipientExplanation.ContentVerdict {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("Verdict", word)
        writer.member("Schema", schema)
        if !notices.isEmpty {
            writer.key("Notices")
            writer.beginArray()
            for notice in notices {
                writer.beginObject()
                writer.member("Place", notice.part.rawValue + notice.place)
                writer.member("Code", notice.code.rawValue)
                writer.member("Message", notice.message)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
    }
}

extension RecipientExplanation.Push {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("Environment", environment.rawValue)
        writer.member("OtherEnvironment", otherEnvironment?.rawValue)
        writer.member("BusinessId", businessID)
        writer.key("Headers")
        writer.beginObject()
        for (name, value) in headers {
            writer.member(name, value)
        }
        writer.endObject()
        writer.member("Priority", priority)
        writer.member("PriorityReason", priorityReason)
        writer.member("PriorityMeans", ReasonText.of(priorityReason))
        writer.member("Expiration", expiration)
        writer.member("PayloadBytes", payload.count)
        writer.member("PayloadLimit", PayloadLimit.bytes)
        writer.member("Payload", raw: payload)
        writer.endObject()
    }
}

extension [RecipientExplanation.Note] {
    fileprivate func writeMember(to writer: inout JSONWriter) {
        guard !isEmpty else { return }
        writer.key("Warnings")
        write(to: &writer)
    }

    /// Writes them as an array.
    public func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for note in self {
            writer.beginObject()
            writer.member("Code", note.code)
            writer.member("Message", note.message)
            writer.endObject()
        }
        writer.endArray()
    }
}
