import Gateway
import VerbatimJSON

/// The members of a request's JSON object. Null counts as absent, unknown ones are ignored.
struct BodyFields: RegistrationFields {
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

    func value(_ name: String) -> JSONValue? {
        root[name].flatMap { $0.kind == .null ? nil : $0 }
    }

    func string(_ name: String) throws(RegistrationFault) -> String? {
        guard let value = value(name) else { return nil }
        guard let string = value.string else {
            throw RegistrationFault(.wrongType, "\(name) is a string", field: name)
        }
        return string
    }

    func integer(_ name: String) throws(RegistrationFault) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let integer = value.integer else {
            throw RegistrationFault(.wrongType, "\(name) is an integer", field: name)
        }
        return integer
    }

    func boolean(_ name: String) throws(RegistrationFault) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let boolean = value.boolean else {
            throw RegistrationFault(.wrongType, "\(name) is true or false", field: name)
        }
        return boolean
    }

    func presence() throws(RegistrationFault) -> Presence {
        let unread = try integer("unread")
        guard unread.map((0...Presence.highestUnread).contains) ?? true else {
            let rule = "unread is an integer from 0 to \(Presence.highestUnread)"
            throw RegistrationFault(.invalidValue, rule, field: "unread")
        }
        return Presence(state: try required(try choice("state"), "state"), unread: unread)
    }
}
