import HTTPServer
import VerbatimJSON

/// The HTTP side for tests and people: what arrived, which tokens and keys are known.
struct ControlAPI {
    /// What the two push ports tell of themselves.
    struct Status {
        var connections: [APNsEnvironment: Int]
    }

    /// A request that cannot be understood.
    struct Fault: Error {
        var status = 400
        var message: String
        var field: String?

        var code: String {
            switch status {
            case 404: "not_found"
            case 405: "method_not_allowed"
            case 409: "full"
            default: "invalid_request"
            }
        }
    }

    let apns: SimulatedAPNs

    /// Answers a request.
    func answer(_ request: HTTPRequest, status: Status) -> HTTPResponse {
        do throws(Fault) {
            return .json(200, try body(for: request, status: status))
        } catch {
            var writer = JSONWriter()
            writer.beginObject()
            writer.key("error")
            writer.beginObject()
            writer.member("code", error.code)
            writer.member("message", error.message)
            writer.member("field", error.field)
            writer.endObject()
            writer.endObject()
            return .json(error.status, writer.bytes)
        }
    }

    private func body(for request: HTTPRequest, status: Status) throws(Fault) -> [UInt8] {
        switch (request.path, request.method) {
        case ("/", "GET"): return index(status)
        case ("/pushes", "GET"): return try pushes(request)
        case ("/pushes", "DELETE"): apns.log.removeAll()
        case ("/tokens", "POST"): try declareToken(request.body)
        case ("/tokens", "DELETE"): apns.forgetTokens()
        case ("/keys", "POST"): try registerKey(request.body)
        case ("/", _), ("/pushes", _), ("/tokens", _), ("/keys", _):
            throw Fault(status: 405, message: "this path does not know the method")
        default:
            throw Fault(status: 404, message: "there is no such path; GET / lists them")
        }
        return Array("{}".utf8)
    }

    // MARK: - Reading

    private static let routes: [(String, String)] = [
        ("GET /pushes", "what arrived, oldest first; ?since=N starts at that index, ?token=HEX keeps one token"),
        ("DELETE /pushes", "forget what arrived"),
        (
            "POST /tokens",
            """
            declare a token: {"token", "environment": "production"|"sandbox"|"both", "topic"?, "behaviour"?: \
            {"status", "reason", "timestamp"?, "retryAfter"?, "times"?} or {"drop": "answer"|"stream"|"connection", \
            "times"?}}
            """
        ),
        ("DELETE /tokens", "forget every declared token and what the phones have seen"),
        ("POST /keys", #"register a signing key: {"keyId", "teamId", "publicKey": PEM, "environment"?, "topics"?}"#),
    ]

    private func index(_ status: Status) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("routes")
        writer.beginObject()
        for (route, meaning) in ControlAPI.routes {
            writer.member(route, meaning)
        }
        writer.endObject()
        writer.key("connections")
        writer.beginObject()
        for environment in APNsEnvironment.allCases {
            writer.member(environment.rawValue, status.connections[environment])
        }
        writer.endObject()
        writer.member("pushes", apns.log.nextIndex)
        writer.endObject()
        return writer.bytes
    }

    private func pushes(_ request: HTTPRequest) throws(Fault) -> [UInt8] {
        var since = 0
        if let text = request.queryValue("since") {
            guard let number = Int(text), number >= 0 else {
                throw Fault(message: "since is not an index", field: "since")
            }
            since = number
        }
        let token = request.queryValue("token")?.lowercased()
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("pushes")
        writer.beginArray()
        apns.log.forEach(since: since) { index, record in
            if token == nil || token == record.token {
                record.write(to: &writer, index: index)
            }
        }
        writer.endArray()
        writer.member("next", apns.log.nextIndex)
        writer.member("dropped", apns.log.dropped)
        writer.endObject()
        return writer.bytes
    }
}
