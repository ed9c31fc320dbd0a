import EventLoop
import Gateway
import HTTPServer
import LiveActivity
import Logging
import PostgresClient
import Testing
import VerbatimJSON

@testable import Pushwoosh

/// Calls the API in memory.
struct Backend {
    let gateway = InMemoryGateway()
    private let api: PushwooshAPI

    init() throws {
        let logger = Logger(minimumLevel: .error)
        // Never started: what phones register is tested with a database elsewhere.
        let pool = PostgresPool(url: "", connections: 1, on: try EventLoop(), logger: logger)
        api = PushwooshAPI(
            gateway: gateway,
            registrations: RegistrationStore(pool: pool, logger: logger),
            logger: nil,
        )
    }

    func respond(
        _ method: String,
        _ body: String,
        authorization: String? = nil,
        httpMethod: String = "POST",
    ) async -> HTTPResponse {
        await api.respond(
            to: HTTPRequest(
                method: httpMethod,
                path: "/json/1.3/" + method,
                query: nil,
                headers: authorization.map { ["Authorization": $0] } ?? [:],
                body: Array(body.utf8),
                remoteAddress: "127.0.0.1",
            )
        )
    }

    /// The answer's body. Fails if it lacks what the SDK needs.
    func post(
        _ method: String,
        _ body: String,
        status: Int = 200,
        authorization: String? = nil,
    ) async throws -> JSONValue {
        let response = await respond(method, body, authorization: authorization)
        #expect(response.status == status)
        let answer = try JSONDocument(parsing: response.body).root
        #expect(answer["status_code"]?.kind == .number)
        #expect(response.outcomeCode.map(Int64.init) == answer["status_code"]?.integer)
        #expect(answer["base_url"] == nil)
        return answer
    }

    /// Sends notifications that are accepted, and returns what the gateway was asked to do.
    func orders(_ method: String, _ notifications: String...) async throws -> [PlannedOrder] {
        let answer = try await post(method, Self.request(notifications))
        #expect(answer["status_code"]?.integer == 200, "\(answer["status_message"]?.string ?? "")")
        #expect(answer["status_message"]?.string == "OK")
        let codes = try #require(answer["response"]?["Messages"]?.elements).compactMap(\.string)
        #expect(codes == gateway.planned.map(\.order.messageKey))
        #expect(Set(codes).count == notifications.count)
        for code in codes {
            #expect(try code.wholeMatch(of: Regex("[0-9A-F]{4,5}-[0-9A-F]{8}-[0-9A-F]{8}")) != nil, "\(code)")
        }
        return gateway.planned
    }

    /// Sends notifications that are refused as a whole, with the field at the beginning of the message.
    func expectRefusal(
        _ method: String,
        _ notifications: String...,
        field: String,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) async throws {
        let answer = try await post(method, Self.request(notifications))
        #expect(answer["status_code"]?.integer == 210, sourceLocation: sourceLocation)
        #expect(answer["response"]?.kind == .null, sourceLocation: sourceLocation)
        let message = try #require(answer["status_message"]?.string)
        #expect(message.hasPrefix(field), "\(message)", sourceLocation: sourceLocation)
        #expect(gateway.planned.isEmpty, sourceLocation: sourceLocation)
    }

    static func request(
        _ notifications: [String],
        application: String = "XXXXX-XXXXX",
        auth: String = "SECRET_API_TOKEN",
    ) -> String {
        """
        {"request":{"application":"\(application)","auth":"\(auth)","notifications":[\(notifications.joined(separator: ","))]}}
        """
    }
}

/// Notifications that are right in every field; break one thing.
enum ValidNotification {
    static let start = """
        {"content":"C","title":"T","apns_priority":10,"live_activity":{"event":"start","content-state":{"n":1.0},\
        "attributes-type":"Ride","attributes":{"id":7}},"live_activity_id":"ride-7","filter":"F"}
        """
    static let update = """
        {"live_activity":{"event":"update","content-state":{"n":2},"relevance-score":60,"stale-date":1780410000},\
        "live_activity_id":"ride-7"}
        """
    static let end = """
        {"live_activity":{"event":"end","content-state":{"n":3},"dismissal-date":1780410000},"live_activity_id":"ride-7"}
        """
}

extension String {
    /// The text with its one occurrence of `part` replaced. Fails if there is none, so that no case tests nothing.
    func breaking(_ part: String, _ replacement: String) throws -> String {
        try #require(contains(part), "there is no \(part) to break")
        return replacing(part, with: replacement)
    }
}

extension PlannedOrder {
    /// What the phone gets, as JSON; dates as of the test's time.
    ///
    /// - Parameter system: its iOS; nil: unknown.
    func payload(on system: IOSVersion? = nil) throws -> JSONValue {
        var content = try #require(order.activity?.content)
        content.start = content.start?.adapted(to: system)
        let bytes = LiveActivityPayload.encode(
            content,
            timestamp: InMemoryGateway.time,
            dismissalDate: DismissalDate.toSend(
                event: content.event,
                requested: content.dismissalDate,
                defaultIsImmediate: order.activity?.defaultDismissal == .immediate,
                now: InMemoryGateway.time,
            ),
        )
        return try JSONDocument(parsing: bytes).root
    }

    /// The same as text.
    func payloadText() throws -> String {
        String(decoding: try payload().verbatim, as: UTF8.self)
    }
}

extension PushToken {
    /// A token of 32 times this byte.
    static func of(_ byte: UInt8) -> PushToken {
        guard let token = try? PushToken(bytes: [UInt8](repeating: byte, count: 32)) else {
            preconditionFailure("32 bytes are a token")
        }
        return token
    }
}
