import HTTPServer
import VerbatimJSON

/// The HTTP side for tests and people: what arrived, what the phones show, which tokens and keys are known.
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
        if request.method == "GET", let page = LockScreenPage.answer(request.path) { return page }
        do throws(Fault) {
            if request.method == "GET", let records = try answerWithTag(request) { return records }
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
        case ("/status", "GET"): return index(status)
        case ("/pushes", "DELETE"): apns.forgetPushes()
        case ("/tokens", "POST"): try declareToken(request.body)
        case ("/tokens", "DELETE"): apns.forgetTokens()
        case ("/keys", "POST"): try registerKey(request.body)
        case ("/channels", "GET"): return channels()
        case ("/", _), ("/status", _), ("/pushes", _), ("/phones", _), ("/tokens", _), ("/keys", _), ("/channels", _):
            throw Fault(status: 405, message: "this path does not know the method")
        default:
            throw Fault(status: 404, message: "there is no such path; GET /status lists them")
        }
        return Array("{}".utf8)
    }

    // MARK: - Reading

    private static let routes: [(String, String)] = [
        ("GET /", "a page that shows the lock screen of each phone"),
        (
            "GET /phones",
            "what each phone shows; ?limit=N, else \(ControlAPI.defaultPhones); with If-None-Match 304 if nothing is new"
        ),
        ("GET /phones/{name}", "what one phone shows"),
        (
            "GET /pushes",
            """
            what arrived, oldest first; ?since=N starts at that index, ?token=HEX keeps one token, ?limit=N the latest N
            """
        ),
        ("DELETE /pushes", "forget what arrived and what the phones have made of it"),
        (
            "POST /tokens",
            """
            declare a token: {"token", "environment": "production"|"sandbox"|"both", "topic"?, "behaviour"?: \
            {"status", "reason", "timestamp"?, "retryAfter"?, "times"?} or {"drop": "answer"|"stream"|"connection", \
            "times"?}, "phone"?: NAME, "kind"?: "device"|"activity"|"start", "activity"?: LaId, "startedAt"?, \
            "attributesType"?, "contentState"?, "dismissed"?, "frequentPushes"?, "channel"?: the id of the broadcast channel \
            that the activity follows; it gets what the channel has stored}
            """
        ),
        ("GET /channels", "the broadcast channels, and what arrived at the ports that manage them, oldest first"),
        ("DELETE /tokens", "forget every declared token and every phone"),
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
        var since = try count("since", in: request) ?? 0
        if let limit = try count("limit", in: request) {
            since = max(since, apns.log.nextIndex - min(limit, PushLog.capacity))
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

    private func channels() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("channels")
        writer.beginArray()
        for (place, id, channel) in apns.channels.all {
            writer.beginObject()
            writer.member("environment", place.environment.rawValue)
            writer.member("bundleId", place.bundleID)
            writer.member("channel", id)
            writer.member("messageStoragePolicy", channel.policy)
            writer.endObject()
        }
        writer.endArray()
        writer.key("requests")
        writer.beginArray()
        apns.managementLog.forEach(since: 0) { index, record in record.write(to: &writer, index: index) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// Phones in an answer unless the request says how many.
    private static let defaultPhones = 200

    /// The answer to a GET of what changes with each push: 304 to who has it already; nil for another path.
    private func answerWithTag(_ request: HTTPRequest) throws(Fault) -> HTTPResponse? {
        let time = apns.clock()
        let body: [UInt8]
        let segments = request.pathSegments ?? []
        switch (segments.first, segments.count) {
        case ("phones", 1): body = try phones(request, time: time)
        case ("phones", 2): body = try phone(segments[1], time: time)
        case ("pushes", 1): body = try pushes(request)
        default: return nil
        }
        let tag = EntityTag(of: body)
        let headers = [
            ("ETag", tag.text), ("Cache-Control", "no-cache"), ("X-Simulator-Time", String(time.milliseconds)),
        ]
        guard request.headers.first(named: "if-none-match") != tag.text else {
            return HTTPResponse(status: 304, headers: headers, body: [])
        }
        return .json(200, body, headers: headers)
    }

    private func phones(_ request: HTTPRequest, time: UnixTime) throws(Fault) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for phone in apns.phones.first(try count("limit", in: request) ?? ControlAPI.defaultPhones) {
            phone.write(to: &writer, time: time)
        }
        writer.endArray()
        return writer.bytes
    }

    private func phone(_ name: String, time: UnixTime) throws(Fault) -> [UInt8] {
        guard let phone = apns.phones[name] else {
            throw Fault(status: 404, message: "no phone of that name is declared or has got a push")
        }
        var writer = JSONWriter()
        phone.write(to: &writer, time: time)
        return writer.bytes
    }

    private func count(_ name: String, in request: HTTPRequest) throws(Fault) -> Int? {
        guard let text = request.queryValue(name) else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw Fault(message: "\(name) is not an integer of 0 or more", field: name)
        }
        return number
    }
}
