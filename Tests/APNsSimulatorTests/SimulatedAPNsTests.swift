import Testing
import VerbatimJSON

@testable import APNsSimulator

@Suite("SimulatedAPNs: declared behaviour, phone, log", .timeLimit(.minutes(5)))
struct SimulatedAPNsTests {
    private let apns = SimulatedAPNs()

    private func send(_ request: PushRequest) -> PushRecord? {
        var policy = ProviderTokenPolicy()
        _ = apns.receive(request, on: 1, policy: &policy)
        return last
    }

    private var last: PushRecord? {
        var found: PushRecord?
        apns.log.forEach(since: apns.log.nextIndex - 1) { _, record in found = record }
        return found
    }

    private func status(_ record: PushRecord?) -> String? {
        switch record?.end {
        case .accepted: "200"
        case .refused(let refusal): "\(refusal.status) \(refusal.reason)"
        case .dropped(let drop): "dropped \(drop)"
        case nil: nil
        }
    }

    // MARK: - Behaviour

    @Test("a behaviour with a number of times ends after them")
    func behaviourTimes() throws {
        let token = try #require(DeviceToken(Fixture.deviceToken))
        let behaviour = DeclaredToken.Behaviour(outcome: .refuse(Refusal(503, "ServiceUnavailable")), remaining: 2)
        let fits = apns.declare(token, DeclaredToken(environments: [.production], behaviour: behaviour))
        #expect(fits)
        #expect(status(send(Fixture.request())) == "503 ServiceUnavailable")
        #expect(status(send(Fixture.request())) == "503 ServiceUnavailable")
        #expect(status(send(Fixture.request())) == "200")
    }

    @Test("C88: a push whose answer is dropped has reached the phone, so that its repeat is a duplicate")
    func droppedAnswer() throws {
        let token = try #require(DeviceToken(Fixture.activityToken))
        let behaviour = DeclaredToken.Behaviour(outcome: .drop(.connection), remaining: 1)
        let fits = apns.declare(token, DeclaredToken(environments: [.production], behaviour: behaviour))
        #expect(fits)
        #expect(status(send(Fixture.activity())) == "dropped connection")
        let second = send(Fixture.activity())
        #expect(status(second) == "200")
        #expect(second?.ignoredByPhone?.reason.rawValue == "timestamp_not_newer")
    }

    // MARK: - Phone

    @Test(
        "C57, C58: APNs takes what the phone then ignores",
        arguments: [
            (Fixture.update(), nil),
            (Fixture.update(at: -15), nil),
            (Fixture.update(at: -16), "timestamp_in_the_past"),
            (Fixture.update(at: -600, event: "end"), nil),
            (Fixture.update(at: 28_800), nil),
            (Fixture.update(at: 28_801), "timestamp_too_far_ahead"),
            (#"{"aps":{"timestamp":1796000000000,"event":"update","content-state":{}}}"#, "timestamp_too_far_ahead"),
            (#"{"aps":{"timestamp":"1796000000","event":"update","content-state":{}}}"#, "timestamp_missing"),
            (#"{"aps":{"event":"update","content-state":{}}}"#, "timestamp_missing"),
            (#"{"aps":{"timestamp":1796000000,"events":"update","content-state":{}}}"#, "event_unknown"),
            (#"{"aps":{"timestamp":1796000000,"event":"Update","content-state":{}}}"#, "event_unknown"),
            (#"{"aps":{"timestamp":1796000000,"event":"update"}}"#, "content_state_missing"),
            (#"{"aps":{"timestamp":1796000000,"event":"update","content-state":[]}}"#, "content_state_missing"),
            (#"{"aps":{"timestamp":1796000000,"event":"end"}}"#, nil),
            (Fixture.update(event: "start"), "start_incomplete"),
            (
                #"{"aps":{"timestamp":1796000000,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"alert":{"title":"t","body":"b"}}}"#,
                nil
            ),
        ] as [(String, String?)]
    )
    func ignored(_ body: String, _ reason: String?) {
        let record = send(Fixture.activity(body))
        #expect(status(record) == "200")
        #expect(record?.ignoredByPhone?.reason.rawValue == reason)
    }

    @Test("C65: a dismissal date on an update has no effect, the update has")
    func dismissalDate() {
        let record = send(
            Fixture.activity(
                #"{"aps":{"timestamp":1796000000,"event":"update","content-state":{},"dismissal-date":1}}"#
            )
        )
        #expect(record?.ignoredByPhone == Phone.Ignored(what: "dismissal-date", reason: .onlyAnEndIsDismissed))
        #expect(send(Fixture.activity())?.ignoredByPhone?.reason.rawValue == "timestamp_not_newer")
    }

    @Test("a phone takes rising timestamps, and nothing after the end")
    func order() {
        #expect(send(Fixture.activity(Fixture.update(at: 1)))?.ignoredByPhone == nil)
        #expect(send(Fixture.activity(Fixture.update(at: 1)))?.ignoredByPhone?.reason.rawValue == "timestamp_not_newer")
        #expect(send(Fixture.activity(Fixture.update(at: 0)))?.ignoredByPhone?.reason.rawValue == "timestamp_not_newer")
        #expect(send(Fixture.activity(Fixture.update(at: 2), environment: .sandbox))?.ignoredByPhone == nil)
        #expect(send(Fixture.activity(Fixture.update(at: 2, event: "end")))?.ignoredByPhone == nil)
        #expect(send(Fixture.activity(Fixture.update(at: 3)))?.ignoredByPhone?.reason.rawValue == "activity_ended")
    }

    // MARK: - Log

    @Test("a record shows the payload byte for byte, and no provider token")
    func record() throws {
        let body = #"{"aps":{"timestamp":1796000000,"event":"update","content-state":{"x":1.0,"y":1e2}}}"#
        var writer = JSONWriter()
        try #require(send(Fixture.activity(body))).write(to: &writer, index: 7)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(!text.contains("eyJ"))
        let root = try JSONDocument(parsing: writer.bytes).root
        #expect(root["payload"].map { Array($0.verbatim) } == Array(body.utf8))
        #expect(root["index"]?.integer == 7)
        #expect(root["status"]?.integer == 200)
        #expect(root["token"]?.string == Fixture.activityToken)
        #expect(root["headers"]?["authorization"]?["kid"]?.string == "ABC123DEFG")
        #expect(root["headers"]?["authorization"]?["iat"]?.integer == Fixture.issuedAt)
        #expect(root["headers"]?["apns-priority"]?.string == "5")
    }

    @Test("a record of garbage is JSON all the same")
    func recordOfGarbage() throws {
        var request = Fixture.request(body: "{\"aps\":").with("authorization", "bearer \u{0}\"")
        request.headers.append(PushRequest.Header(name: "apns-topic", value: "\u{1F}\\"))
        var writer = JSONWriter()
        try #require(send(request)).write(to: &writer, index: 0)
        let root = try JSONDocument(parsing: writer.bytes).root
        #expect(root["payload"]?.kind == .null)
        #expect(root["headers"]?["authorization"]?.kind == .null)
        #expect(root["reason"]?.string == "DuplicateHeaders")
    }

    @Test("the log keeps the latest 10,000 and counts the others")
    func boundedLog() throws {
        var log = PushLog()
        let record = try #require(send(Fixture.request()))
        for _ in 0..<PushLog.capacity + 5 {
            log.append(record)
        }
        var indices: [Int] = []
        log.forEach(since: 0) { index, _ in indices.append(index) }
        #expect(indices.count == PushLog.capacity)
        #expect(indices.first == 5)
        #expect(indices.last == PushLog.capacity + 4)
        #expect(log.dropped == 5)
        var recent: [Int] = []
        log.forEach(since: PushLog.capacity + 3) { index, _ in recent.append(index) }
        #expect(recent == [PushLog.capacity + 3, PushLog.capacity + 4])
        log.removeAll()
        #expect(log.dropped == 0)
        #expect(log.nextIndex == PushLog.capacity + 5)
    }
}
