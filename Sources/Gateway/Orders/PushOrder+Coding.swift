import LiveActivity
import VerbatimJSON

/// The encoding in `pending.content`: a JSON object with a version. A reader ignores keys that it does not know, so a
/// release may add keys and the one before it still reads the order; a change that the former cannot read needs a new
/// version number one release after its reader.
extension PushOrder {
    /// The newest version that this release reads. It writes the first, and the second only for an order that has an
    /// audience or replaces another's pushes: a release that knows no such thing would take it for one without
    /// recipients, or send it everywhere. It leaves the second to others.
    static let encodingVersion: Int64 = 2

    /// The order could not be read back: written by a newer release, or damaged.
    struct DecodingError: Error, Equatable {
        /// The key that is missing or wrong.
        let key: String
    }

    /// The order as stored. ContentState stays as it came, byte for byte.
    func encoded() -> [UInt8] {
        let recipientBytes = recipients.reduce(0) { $0 + $1.utf8.count + 3 }
        var writer = JSONWriter(capacity: 768 + recipientBytes + (activity?.content.contentState.count ?? 0))
        writer.beginObject()
        let isNew = audience != nil || replaced != nil
        writer.member("version", isNew ? PushOrder.encodingVersion : 1)
        writer.member("dialect", dialect.rawValue)
        writer.member("endpoint", endpoint)
        writer.member("sdkAppId", sdkAppID)
        writer.member("messageKey", messageKey)
        writer.member("sender", sender)
        writer.key("recipients")
        writer.beginArray()
        for recipient in recipients {
            writer.string(recipient)
        }
        writer.endArray()
        if let audience {
            writer.key("audience")
            audience.encode(to: &writer)
        }
        if let activity {
            writer.key("activity")
            activity.encode(to: &writer)
        }
        writer.key("notification")
        notification.encode(to: &writer)
        writer.member("suppression", suppression?.rawValue)
        writer.member("lifetime", lifetime)
        writer.member("otherPlatforms", raw: otherPlatforms)
        if let replaced {
            writer.key("replaced")
            replaced.encode(to: &writer)
        }
        writer.endObject()
        return writer.bytes
    }

    /// Reads an order back.
    init(decoding bytes: [UInt8]) throws(DecodingError) {
        guard let root = try? JSONDocument(parsing: bytes).root else { throw DecodingError(key: "") }
        guard let version = root["version"]?.integer, 1...PushOrder.encodingVersion ~= version else {
            throw DecodingError(key: "version")
        }
        var suppression: Suppression?
        if let name = root["suppression"]?.string {
            guard let known = Suppression(rawValue: name) else { throw DecodingError(key: "suppression") }
            suppression = known
        }
        guard let dialect = Dialect(rawValue: try root.text("dialect")) else { throw DecodingError(key: "dialect") }
        self.init(
            dialect: dialect,
            endpoint: try root.text("endpoint"),
            sdkAppID: try root.number("sdkAppId"),
            messageKey: try root.text("messageKey"),
            sender: try root.text("sender"),
            recipients: (root["recipients"]?.elements ?? []).compactMap(\.string),
            audience: try root["audience"].map { value throws(DecodingError) in
                guard let audience = Audience(decoding: value) else { throw DecodingError(key: "audience") }
                return audience
            },
            activity: try root["activity"].map { value throws(DecodingError) in
                try ActivityInstruction(decoding: value)
            },
            notification: try NotificationContent(decoding: root["notification"]),
            suppression: suppression,
            lifetime: try root.number("lifetime"),
            otherPlatforms: root["otherPlatforms"].map { Array($0.verbatim) },
        )
        if let value = root["replaced"] {
            guard let message = ReplacedMessage(decoding: value) else { throw DecodingError(key: "replaced") }
            replaced = message
        }
    }
}

extension ActivityInstruction {
    fileprivate func encode(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("laId", laID)
        writer.member("event", content.event.rawValue)
        if !content.contentState.isEmpty { writer.member("contentState", raw: content.contentState) }
        writer.member("staleDate", content.staleDate)
        writer.member("relevanceScore", raw: content.relevanceScore)
        writer.member("dismissalDate", content.dismissalDate)
        if let alert = content.alert {
            writer.key("alert")
            alert.encode(to: &writer)
        }
        if let start = content.start {
            writer.key("start")
            writer.beginObject()
            writer.member("attributesType", start.attributesType)
            writer.member("attributes", raw: start.attributes)
            if start.wantsPushToken { writer.member("pushToken", true) }
            writer.member("pushChannel", start.pushChannel)
            writer.endObject()
        }
        writer.member("defaultDismissal", defaultDismissal.rawValue)
        writer.member("priority", priority)
        writer.endObject()
    }

    fileprivate init(decoding value: JSONValue) throws(PushOrder.DecodingError) {
        guard let event = ActivityEvent(rawValue: try value.text("event")) else {
            throw PushOrder.DecodingError(key: "event")
        }
        guard event != .start || value["start"] != nil else { throw PushOrder.DecodingError(key: "start") }
        let state = value["contentState"]
        guard state?.kind == .object || state == nil && event == .end else {
            throw PushOrder.DecodingError(key: "contentState")
        }
        guard let dismissal = DefaultDismissal(rawValue: try value.text("defaultDismissal")) else {
            throw PushOrder.DecodingError(key: "defaultDismissal")
        }
        self.init(
            laID: try value.text("laId"),
            content: ActivityContent(
                event: event,
                contentState: state.map { Array($0.verbatim) } ?? [],
                staleDate: value["staleDate"]?.integer,
                relevanceScore: value["relevanceScore"].map { Array($0.verbatim) },
                dismissalDate: value["dismissalDate"]?.integer,
                alert: value["alert"].map(ActivityAlert.init(decoding:)),
                start: try value["start"].map { value throws(PushOrder.DecodingError) in
                    try ActivityStart(decoding: value)
                },
            ),
            defaultDismissal: dismissal,
            priority: value["priority"]?.integer.flatMap { Int(exactly: $0) },
        )
    }
}

extension ActivityStart {
    fileprivate init(decoding value: JSONValue) throws(PushOrder.DecodingError) {
        guard let attributes = value["attributes"], attributes.kind == .object else {
            throw PushOrder.DecodingError(key: "attributes")
        }
        self.init(
            attributesType: try value.text("attributesType"),
            attributes: Array(attributes.verbatim),
            wantsPushToken: value["pushToken"]?.boolean ?? false,
            pushChannel: value["pushChannel"]?.string,
        )
    }
}

extension NotificationContent {
    fileprivate func encode(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("title", title)
        writer.member("subtitle", subtitle)
        writer.member("body", body)
        writer.member("sound", sound)
        writer.member("ext", ext)
        writer.member("image", image)
        writer.member("mutableContent", mutableContent)
        writer.member("interruptionLevel", interruptionLevel?.rawValue)
        if !translations.isEmpty {
            writer.key("translations")
            writer.beginArray()
            for translation in translations {
                writer.beginObject()
                writer.member("language", translation.language)
                writer.member("title", translation.title)
                writer.member("body", translation.body)
                writer.endObject()
            }
            writer.endArray()
        }
        switch badge {
        case .unchanged: break
        case .add(let number): writer.member("badgeAdd", number)
        case .set(let number): writer.member("badgeSet", number)
        }
        if isSilent { writer.member("silent", true) }
        writer.endObject()
    }

    fileprivate init(decoding value: JSONValue?) throws(PushOrder.DecodingError) {
        guard let value, value.kind == .object else { throw PushOrder.DecodingError(key: "notification") }
        self.init(
            title: value["title"]?.string,
            subtitle: value["subtitle"]?.string,
            body: value["body"]?.string,
            sound: value["sound"]?.string,
            ext: value["ext"]?.string,
            image: value["image"]?.string,
            mutableContent: value["mutableContent"]?.boolean ?? false,
            interruptionLevel: value["interruptionLevel"]?.string.flatMap { InterruptionLevel(rawValue: $0) },
            translations: try (value["translations"]?.elements ?? []).map { element throws(PushOrder.DecodingError) in
                NotificationTranslation(
                    language: try element.text("language"),
                    title: element["title"]?.string,
                    body: element["body"]?.string,
                )
            },
            badge: value["badgeSet"]?.integer.map { .set($0) } ?? value["badgeAdd"]?.integer.map { .add($0) }
                ?? .unchanged,
            isSilent: value["silent"]?.boolean ?? false,
        )
    }
}

extension JSONValue {
    fileprivate func text(_ key: String) throws(PushOrder.DecodingError) -> String {
        guard let text = self[key]?.string else { throw PushOrder.DecodingError(key: key) }
        return text
    }

    fileprivate func number(_ key: String) throws(PushOrder.DecodingError) -> Int64 {
        guard let number = self[key]?.integer else { throw PushOrder.DecodingError(key: key) }
        return number
    }
}
