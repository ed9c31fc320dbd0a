import APNs
import Gateway
import HTTPServer
import LiveActivity
import VerbatimJSON

extension ChannelOrder {
    /// Reads what a request asks about channels: businessId and environment from the body where there is one, else from the
    /// query.
    init(
        _ route: ClientRoute,
        _ request: HTTPRequest,
        query: ClientQuery,
        _ identity: ClientIdentity,
    ) throws(ClientError) {
        let operation: Operation
        let fields: any RegistrationFields
        switch route {
        case .createChannel:
            let body = try BodyFields(request.body)
            fields = body
            operation = .create(try Self.attempt { () throws(RegistrationFault) in try body.storage() })
        case .sendToChannel(let id):
            let body = try BodyFields(request.body)
            fields = body
            operation = .send(try Self.attempt { () throws(RegistrationFault) in try body.message(to: id) })
        case .readChannel(let id):
            fields = QueryFields(query)
            operation = .read(channelID: id)
        case .deleteChannel(let id):
            fields = QueryFields(query)
            operation = .delete(channelID: id)
        default:
            fields = QueryFields(query)
            operation = .list
        }
        let place = try Self.attempt { () throws(RegistrationFault) in
            let businessID = try fields.required(try fields.integer("businessId"), "businessId")
            let environment: APNsEnvironment? = try fields.choice("environment")
            return (businessID: businessID, environment: environment)
        }
        self.init(
            sdkAppID: identity.sdkAppID,
            businessID: place.businessID,
            environment: place.environment,
            requestedBy: identity.account,
            operation: operation,
        )
    }

    private static func attempt<Value>(
        _ body: () throws(RegistrationFault) -> Value
    ) throws(ClientError) -> Value {
        try ClientError.refusing(body)
    }
}

extension BodyFields {
    /// APNs keeps a broadcast for 8 hours at most.
    private static let longestLife = 0...ChannelStorage.longestLife.components.seconds

    fileprivate func storage() throws(RegistrationFault) -> ChannelStorage {
        guard let storage = ChannelStorage(word: try required(try string("storage"), "storage")) else {
            throw RegistrationFault(.invalidValue, "storage is one of: none, recent", field: "storage")
        }
        return storage
    }

    /// What only the push as a whole can tell is left to its check.
    fileprivate func message(to channelID: String) throws(RegistrationFault) -> ChannelMessage {
        let word = try required(try string("event"), "event")
        guard let event = ActivityEvent(rawValue: word), event != .start else {
            let message = "event is one of: update, end; a broadcast cannot start an activity"
            throw RegistrationFault(.invalidValue, message, field: "event")
        }
        let timeToLive = try integer("ttl")
        if let timeToLive, !BodyFields.longestLife.contains(timeToLive) {
            let message = "ttl is an integer from 0 to \(BodyFields.longestLife.upperBound), in seconds"
            throw RegistrationFault(.invalidValue, message, field: "ttl")
        }
        let priority = try integer("priority")
        guard priority.map({ [5, 10].contains($0) }) ?? true else {
            throw RegistrationFault(.invalidValue, "priority is 5 or 10", field: "priority")
        }
        let content = ActivityContent(
            event: event,
            contentState: try verbatim("contentState", .object, "an object") ?? [],
            staleDate: try integer("staleDate"),
            relevanceScore: try verbatim("relevanceScore", .number, "a number"),
            dismissalDate: try integer("dismissalDate"),
            alert: try alert(),
        )
        return ChannelMessage(
            channelID: channelID,
            content: content,
            priority: priority.map { Int($0) },
            attributesType: try string("attributesType"),
            timeToLive: timeToLive,
        )
    }

    private func verbatim(_ name: String, _ kind: JSONValue.Kind, _ words: String) throws(RegistrationFault) -> [UInt8]?
    {
        guard let value = value(name) else { return nil }
        guard value.kind == kind else { throw RegistrationFault(.wrongType, "\(name) is \(words)", field: name) }
        return Array(value.verbatim)
    }

    private func alert() throws(RegistrationFault) -> ActivityAlert? {
        guard let alert = value("alert") else { return nil }
        guard alert.kind == .object else { throw RegistrationFault(.wrongType, "alert is an object", field: "alert") }
        var sound: String?
        if let value = alert["sound"], value.kind != .null {
            guard let name = value.string else {
                throw RegistrationFault(.wrongType, "alert.sound is a string", field: "alert.sound")
            }
            sound = name
        }
        return ActivityAlert(title: try text("title", in: alert), body: try text("body", in: alert), sound: sound)
    }

    private func text(_ name: String, in alert: JSONValue) throws(RegistrationFault) -> AlertText? {
        guard let value = alert[name], value.kind != .null else { return nil }
        do throws(AlertTextFault) {
            return try AlertText(value, nullIsAbsent: true)
        } catch {
            let field = "alert.\(name)\(error.place)"
            throw RegistrationFault(.wrongType, "\(field) \(error.problem)", field: field)
        }
    }
}
