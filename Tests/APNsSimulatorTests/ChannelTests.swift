import Testing
import VerbatimJSON

@testable import APNsSimulator

@Suite("Broadcast channels of the simulator", .timeLimit(.minutes(5)))
struct ChannelTests {
    private let apns = SimulatedAPNs(clock: { Fixture.time })

    private func request(
        _ method: String = "POST",
        _ path: String = "/1/apps/com.ex.app/channels",
        channel: String? = nil,
        body: String = "",
        environment: APNsEnvironment = .production,
    ) -> PushRequest {
        var request = Fixture.request(environment: environment, body: body).with(method: method).with(path: path)
        request.headers.removeAll { $0.name.hasPrefix("apns-") }
        return request.with("apns-channel-id", channel)
    }

    private static let creation = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#

    private func create(policy: Int, environment: APNsEnvironment = .production) throws -> String {
        let body = #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#
        let answer = answer(request(body: body, environment: environment), .management)
        return try #require(answer.headers.first { $0.name == "apns-channel-id" }?.value)
    }

    private func broadcast(
        _ channel: String?,
        expiration: String = "0",
        body: String = Fixture.update(),
        environment: APNsEnvironment = .production,
    ) -> PushRequest {
        request(
            "POST",
            "/4/broadcasts/apps/com.ex.app",
            channel: channel,
            body: body,
            environment: environment,
        )
        .with("apns-push-type", "liveactivity").with("apns-expiration", expiration)
    }

    private func answer(_ request: PushRequest, _ service: PushService) -> PushAnswer {
        var policy = ProviderTokenPolicy()
        return apns.receiveChannelRequest(request, service, on: 1, policy: &policy)
    }

    private func text(_ answer: PushAnswer) -> String {
        let reason = try? JSONDocument(parsing: answer.body).root["reason"]?.string
        return "\(answer.status)" + (reason.map { " \($0)" } ?? "")
    }

    @Test("C75: a channel is created, read, listed and deleted as Apple's page has it")
    func life() throws {
        let created = answer(request(body: Self.creation), .management)
        #expect(created.status == 201 && created.body.isEmpty)
        let id = try #require(created.headers.first { $0.name == "apns-channel-id" }?.value)
        let read = answer(request("GET", channel: id), .management)
        #expect(
            String(decoding: read.body, as: UTF8.self) == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
        )
        let list = request("GET", "/1/apps/com.ex.app/all-channels")
        #expect(String(decoding: answer(list, .management).body, as: UTF8.self) == #"{"channels":["\#(id)"]}"#)
        let deleted = answer(request("DELETE", channel: id), .management)
        #expect(deleted.status == 204 && deleted.body.isEmpty)
        #expect(text(answer(request("DELETE", channel: id), .management)) == "400 ChannelNotRegistered")
        #expect(String(decoding: answer(list, .management).body, as: UTF8.self) == #"{"channels":[]}"#)
    }

    @Test("A request of management with one thing broken is answered with Apple's word")
    func managementFaults() throws {
        let id = try create(policy: 0)
        let valid = request("GET", channel: id)
        let creation = request(body: Self.creation)
        var doubled = valid
        doubled.headers.append(PushRequest.Header(name: "apns-channel-id", value: id))
        let cases: [(PushRequest, String)] = [
            (valid, "200"),
            (valid.with(path: "/1/apps/com.ex.app/channels/\(id)"), "404 BadPath"),
            (valid.with(path: "/1/apps/com.ex.app"), "404 BadPath"),
            (valid.with(path: "/4/broadcasts/apps/com.ex.app"), "404 BadPath"),
            (valid.with(method: "PUT"), "405 MethodNotAllowed"),
            (valid.with(path: "/1/apps/com.ex.app/all-channels").with(method: "POST"), "405 MethodNotAllowed"),
            (doubled, "400 DuplicateHeaders"),
            (valid.with("apns-request-id", "no UUID"), "400 BadRequestParams"),
            (valid.with("authorization", nil), "403 MissingProviderToken"),
            (valid.with(path: "/1/apps/com.ex.app.push-type.liveactivity/channels"), "403 TopicMismatch"),
            (valid.with("apns-channel-id", nil), "400 MissingChannelId"),
            (valid.with("apns-channel-id", "no base64"), "400 BadChannelId"),
            (valid.with("apns-channel-id", "AAAA"), "400 ChannelNotRegistered"),
            (request("GET", channel: id, environment: .sandbox), "400 ChannelNotRegistered"),
            (valid.with(path: "/1/apps/com.ex.other/channels"), "400 ChannelNotRegistered"),
            (creation, "201"),
            (creation.with(body: "{"), "400 BadRequestPayload"),
            (creation.with(body: #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#), "400 BadRequestPayload"),
            (creation.with(body: #"{"push-type":"LiveActivity"}"#), "400 BadRequestPayload"),
            (creation.with(body: #"{"message-storage-policy":1}"#), "400 MissingPushType"),
            (creation.with(body: #"{"message-storage-policy":1,"push-type":"alert"}"#), "400 InvalidPushType"),
        ]
        for (request, expected) in cases {
            #expect(text(answer(request, .management)) == expected, "\(request.method) \(request.path)")
        }
    }

    @Test("C76, C83: a broadcast with one thing broken is answered with Apple's word")
    func broadcastFaults() throws {
        let (none, recent) = (try create(policy: 0), try create(policy: 1))
        func padded(_ bytes: Int) -> String {
            let frame = #"{"aps":{"timestamp":1796000000,"event":"update","content-state":{"a":""}}}"#
            let text = String(repeating: "x", count: bytes - frame.utf8.count)
            return #"{"aps":{"timestamp":1796000000,"event":"update","content-state":{"a":"\#(text)"}}}"#
        }
        let valid = broadcast(none)
        let cases: [(PushRequest, String)] = [
            (valid, "200"),
            (valid.with("apns-expiration", nil), "200"),
            (broadcast(none, expiration: "1796000060"), "400 BadExpirationDate"),
            (broadcast(recent, expiration: "1796000060"), "200"),
            (broadcast(recent, expiration: "soon"), "400 BadExpirationDate"),
            (valid.with(path: "/4/broadcasts/apps/com.ex.app.push-type.liveactivity"), "400 TopicDisallowed"),
            (valid.with(path: "/4/broadcasts/com.ex.app"), "404 BadPath"),
            (valid.with(path: "/3/device/" + Fixture.deviceToken), "404 BadPath"),
            (valid.with(method: "GET"), "405 MethodNotAllowed"),
            (broadcast(nil), "400 MissingChannelId"),
            (broadcast("AAAA"), "400 ChannelNotRegistered"),
            (valid.with("apns-push-type", nil), "400 MissingPushType"),
            (valid.with("apns-push-type", "alert"), "400 InvalidPushType"),
            (valid.with("apns-priority", "7"), "400 BadPriority"),
            (valid.with(body: ""), "400 PayloadEmpty"),
            (valid.with(body: padded(5120)), "200"),
            (valid.with(body: padded(5121)), "413 PayloadTooLarge"),
        ]
        for (request, expected) in cases {
            #expect(text(answer(request, .broadcast)) == expected, "\(request.path) \(request.bodyLength)")
        }
    }

    @Test("An app has 10,000 channels in an environment, and no more")
    func limit() throws {
        var table = ChannelTable()
        let place = ChannelTable.Place(environment: .sandbox, bundleID: "com.ex.app")
        var ids: Set<String> = []
        for _ in 0..<ChannelTable.limit {
            ids.insert(try table.create(policy: 0, in: place))
        }
        #expect(ids.count == 10_000)
        #expect(throws: Refusal(400, "CannotCreateChannelConfig")) { try table.create(policy: 0, in: place) }
        _ = try table.create(policy: 0, in: ChannelTable.Place(environment: .production, bundleID: "com.ex.app"))
        try table.delete(try #require(ids.first), in: place)
        _ = try table.create(policy: 0, in: place)
    }

    @Test("A broadcast reaches every declared activity that follows the channel, and no other")
    func followers() throws {
        let (followed, other) = (try create(policy: 0), try create(policy: 0))
        for (index, channel) in [followed, followed, other].enumerated() {
            let token = try #require(DeviceToken(String(repeating: "0\(index + 1)", count: 80)))
            let isDeclared = apns.declare(
                token,
                DeclaredToken(
                    environments: [.production],
                    phone: "phone-\(index + 1)",
                    kind: .activity,
                    activity: "match",
                    channel: channel,
                ),
            )
            #expect(isDeclared)
        }
        #expect(answer(broadcast(followed), .broadcast).status == 200)
        let shown = (1...3).map { number in
            var writer = JSONWriter()
            apns.phones["phone-\(number)"]?.write(to: &writer, time: Fixture.time)
            return String(decoding: writer.bytes, as: UTF8.self).contains(#""contentState":{"a":1}"#)
        }
        #expect(shown == [true, true, false])
        var records: [PushRecord] = []
        apns.log.forEach(since: 0) { _, record in records.append(record) }
        #expect(records.map(\.followers) == [["phone-1", "phone-2"]])
    }

    // MARK: - Phones that come later

    /// Declares an activity that follows a channel, at the phone of its number.
    private func follow(_ channel: String?, phone number: Int, _ apns: SimulatedAPNs) throws {
        let token = try #require(DeviceToken(String(repeating: "0\(number)", count: 80)))
        let isDeclared = apns.declare(
            token,
            DeclaredToken(
                environments: [.production],
                phone: "phone-\(number)",
                kind: .activity,
                activity: "match",
                channel: channel,
            ),
        )
        #expect(isDeclared)
    }

    private func json(_ name: String, _ apns: SimulatedAPNs) throws -> JSONValue {
        var writer = JSONWriter()
        try #require(apns.phones[name]).write(to: &writer, time: apns.clock())
        return try JSONDocument(parsing: writer.bytes).root
    }

    /// What of a broadcast the phone shows: the state's `a`, and how many pushes it had.
    private func shown(_ number: Int, _ apns: SimulatedAPNs) throws -> [Int64?] {
        let activity = try #require(try json("phone-\(number)", apns)["activities"]?.elements.first)
        return [activity["contentState"]?["a"]?.integer, activity["updates"]?.integer]
    }

    private static func update(_ state: Int, at offset: Int64 = 0) -> String {
        Fixture.update(at: offset).replacing(#"{"a":1}"#, with: #"{"a":\#(state)}"#)
    }

    @Test("a channel that stores keeps the most recent push for phones that come later, as long as it may")
    func stored() throws {
        var now = Fixture.time
        let apns = SimulatedAPNs(clock: { now })
        func send(_ channel: String, _ expiration: Int64, _ body: String) {
            var policy = ProviderTokenPolicy()
            let claims = #"{"iss":"DEF123GHIJ","iat":\#(now.milliseconds / 1000)}"#
            let request = broadcast(channel, expiration: "\(expiration)", body: body)
                .later(seconds: (now.milliseconds - Fixture.time.milliseconds) / 1000)
                .with("authorization", "bearer " + Fixture.providerToken(claims: claims))
            #expect(apns.receiveChannelRequest(request, .broadcast, on: 1, policy: &policy).status == 200)
        }
        func make(_ policy: Int) throws -> String {
            try apns.channels.create(
                policy: policy,
                in: ChannelTable.Place(environment: .production, bundleID: "com.ex.app")
            )
        }
        let (none, recent) = (try make(0), try make(1))
        let end = Fixture.issuedAt + 3600
        send(recent, end, Self.update(1))
        send(recent, end, Self.update(2, at: 1))
        send(none, 0, Self.update(3))
        // It is far older than an update may be that comes by itself.
        now = UnixTime(milliseconds: (end - 1) * 1000)
        try follow(recent, phone: 1, apns)
        try follow(none, phone: 2, apns)
        #expect(try shown(1, apns) == [2, 1])
        #expect(try shown(2, apns) == [nil, 0])
        let event = try #require(try json("phone-1", apns)["events"]?.elements.first)
        #expect(event["kind"]?.string == "update" && event["outcome"]?.string == "shown")
        // It does not come again to who has it; it does to who follows something else first.
        try follow(recent, phone: 1, apns)
        #expect(try json("phone-1", apns)["events"]?.elements.count == 1)
        try follow(recent, phone: 2, apns)
        #expect(try shown(2, apns) == [2, 1])

        now = UnixTime(milliseconds: end * 1000)
        try follow(recent, phone: 3, apns)
        #expect(try shown(3, apns) == [nil, 0])
        // One that is not to be stored is the most recent one all the same.
        send(recent, end + 100, Self.update(4, at: 3600))
        send(recent, 0, Self.update(5, at: 3601))
        try follow(recent, phone: 4, apns)
        #expect(try shown(4, apns) == [nil, 0])
        // Eight hours are the longest.
        send(recent, end + 90_000, Self.update(6, at: 3602))
        now = UnixTime(milliseconds: (end + 8 * 3600) * 1000)
        try follow(recent, phone: 5, apns)
        #expect(try shown(5, apns) == [nil, 0])
        now = UnixTime(milliseconds: (end + 8 * 3600 - 1) * 1000)
        try follow(recent, phone: 6, apns)
        #expect(try shown(6, apns) == [6, 1])
        apns.forgetPushes()
        try follow(recent, phone: 7, apns)
        #expect(try shown(7, apns) == [nil, 0])
    }

    // MARK: - Starts

    /// Starts an activity by push.
    private func start(
        _ channel: String,
        token: Int = 1,
        at offset: Int64 = 0,
        _ apns: SimulatedAPNs,
    ) throws {
        let body = """
            {"aps":{"timestamp":\(Fixture.issuedAt + offset),"event":"start","content-state":{"a":0},"attributes-type":\
            "Match","attributes":{},"alert":{"title":"t","body":"b"},"input-push-channel":\(channel)}}
            """
        var policy = ProviderTokenPolicy()
        let request = Fixture.request(
            token: String(repeating: "f\(token)", count: 64),
            pushType: "liveactivity",
            topic: "com.ex.app.push-type.liveactivity",
            body: body,
        )
        let end = apns.receive(request, on: 1, policy: &policy)
        guard case .accepted = end else { throw Refusal(500, "\(end)") }
    }

    private func record(_ index: Int) throws -> JSONValue {
        var found: JSONValue?
        apns.log.forEach(since: index) { place, record in
            var writer = JSONWriter()
            record.write(to: &writer, index: place)
            if place == index { found = try? JSONDocument(parsing: writer.bytes).root }
        }
        return try #require(found)
    }

    @Test("an activity that a push starts with input-push-channel follows that channel, until it ends")
    func startFollows() throws {
        let (followed, other) = (try create(policy: 0), try create(policy: 0))
        let sandboxes = try create(policy: 0, environment: .sandbox)
        let token = try #require(DeviceToken(String(repeating: "f1", count: 64)))
        #expect(apns.declare(token, DeclaredToken(environments: [.production], phone: "phone-1", kind: .start)))
        try start("\"\(followed)\"", apns)
        // One of an undeclared phone.
        try start("\"\(followed)\"", token: 2, apns)
        let started = try #require(try json("phone-1", apns)["activities"]?.elements.first)
        #expect(started["channel"]?.string == followed && started["environment"]?.string == "production")
        #expect(started["token"]?.kind == .null)

        for (channel, environment) in [(other, APNsEnvironment.production), (sandboxes, .sandbox)] {
            let request = broadcast(channel, body: Self.update(8, at: 1), environment: environment)
            #expect(text(answer(request, .broadcast)) == "200")
        }
        #expect(try shown(1, apns) == [0, 1])
        #expect(answer(broadcast(followed, body: Self.update(9, at: 2)), .broadcast).status == 200)
        #expect(try shown(1, apns) == [9, 2])
        let fingerprint = try #require(DeviceToken(String(repeating: "f2", count: 64))).fingerprint
        #expect(try record(4)["phones"]?.elements.map(\.string) == ["phone-1", fingerprint])
        let event = try #require(try json("phone-1", apns)["events"]?.elements.first)
        #expect(event["kind"]?.string == "update" && event["outcome"]?.string == "shown")
        #expect(event["token"] == nil)

        #expect(answer(broadcast(followed, body: Self.update(7, at: 1)), .broadcast).status == 200)
        let late = try #require(try json("phone-1", apns)["events"]?.elements.first)
        #expect(late["reason"]?.string == "timestamp_not_newer")
        let end = Fixture.update(at: 3, event: "end")
        #expect(answer(broadcast(followed, body: end), .broadcast).status == 200)
        #expect(try json("phone-1", apns)["activities"]?.elements.first?["state"]?.string == "ended")
    }

    @Test("a start with a channel gets what the channel has stored, if that is newer than itself")
    func startGetsStored() throws {
        let channel = try create(policy: 1)
        let expiration = "\(Fixture.issuedAt + 600)"
        #expect(
            text(answer(broadcast(channel, expiration: expiration, body: Self.update(5, at: 2)), .broadcast)) == "200"
        )
        for (number, offset, state) in [(1, 0, 5), (2, 2, 0)] as [(Int, Int64, Int64)] {
            let token = try #require(DeviceToken(String(repeating: "f\(number)", count: 64)))
            #expect(
                apns.declare(token, DeclaredToken(environments: [.production], phone: "phone-\(number)", kind: .start))
            )
            try start("\"\(channel)\"", token: number, at: offset, apns)
            #expect(try shown(number, apns)[0] == state)
            #expect(try json("phone-\(number)", apns)["events"]?.elements.count == 2)
        }
        // A second activity of the phone asks for itself only.
        try start("\"\(channel)\"", token: 1, at: 1, apns)
        #expect(try json("phone-1", apns)["activities"]?.elements.map { $0["updates"]?.integer } == [2, 2])
    }

    @Test("a start that names no channel of its app and environment comes up, and says why nothing will follow")
    func startWithUnknownChannel() throws {
        let sandboxes = try create(policy: 0, environment: .sandbox)
        for channel in ["\"\(sandboxes)\"", "\"AAAA\"", "7", "null"] {
            try start(channel, apns)
        }
        let fingerprint = try #require(DeviceToken(String(repeating: "f1", count: 64))).fingerprint
        let phone = try json(fingerprint, apns)
        #expect(phone["activities"]?.elements.count == 4)
        #expect(phone["activities"]?.elements.allSatisfy { $0["channel"] == nil } == true)
        for event in phone["events"]?.elements ?? [] {
            #expect(event["outcome"]?.string == "shown")
            #expect(event["ignoredPart"]?["what"]?.string == "input-push-channel")
            #expect(event["ignoredPart"]?["reason"]?.string == "channel_unknown")
        }
    }

    @Test("C75, C76: curl manages channels, and broadcasts to one, over the services' own ports")
    func curl() async throws {
        try await RunningSimulator.with { running in
            try running.write(RunningSimulator.freshToken(), to: "token")
            let simulator = running.simulator
            func curl(_ port: UInt16, _ path: String, _ arguments: String) -> String {
                running.run(
                    """
                    curl -s -i --http2 --max-time 10 --cacert ca.pem -H "authorization: bearer $(cat token)" \
                    -H 'content-type:' \(arguments) https://localhost:\(port)\(path)
                    """
                )
            }
            let (manage, send) = (simulator.manageBroadcastSandboxPort, simulator.broadcastSandboxPort)
            let path = "/1/apps/com.ex.app/channels"
            let created = curl(manage, path, "-d '\(Self.creation)'")
            #expect(created.hasPrefix("HTTP/2 201"), "\(created)")
            let id = String(try #require(created.firstMatch(of: /apns-channel-id: ([A-Za-z0-9+\/]{22}==)/)?.1))
            let channel = "-H 'apns-channel-id: \(id)'"
            #expect(curl(manage, path, channel).hasSuffix(Self.creation))
            #expect(curl(manage, "/1/apps/com.ex.app/all-channels", "").hasSuffix(#"{"channels":["\#(id)"]}"#))
            #expect(curl(simulator.manageBroadcastProductionPort, path, channel).contains("ChannelNotRegistered"))
            let update = #"{"aps":{"timestamp":\#(RunningSimulator.seconds),"event":"update","content-state":{}}}"#
            let push = channel + " -H 'apns-push-type: liveactivity' -H 'apns-expiration: 0' -d '\(update)'"
            let sent = curl(send, "/4/broadcasts/apps/com.ex.app", push)
            #expect(sent.hasPrefix("HTTP/2 200") && sent.contains("apns-request-id: "), "\(sent)")
            // The plain host is for devices.
            #expect(curl(simulator.sandboxPort, "/4/broadcasts/apps/com.ex.app", push).contains("BadPath"))
            #expect(curl(manage, path, channel + " -X DELETE").hasPrefix("HTTP/2 204"))
            #expect(curl(manage, path, channel + " -X DELETE").contains("ChannelNotRegistered"))
            #expect(try running.pushes().first?["channel"]?.string == id)
            #expect(try running.control("GET", "/channels").root["requests"]?.elements.count == 6)
        }
    }
}
