import Gateway
import LiveActivity
import VerbatimJSON

/// The members of a request's JSON object. Null counts as absent, unknown ones are ignored.
struct BodyFields {
    private let root: JSONValue

    init(_ body: [UInt8]) throws(ClientError) {
        do throws(JSONError) {
            self.root = try JSONDocument(parsing: body).root
        } catch {
            throw ClientError(.malformedJSON, "the body is not strict JSON: \(error)")
        }
        guard root.kind == .object else {
            throw ClientError(.wrongType, "the body is not a JSON object")
        }
    }

    private func value(_ name: String) -> JSONValue? {
        root[name].flatMap { $0.kind == .null ? nil : $0 }
    }

    private func required<Value>(_ value: Value?, _ name: String) throws(ClientError) -> Value {
        guard let value else { throw ClientError(.missingField, "\(name) is missing", field: name) }
        return value
    }

    // MARK: - By type

    private func string(_ name: String) throws(ClientError) -> String? {
        guard let value = value(name) else { return nil }
        guard let string = value.string else {
            throw ClientError(.wrongType, "\(name) is a string", field: name)
        }
        return string
    }

    private func integer(_ name: String) throws(ClientError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let integer = value.integer else {
            throw ClientError(.wrongType, "\(name) is an integer", field: name)
        }
        return integer
    }

    /// An empty text counts as absent: it says as little, and must not clear what is known.
    func text(_ name: String, limit: Int) throws(ClientError) -> String? {
        guard let text = try string(name), !text.isEmpty else { return nil }
        guard text.utf8.count <= limit else {
            throw ClientError(.invalidValue, "\(name) has more than \(limit) bytes", field: name)
        }
        return text
    }

    func boolean(_ name: String) throws(ClientError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let boolean = value.boolean else {
            throw ClientError(.wrongType, "\(name) is true or false", field: name)
        }
        return boolean
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String) throws(ClientError) -> Choice? {
        guard let text = try string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw ClientError(.invalidValue, "\(name) is one of: \(choices)", field: name)
        }
        return choice
    }

    // MARK: - By meaning

    func token() throws(ClientError) -> PushToken {
        let text = try required(try string("token"), "token")
        do throws(PushTokenError) {
            return try PushToken(parsing: text)
        } catch {
            throw ClientError(.invalidToken, "\(error)", field: "token")
        }
    }

    func businessID(of sdkAppID: Int64, gateway: any MessageGateway) throws(ClientError) -> Int64 {
        let businessID = try required(try integer("businessId"), "businessId")
        guard gateway.hasCertificate(businessID: businessID, in: sdkAppID) else {
            throw ClientError(
                .unknownBusinessID,
                "the app has no certificate with businessId \(businessID)",
                field: "businessId",
            )
        }
        return businessID
    }

    func installation() throws(ClientError) -> String {
        try FieldRules.installation(required(try string("installation"), "installation"))
    }

    func sequence() throws(ClientError) -> Int64? {
        guard let sequence = try integer("sequence") else { return nil }
        guard sequence >= 0 else {
            throw ClientError(.invalidValue, FieldRules.sequenceRule, field: "sequence")
        }
        return sequence
    }

    func presence() throws(ClientError) -> Presence {
        let unread = try integer("unread")
        guard unread.map((0...Presence.highestUnread).contains) ?? true else {
            let rule = "unread is an integer from 0 to \(Presence.highestUnread)"
            throw ClientError(.invalidValue, rule, field: "unread")
        }
        return Presence(state: try required(try choice("state"), "state"), unread: unread)
    }

    /// Unix seconds. What `Date` encodes to by default, or a JavaScript clock, would end an activity long before or
    /// after its time.
    func startedAt(now: UnixTime) throws(ClientError) -> UnixTime? {
        guard let seconds = try integer("startedAt") else { return nil }
        let fault: String
        switch UnixSecondsCheck.classify(seconds, now: now.seconds) {
        case .plausible where seconds > 0: return UnixTime(seconds: seconds)
        case .plausible: fault = "is 0, when nothing started"
        case .milliseconds(let likely): fault = "looks like milliseconds, \(likely) is likely"
        case .referenceDate(let likely): fault = "looks like seconds since 2001, \(likely) is likely"
        case .negative: fault = "is negative"
        }
        throw ClientError(.invalidValue, "startedAt is in Unix seconds; this \(fault)", field: "startedAt")
    }
}
