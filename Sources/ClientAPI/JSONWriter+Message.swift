import Gateway
import VerbatimJSON

extension JSONWriter {
    /// Writes what became of a message. Times are Unix seconds.
    mutating func message(_ record: MessageRecord) {
        beginObject()
        member("acceptedAt", record.acceptedAt.seconds)
        member("sender", record.sender)
        member("endpoint", record.endpoint)
        nullable("laId", record.laID)
        nullable("event", record.event)
        if let fanOut = record.fanOut {
            key("fanOut")
            self.fanOut(fanOut)
        }
        if let schedule = record.schedule {
            key("schedule")
            beginObject()
            member("state", schedule.cancelledAt == nil ? "waiting" : "cancelled")
            member("sendAt", schedule.sendAt.seconds)
            nullable("cancelledAt", schedule.cancelledAt?.seconds)
            nullable("cancelledBy", schedule.cancelledBy)
            endObject()
        }
        key("recipients")
        beginArray()
        for recipient in record.recipients {
            self.recipient(recipient)
        }
        endArray()
        endObject()
    }

    private mutating func fanOut(_ record: FanOutRecord) {
        beginObject()
        member("audience", record.audience)
        member("state", record.state)
        member("listed", record.listed)
        nullable("endedBy", record.endedBy)
        nullable("startedAt", record.startedAt?.seconds)
        nullable("finishedAt", record.finishedAt?.seconds)
        key("unknownDevices")
        beginArray()
        for device in record.unknownDevices {
            string(device)
        }
        endArray()
        key("outcomes")
        beginObject()
        for (outcome, count) in record.outcomes {
            member(outcome, count)
        }
        endObject()
        endObject()
    }

    private mutating func recipient(_ record: RecipientRecord) {
        beginObject()
        member("account", record.account)
        nullable("installation", record.installation)
        nullable("route", record.route)
        nullable("routeReason", record.routeReason)
        member("fallback", record.isFallback)
        member("outcome", record.outcome)
        nullable("nextAttemptAt", record.nextAttemptAt?.seconds)
        nullable("reason", record.reason)
        nullable("apnsStatus", record.apnsStatus)
        nullable("apnsReason", record.apnsReason)
        nullable("apnsId", record.apnsID)
        member("attempts", record.attempts)
        nullable("priority", record.priority)
        nullable("priorityReason", record.priorityReason)
        nullable("timestampSent", record.timestampSent)
        nullable("sentAt", record.sentAt?.seconds)
        nullable("finishedAt", record.finishedAt?.seconds)
        nullable("tokenFingerprint", record.tokenFingerprint)
        nullable("environment", record.environment)
        endObject()
    }
}
