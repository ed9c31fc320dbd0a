import APNs
import Testing

/// What the lanes of a process know in common of keys and topics that APNs refuses.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SharedCircuitTests {
    private static func request(_ number: Int, topic: String) -> APNsRequest {
        var request = Samples.request(number)
        request.topic = topic
        return request
    }

    @Test("C11, C15: ten messages over two lanes cost two requests at the most, and one good answer frees both lanes")
    func twoLanes() async throws {
        let peer = try await HTTP2Peer(#"{"always": [403, "InvalidProviderToken"]}"#)
        let key = try Samples.key()
        let circuits = ConfigurationCircuits()
        let hold: @Sendable (inout APNsConfiguration) -> Void = { $0.shortestHold = .milliseconds(300) }
        try await TestLane.with(peer, circuits: circuits, configure: hold) { first in
            try await TestLane.with(peer, circuits: circuits, configure: hold) { second in
                async let one = first.sendAll(Samples.requests(0..<5), key: key)
                async let other = second.sendAll(Samples.requests(5..<10), key: key)
                let outcomes = await one + other
                let held = outcomes.filter { $0 == .held(APNsHold(reason: "InvalidProviderToken")) }
                #expect(held.count >= 8)
                #expect(try await peer.lines("request").count <= 2)
                try await peer.set(#"{"always": null}"#)
                try await Task.sleep(for: .milliseconds(400))
                #expect(await first.send(Samples.request(10), key: key).status == 200)
                #expect(await second.sendAll(Samples.requests(11..<15), key: key).allSatisfy { $0.status == 200 })
            }
        }
    }

    @Test(
        "A topic that APNs refuses is held alone, the key's other topics go on",
        arguments: [(400, "BadTopic"), (400, "TopicDisallowed"), (403, "Forbidden"), (403, "TopicMismatch")],
    )
    func topic(status: Int, reason: String) async throws {
        let peer = try await HTTP2Peer(#"{"always": [\#(status), "\#(reason)"]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.shortestHold = .seconds(60) }) { lane in
            // Two recipients: one alone would prove nothing about the topic.
            #expect(await lane.send(Self.request(0, topic: "com.ex.bad"), key: key).status == status)
            #expect(await lane.send(Self.request(1, topic: "com.ex.bad"), key: key).status == status)
            try await peer.set(#"{"always": null}"#)
            let both = (1..<11).map { Self.request($0, topic: $0 % 2 == 0 ? "com.ex.bad" : "com.ex.good") }
            let outcomes = await lane.sendAll(both, key: key)
            for (request, outcome) in zip(both, outcomes) {
                if request.topic == "com.ex.good" {
                    #expect(outcome.status == 200)
                } else {
                    #expect(outcome == .held(APNsHold(reason: reason, isAboutTopic: true)))
                }
            }
            let requests = try await peer.lines("request")
            #expect(requests.count == 7)
            let circuits = await lane.metrics.filter { $0.hasPrefix("livepush_circuit_open{") }
            let open = #"livepush_circuit_open{environment="production",topic="com.ex.bad",reason="\#(reason)"} 1"#
            #expect(circuits == [open[...]])
        }
    }

    @Test("A topic that APNs refuses is probed with one push, and one good answer frees it")
    func probe() async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[400, "BadTopic"], [400, "BadTopic"], [200, null]]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.shortestHold = .seconds(2) }) { lane in
            let requests = (0..<10).map { Self.request($0, topic: "com.ex.bad") }
            #expect(await lane.send(requests[0], key: key).status == 400)
            let probing = await lane.sendAll(Array(requests[1..<5]), key: key)
            #expect(probing[0].status == 400)
            let held = APNsOutcome.held(APNsHold(reason: "BadTopic", isAboutTopic: true, isUnconfirmed: true))
            #expect(probing.dropFirst().allSatisfy { $0 == held })
            let later = await lane.send(requests[5], key: key)
            #expect(later == .held(APNsHold(reason: "BadTopic", isAboutTopic: true)))
            try await Task.sleep(for: .milliseconds(2100))
            #expect(await lane.send(requests[5], key: key).status == 200)
            #expect(await lane.sendAll(Array(requests[6...]), key: key).allSatisfy { $0.status == 200 })
        }
    }

    @Test(
        "One recipient whose pushes APNs always refuses, whatever the reason, holds nobody else of its topic",
        arguments: [(403, "Forbidden"), (400, "TopicDisallowed"), (400, "BadTopic")],
    )
    func oneRecipient(status: Int, reason: String) async throws {
        let peer = try await HTTP2Peer(
            #"{"byToken": {"\#(Samples.token(0))": [\#(status), "\#(reason)"]}, "streams": 1}"#
        )
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.shortestHold = .seconds(60) }) { lane in
            // With one stream the bad one is answered before another goes out.
            let mixed = await lane.sendAll(Samples.requests(0..<5), key: key)
            #expect(mixed[0].response?.othersPass == false)
            #expect(mixed[0].status == status)
            #expect(mixed[1].status == 200)
            let held = APNsOutcome.held(
                APNsHold(reason: reason, isAboutTopic: true, isUnconfirmed: true)
            )
            #expect(mixed.dropFirst(2).allSatisfy { $0 == held })
            #expect(await lane.sendAll(Samples.requests(2..<5), key: key).allSatisfy { $0.status == 200 })
            // Again, with others behind it: nobody is held, and it is told to be its own fault.
            let again = await lane.sendAll(Samples.requests(0..<5), key: key)
            #expect(again[0].response?.othersPass == true)
            #expect(again[0].response.map(APNsReaction.of) == .recipientRefused)
            #expect(again.dropFirst().allSatisfy { $0.status == 200 })
        }
    }

    @Test("One recipient whose pushes APNs calls wrongly signed leaves the key to the others")
    func oneRecipientOfAKey() async throws {
        let peer = try await HTTP2Peer(#"{"byToken": {"\#(Samples.token(0))": [403, "InvalidProviderToken"]}}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.shortestHold = .milliseconds(300) }) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 403)
            #expect(await lane.send(Samples.request(1), key: key) == .held(APNsHold(reason: "InvalidProviderToken")))
            try await Task.sleep(for: .milliseconds(400))
            let probing = await lane.sendAll(Samples.requests(0..<3), key: key)
            #expect(probing.map(\.status) == [nil, 200, nil])
            #expect(await lane.send(Samples.request(0), key: key).status == 403)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
        }
    }
}
