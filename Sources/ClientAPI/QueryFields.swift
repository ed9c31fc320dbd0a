import Gateway

/// The query parameters of a request as fields: texts that must read as what the field is.
struct QueryFields: RegistrationFields {
    private let query: ClientQuery

    init(_ query: ClientQuery) {
        self.query = query
    }

    func string(_ name: String) throws(RegistrationFault) -> String? {
        query[name]
    }

    func integer(_ name: String) throws(RegistrationFault) -> Int64? {
        guard let text = query[name] else { return nil }
        guard let integer = Int64(text), !text.hasPrefix("+") else {
            throw RegistrationFault(.wrongType, "\(name) is an integer", field: name)
        }
        return integer
    }

    func boolean(_ name: String) throws(RegistrationFault) -> Bool? {
        guard let text = query[name] else { return nil }
        guard let boolean = ["true": true, "false": false][text] else {
            throw RegistrationFault(.wrongType, "\(name) is true or false", field: name)
        }
        return boolean
    }
}
