import HTTPServer
import VerbatimJSON

/// An answer of the API, its body parsed.
struct Answer: Sendable {
    let status: Int
    let headers: [String: String]
    let body: String
    let root: JSONValue

    init(_ response: HTTPResponse) throws {
        self.status = response.status
        self.headers = Dictionary(response.headers.map { ($0.name, $0.value) }) { first, _ in first }
        self.body = String(decoding: response.body, as: UTF8.self)
        self.root = try JSONDocument(parsing: response.body).root
    }

    var applied: Bool? { root["applied"]?.boolean }
    /// Why nothing was applied.
    var reason: String? { root["reason"]?.string }
    var cleared: Int64? { root["cleared"]?.integer }
    var expiresAt: Int64? { root["expiresAt"]?.integer }
    var code: String? { root["error"]?["code"]?.string }
    var field: String? { root["error"]?["field"]?.string }

    /// A success that changed nothing because of its sequence.
    var isStale: Bool { status == 200 && applied == false && reason == "stale_sequence" }

    var registrations: [JSONValue] { root["registrations"]?.elements ?? [] }
}
