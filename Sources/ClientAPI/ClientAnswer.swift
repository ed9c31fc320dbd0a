import Gateway
import HTTPServer
import LiveActivity
import VerbatimJSON

/// The answers under /v1 that the database decides. Times are Unix seconds.
enum ClientAnswer {
    static func registration(_ outcome: RegistrationOutcome, of token: PushToken) -> HTTPResponse {
        switch outcome {
        case .applied(let expiresAt):
            object { writer in
                writer.member("applied", true)
                writer.member("tokenFingerprint", token.fingerprint)
                writer.nullable("expiresAt", expiresAt?.seconds)
            }
        case .staleSequence:
            object { writer in
                writer.member("applied", false)
                writer.member("reason", "stale_sequence")
            }
        case .activityEnded:
            object { writer in
                writer.member("applied", false)
                writer.member("reason", "activity_ended")
            }
        case .tokenOfOtherKind:
            ClientError(.invalidToken, "token \(RegistrationOutcome.otherKind)", field: "token").response
        }
    }

    static func clear(_ outcome: ClearOutcome) -> HTTPResponse {
        switch outcome {
        case .cleared(let count):
            object { writer in writer.member("cleared", count) }
        case .staleSequence:
            object { writer in
                writer.member("cleared", 0)
                writer.member("applied", false)
                writer.member("reason", "stale_sequence")
            }
        }
    }

    static func presence(_ outcome: PresenceOutcome) -> HTTPResponse {
        switch outcome {
        case .applied(let foregroundUntil):
            object { writer in
                writer.member("applied", true)
                writer.member("foregroundUntil", foregroundUntil?.seconds)
            }
        case .unknownInstallation:
            ClientError(
                .unknownInstallation,
                "the account has no device token on this installation",
                field: "installation",
            ).response
        }
    }

    static func registrations(_ records: [RegistrationRecord]) -> HTTPResponse {
        object { writer in
            writer.key("registrations")
            writer.beginArray()
            for record in records {
                writer.registration(record)
            }
            writer.endArray()
        }
    }

    static func messages(_ records: [MessageRecord], key: String) -> HTTPResponse {
        object { writer in
            writer.member("messageKey", key)
            writer.key("messages")
            writer.beginArray()
            for record in records {
                writer.message(record)
            }
            writer.endArray()
        }
    }

    /// - Parameter count: how many messages were; 0: they had been before.
    static func cancelled(_ count: Int64) -> HTTPResponse {
        object { writer in writer.member("cancelled", count) }
    }

    static func object(_ members: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        members(&writer)
        writer.endObject()
        return .json(200, writer.bytes)
    }
}

extension JSONWriter {
    fileprivate mutating func registration(_ record: RegistrationRecord) {
        beginObject()
        member("kind", record.kind)
        member("installation", record.installation)
        nullable("laId", record.laID)
        nullable("attributesType", record.attributesType)
        member("businessId", record.businessID)
        nullable("bundleId", record.bundleID)
        nullable("environment", record.environment)
        member("tokenFingerprint", record.tokenFingerprint)
        member("state", record.state)
        member("registeredAt", record.registeredAt.seconds)
        nullable("sequence", record.sequence)
        nullable("expiresAt", record.expiresAt?.seconds)
        nullable("appVersion", record.appVersion)
        nullable("osVersion", record.osVersion)
        nullable("language", record.language)
        nullable("foregroundUntil", record.foregroundUntil?.seconds)
        key("lastPush")
        if let lastPush = record.lastPush {
            beginObject()
            member("at", lastPush.at.seconds)
            nullable("event", lastPush.event)
            member("outcome", lastPush.outcome)
            nullable("apnsStatus", lastPush.apnsStatus)
            nullable("apnsReason", lastPush.apnsReason)
            nullable("routeReason", lastPush.routeReason)
            endObject()
        } else {
            null()
        }
        endObject()
    }

    mutating func nullable(_ name: String, _ value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    mutating func nullable(_ name: String, _ value: Int64?) {
        key(name)
        if let value { integer(value) } else { null() }
    }
}
