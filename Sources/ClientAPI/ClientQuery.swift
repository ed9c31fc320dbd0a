import Gateway
import HTTPServer

/// The query parameters of a request under /v1.
struct ClientQuery {
    private let items: [(name: String, value: String)]

    init(_ request: HTTPRequest) throws(ClientError) {
        guard let items = request.queryItems else {
            throw ClientError(.malformedURL, "the query is not percent-encoded UTF-8")
        }
        self.items = items
    }

    /// The first value of that name.
    subscript(name: String) -> String? {
        items.first { $0.name == name }?.value
    }

    /// The installation that a clear is for. Without one it would be anybody's guess what "all" means.
    func installation() throws(ClientError) -> String {
        guard let value = self["installation"] else {
            throw ClientError(.missingField, "the query must name the installation", field: "installation")
        }
        return try ClientError.refusing { () throws(RegistrationFault) in try RegistrationRules.installation(value) }
    }

    /// The installation's counter, nil if there is none.
    func sequence() throws(ClientError) -> Int64? {
        guard let text = self["sequence"] else { return nil }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let value = Int64(text)
        else {
            throw ClientError(.invalidValue, RegistrationRules.sequence, field: "sequence")
        }
        return value
    }
}
