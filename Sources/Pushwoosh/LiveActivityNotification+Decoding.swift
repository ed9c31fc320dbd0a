import Gateway
import LiveActivity
import VerbatimJSON

extension LiveActivityNotification {
    /// The most devices or users of one notification.
    static let longestList = 1000

    /// Decodes an element of `notifications`. Unknown fields are ignored.
    ///
    /// - Parameters:
    ///   - now: by PostgreSQL's clock.
    ///   - time: when the clocks of a time zone show a local time; nil if there is no such zone.
    /// - Throws: the first fault found.
    init(
        decoding fields: RequestFields,
        isStart: Bool,
        now: UnixTime,
        time: (_ localTime: String, _ zone: String) async throws(PushwooshFault) -> UnixTime?,
    ) async throws(PushwooshFault) {
        let tokens = try Self.tokens(fields, isStart: isStart)
        let laID = tokens == nil ? try fields.required("live_activity_id") : try fields.text("live_activity_id")
        if let laID, laID.utf8.count > 64 {
            throw fields.fault("live_activity_id", "has \(laID.utf8.count) bytes, at most 64 are allowed")
        }
        self.laID = laID
        // Older callers have the object under its former name.
        let name = fields["live_activity"] == nil ? "ios_live_activity" : "live_activity"
        guard let activity = try fields.fields(name) else {
            throw fields.fault("live_activity", "is missing")
        }
        sendAt = try await SendDate.read(in: fields, now: now, time: time)
        // Dates are judged by the time at which it is sent.
        let sent = (sendAt ?? now).seconds
        var warnings: [RequestWarning] = []
        let texts = try Self.texts(fields)
        let alert = try Self.alert(texts, fields, isStart: isStart, &warnings)
        content = try Self.content(activity, isStart: isStart, laID: laID ?? "", alert: alert, now: sent, &warnings)
        priority = fields["apns_priority"]?.integer == 10 ? 10 : nil
        target = if let tokens { .tokens(tokens) } else { try Self.target(fields, isStart: isStart) }
        fallback = texts
        self.warnings = warnings
        try self.check(fields, activity, isStart: isStart, now: sent)
    }

    /// What a notification shows that stands in; its texts are the alert's too.
    private static func texts(_ fields: RequestFields) throws(PushwooshFault) -> NotificationContent {
        NotificationContent(
            title: try fields.words("title"),
            subtitle: try fields.words("subtitle"),
            body: try fields.words("content"),
            sound: try fields.text("ios_sound"),
        )
    }

    /// An alert where there is a text; its sound stands inside.
    private static func alert(
        _ texts: NotificationContent,
        _ fields: RequestFields,
        isStart: Bool,
        _ warnings: inout [RequestWarning],
    ) throws(PushwooshFault) -> ActivityAlert? {
        func warn(_ name: String, _ code: PayloadFinding.Code, _ message: String) {
            warnings.append(RequestWarning(field: fields.path(of: name), code: code.rawValue, message: message))
        }
        if isStart {
            guard texts.title != nil || texts.body != nil else {
                throw fields.fault("content", "content and title are both missing or empty; a start needs one of them")
            }
            if texts.title == nil || texts.body == nil {
                let (missing, present) = texts.title == nil ? ("title", "content") : ("content", "title")
                let message = "is missing or empty; a start must have both, so that the \(present) is sent in its place"
                warn(missing, .alertIncomplete, message)
            }
        } else if texts.isEmpty {
            if texts.sound != nil {
                warn("ios_sound", .alertEmpty, "does not play without content, title or subtitle, and was left out")
            }
            return nil
        }
        var body = texts.body
        if texts.title == nil, body == nil {
            body = texts.subtitle
            let message = "is no part of an activity's alert; without content and title it is sent as the content too"
            warn("subtitle", .alertIncomplete, message)
        }
        return ActivityAlert(
            title: texts.title.map(AlertText.plain),
            subtitle: texts.subtitle,
            body: body.map(AlertText.plain),
            sound: texts.sound,
        )
    }

    private static func content(
        _ fields: RequestFields,
        isStart: Bool,
        laID: String,
        alert: ActivityAlert?,
        now: Int64,
        _ warnings: inout [RequestWarning],
    ) throws(PushwooshFault) -> ActivityContent {
        let event = try event(fields, isStart: isStart)
        let state = try fields.fields("content-state")
        guard state != nil || event == .end else { throw fields.fault("content-state", "is missing") }
        if let state {
            warnings += DateKeyCheck.findings(in: state.object, .contentState, now: now).map {
                RequestWarning($0, field: fields.path(of: "content-state"))
            }
        }
        var content = ActivityContent(
            event: event,
            contentState: state.map { Array($0.object.verbatim) } ?? [],
            staleDate: try fields.integer("stale-date"),
            relevanceScore: try relevanceScore(fields),
            dismissalDate: try fields.integer("dismissal-date"),
            alert: alert,
        )
        if isStart {
            content.start = try start(fields, laID: laID, now: now, &warnings)
        }
        for finding in content.findings(now: now) where finding.field != .alert {
            let field = fields.path(of: finding.field.rawValue)
            guard finding.severity == .warning else {
                throw PushwooshFault(path: field + finding.path, finding.message)
            }
            warnings.append(RequestWarning(finding, field: field))
        }
        if event == .end { content.staleDate = nil } else { content.dismissalDate = nil }
        let known = Self.fieldsOfBoth + (isStart ? Self.fieldsOfStart : [])
        for (name, _) in fields.object.members where !known.contains(name) {
            let names = known.dropLast().joined(separator: ", ") + " and " + (known.last ?? "")
            let message = "nothing reads this field; live_activity has \(names)"
            warnings.append(RequestWarning(field: fields.path(of: name), code: "unknown_field", message: message))
        }
        return content
    }

    /// `title` stands in all of Pushwoosh's examples and does nothing.
    private static let fieldsOfBoth = [
        "event", "title", "content-state", "stale-date", "relevance-score", "dismissal-date",
    ]
    private static let fieldsOfStart = ["attributes-type", "attributes"]

    private static func event(_ fields: RequestFields, isStart: Bool) throws(PushwooshFault) -> ActivityEvent {
        let name = try fields.string("event")
        if isStart {
            guard name == nil || name == "start" else { throw fields.fault("event", "must be start, or absent") }
            return .start
        }
        guard let event = name.flatMap(ActivityEvent.init(rawValue:)), event != .start else {
            throw fields.fault("event", "must be update or end")
        }
        return event
    }

    private static func relevanceScore(_ fields: RequestFields) throws(PushwooshFault) -> [UInt8]? {
        guard let value = fields["relevance-score"] else { return nil }
        guard let score = value.integer, score >= 1 else {
            throw fields.fault("relevance-score", "must be an integer from 1 on")
        }
        return Array(value.verbatim)
    }

    private static func start(
        _ fields: RequestFields,
        laID: String,
        now: Int64,
        _ warnings: inout [RequestWarning],
    ) throws(PushwooshFault) -> ActivityStart {
        let type = try fields.required("attributes-type")
        guard type.utf8.count <= RegistrationRules.longestAttributesType else {
            throw fields.fault(
                "attributes-type",
                "has more than \(RegistrationRules.longestAttributesType) bytes",
            )
        }
        guard let attributes = try fields.fields("attributes") else { throw fields.fault("attributes", "is missing") }
        warnings += DateKeyCheck.findings(in: attributes.object, .attributes, now: now).map {
            RequestWarning($0, field: fields.path(of: "attributes"))
        }
        // Pushwoosh's callers update every activity that they start, and from iOS 18 on its token has to be asked for.
        return ActivityStart(
            attributesType: type,
            attributes: naming(laID, in: attributes.object),
            wantsPushToken: true,
        )
    }

    /// The attributes with the activity's id where Pushwoosh's SDK has it: types that conform to its protocol cannot be
    /// decoded without, callers leave it to the server, and the SDK reports the activity's token under it. Other types
    /// ignore it.
    private static func naming(_ laID: String, in attributes: JSONValue) -> [UInt8] {
        let text = Array(attributes.verbatim)
        guard attributes["pushwoosh"] == nil else { return text }
        var member = JSONWriter()
        member.beginObject()
        member.key("pushwoosh")
        member.beginObject()
        member.member("activityId", laID)
        member.endObject()
        member.endObject()
        guard !attributes.members.isEmpty else { return member.bytes }
        return text.dropLast() + [UInt8(ascii: ",")] + member.bytes.dropFirst()
    }

    /// Users go before devices, as with Pushwoosh.
    private static func target(_ fields: RequestFields, isStart: Bool) throws(PushwooshFault) -> Target {
        let users = try list("users", fields)
        let devices = try list("devices", fields)
        let filter = try fields.text(fields["filter"] == nil ? "filter_code" : "filter")
        if let users {
            var seen: AccountSet = []
            var accounts: [String] = []
            for (index, user) in users.enumerated() {
                guard user.utf8.count <= 128 else {
                    throw PushwooshFault(path: "\(fields.path(of: "users"))[\(index)]", "has more than 128 bytes")
                }
                guard !seen.contains(user) else { continue }
                seen.insert(user)
                accounts.append(user)
            }
            return .users(accounts)
        }
        if let devices { return .devices(devices) }
        if let filter {
            guard filter.utf8.count <= 128 else { throw fields.fault("filter", "has more than 128 bytes") }
            return .filter(filter)
        }
        // A variable that nobody has set is no word for everybody either.
        if let unset = ["users", "devices", "filter", "filter_code"].first(where: { fields.object[$0] != nil }) {
            throw fields.fault(
                unset,
                "must not be empty; leave it out to reach \(isStart ? "every account" : "all who have the activity")"
            )
        }
        return isStart ? .everyone : .activity
    }

    /// `live_activity_push_tokens`, by which the oldest callers name the activities that an update is for.
    private static func tokens(_ fields: RequestFields, isStart: Bool) throws(PushwooshFault) -> [PushToken]? {
        let name = "live_activity_push_tokens"
        guard let texts = try list(name, fields) else { return nil }
        guard !isStart else { throw fields.fault(name, "belongs to an update: a start makes a new activity") }
        var tokens: [PushToken] = []
        var seen: Set<PushToken> = []
        for (index, text) in texts.enumerated() {
            guard let token = try? PushToken(parsing: text) else {
                throw PushwooshFault(path: "\(fields.path(of: name))[\(index)]", "is no token")
            }
            if seen.insert(token).inserted { tokens.append(token) }
        }
        return tokens
    }

    private static func list(_ name: String, _ fields: RequestFields) throws(PushwooshFault) -> [String]? {
        guard let texts = try fields.strings(name) else { return nil }
        // An empty list is no word for everybody.
        guard !texts.isEmpty else { throw fields.fault(name, "must not be empty") }
        guard texts.count <= longestList else {
            throw fields.fault(name, "has \(texts.count) elements, at most \(longestList) are allowed")
        }
        return texts
    }

    /// What needs all of it: the text of a start, and the sizes.
    private mutating func check(
        _ fields: RequestFields,
        _ activity: RequestFields,
        isStart: Bool,
        now: Int64,
    ) throws(PushwooshFault) {
        let count =
            LiveActivityPayload.surelyFits(content)
            ? 0 : LiveActivityPayload.encode(content, timestamp: now, dismissalDate: content.dismissalDate).count
        guard count <= PayloadLimit.bytes else {
            throw PushwooshFault(
                path: activity.path,
                "the push has \(count) bytes, at most \(PayloadLimit.bytes) are allowed",
            )
        }
        guard !fallback.isEmpty, !NotificationPayload.surelyFits(fallback) else { return }
        guard let payload = try? NotificationPayload(fallback) else {
            throw fields.fault("content", "a notification has at most \(PayloadLimit.bytes) bytes")
        }
        guard payload.textWasCut else { return }
        let message = "the notification's text was cut so that the payload fits \(PayloadLimit.bytes) bytes"
        warnings.append(RequestWarning(field: fields.path(of: "content"), code: "text_cut", message: message))
    }
}

extension RequestWarning {
    fileprivate init(_ finding: PayloadFinding, field: String) {
        self.init(field: field + finding.path, code: finding.code.rawValue, message: finding.message)
    }
}
