import Glibc
import TestSupport
import Testing
import VerbatimJSON

/// The APNs of `Peers/apns_peer.py`, running.
final class APNsPeer {
    /// What a request gets instead of the usual answer; the words are those of the script.
    struct Action: Sendable {
        let json: String

        static func status(_ status: Int, _ reason: String? = nil, timestamp: Int64? = nil, times: Int = 1) -> Action {
            let reason = reason.map { #","reason":"\#($0)""# } ?? ""
            let timestamp = timestamp.map { #","timestamp":\#($0)"# } ?? ""
            return Action(json: #"{"status":\#(status)\#(reason)\#(timestamp),"times":\#(times)}"#)
        }

        static func tooManyRequests(retryAfter: Int) -> Action {
            Action(json: #"{"status":429,"retryAfter":\#(retryAfter)}"#)
        }

        static func unavailable(retryAfter: Int) -> Action {
            Action(json: #"{"status":503,"reason":"ServiceUnavailable","retryAfter":\#(retryAfter)}"#)
        }

        static func silence(times: Int = 1) -> Action { Action(json: #"{"silent":true,"times":\#(times)}"#) }
        static func late(_ seconds: Double, times: Int = 1) -> Action {
            Action(json: #"{"delay":\#(seconds),"times":\#(times)}"#)
        }
        /// RST_STREAM in place of the answer.
        static func reset(code: Int) -> Action { Action(json: #"{"reset":\#(code)}"#) }
        /// From then on all requests of the connection get it.
        static func sticking(_ status: Int, _ reason: String) -> Action {
            Action(json: #"{"status":\#(status),"reason":"\#(reason)","sticks":true}"#)
        }
        static let refusedStream = Action(json: #"{"refuse":true}"#)
        static let closedConnection = Action(json: #"{"close":true}"#)
        static let goAway = Action(json: #"{"goaway":null}"#)
    }

    /// What a connection meets; the words are those of the script.
    struct Door: Sendable {
        let json: String

        init(_ members: String, times: Int = 1) { json = "{\(members),\"times\":\(times)}" }

        /// TCP is accepted, and nothing more happens.
        static func noTLS(times: Int = 1) -> Door { Door(#""tls":"never""#, times: times) }
        static func otherName(times: Int = 1) -> Door { Door(#""tls":"otherName""#, times: times) }
        static func otherRoot(times: Int = 1) -> Door { Door(#""tls":"otherRoot""#, times: times) }
        static func noSettings(times: Int = 1) -> Door { Door(#""noSettings":true"#, times: times) }
        /// GOAWAY instead of SETTINGS.
        static func goAway(_ reason: String?, times: Int = 1) -> Door {
            Door(#""goaway":\#(reason.map { "\"\($0)\"" } ?? "null")"#, times: times)
        }
        /// Nothing is read or written any more.
        static func swallowing(times: Int = 1) -> Door { Door(#""swallow":true"#, times: times) }
        /// No request is answered, PINGs are.
        static func mute(times: Int = 1) -> Door { Door(#""mute":true"#, times: times) }
        /// Every stream is refused.
        static func refusing(times: Int = 1) -> Door { Door(#""refuse":true"#, times: times) }
    }

    let productionPort: Int
    let sandboxPort: Int
    /// The file with its CA, which the gateway is to trust.
    let authority: String

    private let program: RunningProgram
    private let controlPort: Int

    /// - Parameters:
    ///   - folder: where it writes its certificates.
    ///   - keys: the provider keys it knows, `KEYID:TEAMID:FILE:TOPIC`.
    init(folder: String, keys: [String], streams: Int = 1000) throws {
        program = try RunningProgram(
            "/usr/bin/python3",
            ["\(Paths.peers)/apns_peer.py", "--directory", folder, "--streams", String(streams)]
                + keys.flatMap { ["--key", $0] },
        )
        let program = program
        guard eventually({ program.output.hasSuffix("\n") || program.status != nil }), program.status == nil else {
            throw ChildProcess.Failure("the APNs peer did not start: \(program.errors)")
        }
        let ports = try JSONDocument(parsing: Array(program.output.utf8)).root
        productionPort = Int(try #require(ports["production"]?.integer))
        sandboxPort = Int(try #require(ports["sandbox"]?.integer))
        controlPort = Int(try #require(ports["control"]?.integer))
        authority = try #require(ports["ca"]?.string)
    }

    /// Sets what the next requests to a token get. `key:ID` stands for any token with that key, `*:liveactivity`,
    /// `*:com.ex.app` and `*` for any with that push type, with that topic, and for any.
    func answer(_ token: String, _ actions: Action...) throws {
        try post("/behaviours", #"{"\#(token)":[\#(actions.map(\.json).joined(separator: ","))]}"#)
    }

    /// Sets what the next connections to an environment meet.
    func meet(_ environment: String, _ doors: Door...) throws {
        try post("/accept", #"{"\#(environment)":[\#(doors.map(\.json).joined(separator: ","))]}"#)
    }

    /// All connections of a team in the sandbox behave so from now on.
    func turn(_ team: String, _ door: Door) throws {
        try post("/live", #"{"environment":"sandbox","team":"\#(team)",\#(door.json.dropFirst())"#)
    }

    /// Announces how many streams each connection takes.
    ///
    /// - Parameter afterRefusal: how many after an answer 4xx, until the next 200.
    func limit(streams: Int, afterRefusal: Int? = nil) throws {
        try post("/settings", #"{"streams":\#(streams)\#(afterRefusal.map { ",\"afterRefusal\":\($0)" } ?? "")}"#)
    }

    /// Sends GOAWAY on all connections, which stay.
    ///
    /// - Parameters:
    ///   - last: which open streams are left out: `all` answers all, `none` none, `mid` the earlier half.
    ///   - refusing: whether later streams are refused, not left unheard.
    func goAway(reason: String? = nil, last: String = "all", times: Int = 1, refusing: Bool = false) throws {
        let reason = reason.map { "\"\($0)\"" } ?? "null"
        try post("/goaway", #"{"reason":\#(reason),"last":"\#(last)","times":\#(times),"refuse":\#(refusing)}"#)
    }

    /// Takes connections and answers as usual again.
    func heal() throws {
        try post("/heal", "{}")
    }

    /// Answers as usual again, and forgets what came.
    func reset() throws {
        try post("/reset", "{}")
    }

    /// Says that only one environment knows a token.
    func know(_ token: String, in environment: String) throws {
        try post("/tokens", #"{"\#(token)":{"environment":"\#(environment)"}}"#)
    }

    /// The pushes so far; waits until there are `count` of them.
    func pushes(_ count: Int = 0, within seconds: Double = 15) throws -> [PeerPush] {
        let json = try get(count: count, wait: seconds)
        return try #require(json["requests"]).elements.map(PeerPush.init)
    }

    /// Waits for exactly `count` pushes, and records an issue if there are fewer, or if more come within `quiet`
    /// seconds. Every push must have passed the peer's checks.
    func exactly(
        _ count: Int,
        quiet: Double = 0.3,
        within seconds: Double = 15,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) throws -> [PeerPush] {
        _ = try pushes(count, within: seconds)
        let seen = try pushes(count + 1, within: quiet)
        #expect(seen.count == count, "\(seen)", sourceLocation: sourceLocation)
        #expect(seen.flatMap(\.problems).isEmpty, "\(seen)", sourceLocation: sourceLocation)
        try #require(seen.count >= count, sourceLocation: sourceLocation)
        return seen
    }

    /// The connections so far, as the script records them.
    func connections() throws -> [JSONValue] {
        try #require(try get(count: 0, wait: 0)["connections"]).elements
    }

    /// The TCP connections that came so far.
    func accepted(by environment: String) throws -> [JSONValue] {
        try #require(try get(count: 0, wait: 0)["accepted"]).elements.filter {
            $0["environment"]?.string == environment
        }
    }

    private func get(count: Int, wait: Double) throws -> JSONValue {
        try HTTPExchange("GET", port: controlPort, "/requests?after=0&count=\(count)&wait=\(wait)").answer().json
    }

    private func post(_ path: String, _ body: String) throws {
        let answer = try HTTPExchange("POST", port: controlPort, path, body: body).answer()
        guard answer.status == 200 else { throw ChildProcess.Failure("the APNs peer refused \(path): \(body)") }
    }
}

/// A request as it arrived at the peer.
struct PeerPush: CustomStringConvertible {
    let environment: String
    let connection: Int64
    let token: String
    let pushType: String
    /// Every header, in order.
    let headers: [(name: String, value: String)]
    /// The body, the same bytes in UTF-8.
    let body: String
    let payload: JSONValue
    /// When its headers arrived, Unix seconds.
    let received: Double
    /// What a strict reader finds wrong with it.
    let problems: [String]
    /// What the peer answered, nil if nothing.
    let status: Int64?
    let reason: String?

    init(_ json: JSONValue) throws {
        environment = try #require(json["environment"]?.string)
        connection = try #require(json["connection"]?.integer)
        token = try #require(json["token"]?.string)
        pushType = try #require(json["pushType"]?.string)
        headers = try #require(json["headers"]).elements.map { header in
            (try #require(header["name"]?.string), try #require(header["value"]?.string))
        }
        body = try #require(json["text"]?.string)
        payload = try JSONDocument(parsing: Array(body.utf8)).root
        received = try #require(json["received"]?.double)
        problems = try #require(json["problems"]).elements.compactMap(\.string)
        status = json["status"]?.integer
        reason = json["reason"]?.string
    }

    subscript(header: String) -> String? { headers.first { $0.name == header }?.value }

    var aps: JSONValue? { payload["aps"] }
    var timestamp: Int64? { aps?["timestamp"]?.integer }
    var event: String? { aps?["event"]?.string }
    /// The bytes of the state as they arrived.
    var contentState: String? { aps?["content-state"].map { String(decoding: $0.verbatim, as: UTF8.self) } }

    var description: String {
        "\(environment) \(pushType) \(token.prefix(6)) \(status ?? 0) \(reason ?? "") \(problems) \(body.prefix(200))"
    }
}
