import Testing
import VerbatimJSON

@testable import APNsSimulator

@Suite("PhoneTable and the tokens of phones", .timeLimit(.minutes(5)))
struct PhoneTableTests {
    private let apns = SimulatedAPNs(clock: { Fixture.time })

    private func send(_ request: PushRequest) {
        var policy = ProviderTokenPolicy()
        _ = apns.receive(request, on: 1, policy: &policy)
    }

    private func declare(
        _ token: String,
        phone: String?,
        kind: DeclaredToken.Kind? = nil,
        activity: String? = nil,
    ) throws -> Bool {
        let declaration = DeclaredToken(
            environments: Set(APNsEnvironment.allCases),
            phone: phone,
            kind: kind,
            activity: activity,
        )
        return apns.declare(try #require(DeviceToken(token)), declaration)
    }

    private func json(_ name: String) throws -> JSONValue {
        var writer = JSONWriter()
        try #require(apns.phones[name]).write(to: &writer, time: Fixture.time)
        return try JSONDocument(parsing: writer.bytes).root
    }

    private func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    @Test("the tokens of one phone show on it together")
    func onePhone() throws {
        #expect(try declare(Fixture.deviceToken, phone: "alice", kind: .device))
        #expect(try declare(Fixture.activityToken, phone: "alice", kind: .activity, activity: "order-1"))
        send(Fixture.request())
        send(Fixture.activity())
        let phone = try json("alice")
        #expect(phone["declared"]?.boolean == true)
        #expect(phone["notifications"]?.elements.count == 1)
        #expect(phone["activities"]?.elements.map { $0["updates"]?.integer } == [1])
        #expect(phone["events"]?.elements.map { $0["activity"]?.string } == ["order-1", nil])
        #expect(apns.phones.first(10).map(\.name) == ["alice"])
    }

    @Test("an undeclared token has a phone of its own, named by its fingerprint")
    func undeclared() throws {
        send(Fixture.request())
        send(Fixture.activity())
        // SHA-256 of the bytes, first 12 digits; computed with sha256sum.
        #expect(apns.phones.first(10).map(\.name) == ["a24b5494ab7c", "9a2db2e23f15"])
        #expect(apns.phones.first(1).count == 1)
    }

    @Test("a device token takes no activity's push, and an activity token no notification")
    func wrongKind() throws {
        #expect(try declare(Fixture.deviceToken, phone: "alice", kind: .device))
        #expect(try declare(Fixture.activityToken, phone: "alice", kind: .activity))
        let topic = Fixture.bundleID + PushType.liveactivity.topicSuffix
        send(
            Fixture.request(pushType: "liveactivity", topic: topic, body: Fixture.update())
        )
        send(Fixture.request(token: Fixture.activityToken))
        let events = try #require(try json("alice")["events"]?.elements)
        #expect(events.map { $0["outcome"]?.string } == ["refused", "refused"])
        #expect(events.map { $0["reason"]?.string } == ["DeviceTokenNotForTopic", "DeviceTokenNotForTopic"])
    }

    @Test("a token that is declared for another phone leaves the first")
    func moves() throws {
        #expect(try declare(Fixture.activityToken, phone: "alice", kind: .activity, activity: "order-1"))
        #expect(try declare(Fixture.activityToken, phone: "bob", kind: .activity, activity: "order-1"))
        #expect(try json("alice")["activities"]?.elements.isEmpty == true)
        #expect(try json("bob")["activities"]?.elements.count == 1)
    }

    @Test("forgetting pushes leaves declared phones as declared; forgetting tokens leaves none")
    func forgetting() throws {
        #expect(try declare(Fixture.activityToken, phone: "alice", kind: .activity, activity: "order-1"))
        send(Fixture.activity())
        send(Fixture.request())
        apns.forgetPushes()
        #expect(apns.phones.first(10).map(\.name) == ["alice"])
        #expect(try json("alice")["activities"]?.elements.first?["updates"]?.integer == 0)
        #expect(try json("alice")["events"]?.elements.isEmpty == true)
        send(Fixture.activity())
        #expect(try json("alice")["activities"]?.elements.first?["updates"]?.integer == 1)
        apns.forgetTokens()
        #expect(apns.phones.first(10).isEmpty)
    }

    @Test("so many phones are kept: the declared ones, and of the others the latest")
    func capacity() throws {
        #expect(try declare(Fixture.deviceToken, phone: "alice"))
        for number in 1...3 * PhoneTable.undeclaredCapacity {
            send(Fixture.request(token: token(number)))
            // One that is heard of again and again stays.
            send(Fixture.request(token: token(1)))
        }
        let kept = apns.phones.first(Int.max)
        #expect((PhoneTable.undeclaredCapacity...2 * PhoneTable.undeclaredCapacity + 1).contains(kept.count))
        let steady = try #require(DeviceToken(token(1))).fingerprint
        #expect(kept.prefix(2).map(\.name) == ["alice", steady])
        for number in 1..<PhoneTable.declaredCapacity {
            #expect(try declare(token(number), phone: "phone \(number)"))
        }
        #expect(try !declare(token(9999), phone: "one too many"))
        #expect(try declare(token(9999), phone: "alice"))
    }
}
