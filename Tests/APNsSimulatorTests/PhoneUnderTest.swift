import Testing
import VerbatimJSON

@testable import APNsSimulator

/// A phone and the pushes to it, at times that are seconds after ``Fixture/issuedAt``.
struct PhoneUnderTest {
    var phone: Phone
    /// What is said about the token of its pushes.
    var declaration: DeclaredToken?

    init(rules: PhoneRules = PhoneRules(), declaration: DeclaredToken? = nil) {
        self.phone = Phone(name: "phone", isDeclared: declaration != nil, rules: rules)
        self.declaration = declaration
        guard let declaration, let token = DeviceToken(Fixture.activityToken) else { return }
        phone.declare(declaration, token: token, now: Fixture.issuedAt)
    }

    /// A declaration of the activity `order-1`.
    static func declaration(startedAt offset: Int64 = 0) -> DeclaredToken {
        DeclaredToken(
            environments: [.production],
            phone: "phone",
            kind: .activity,
            activity: "order-1",
            startedAt: Fixture.issuedAt + offset,
        )
    }

    /// Sends a Live Activity push.
    ///
    /// - Parameters:
    ///   - event: `update`, `end` or `start`.
    ///   - offset: when it arrives; also its timestamp unless that is given.
    ///   - rest: further members of `aps`.
    /// - Returns: the reason if the phone ignores it, or a part of it.
    mutating func send(
        _ event: String = "update",
        at offset: Int64 = 0,
        timestamp: Int64? = nil,
        state: String = #"{"a":1}"#,
        rest: String = "",
        priority: Int = 5,
        token: String = Fixture.activityToken,
    ) throws -> String? {
        let timestamp = Fixture.issuedAt + (timestamp ?? offset)
        let body = #"{"aps":{"timestamp":\#(timestamp),"event":"\#(event)","content-state":\#(state)\#(rest)}}"#
        return try send(body: body, type: .liveactivity, at: offset, priority: priority, token: token)
    }

    /// Sends a push that starts an activity.
    mutating func start(at offset: Int64 = 0, type: String = "Order", priority: Int = 10) throws -> String? {
        let rest = #","attributes-type":"\#(type)","attributes":{},"alert":{"title":"t","body":"b"}"#
        return try send("start", at: offset, rest: rest, priority: priority)
    }

    /// Sends a push of any kind.
    mutating func send(
        body: String,
        type: PushType,
        at offset: Int64 = 0,
        priority: Int = 5,
        token: String = Fixture.activityToken,
        id: String? = nil,
        collapseID: String? = nil,
        bundleID: String = Fixture.bundleID,
    ) throws -> String? {
        let push = AcceptedPush(
            token: try #require(DeviceToken(token)),
            topic: try PushTopic(bundleID + type.topicSuffix),
            pushType: type,
            priority: priority,
            id: id,
            collapseID: collapseID,
            payload: try #require(PushPayload(Array(body.utf8))),
        )
        return phone.receive(push, environment: .production, declaration: declaration, time: Self.time(offset))?
            .reason.rawValue
    }

    static func time(_ offset: Int64) -> UnixTime {
        UnixTime(milliseconds: (Fixture.issuedAt + offset) * 1000)
    }

    /// The phone's JSON at a time.
    func json(at offset: Int64 = 0) throws -> JSONValue {
        var writer = JSONWriter()
        phone.write(to: &writer, time: Self.time(offset))
        return try JSONDocument(parsing: writer.bytes).root
    }

    /// The first activity at a time.
    func activity(at offset: Int64 = 0) throws -> JSONValue {
        try #require(try json(at: offset)["activities"]?.elements.first)
    }

    /// The state of the first activity at a time.
    func state(at offset: Int64 = 0) throws -> String? {
        try activity(at: offset)["state"]?.string
    }
}
