import APNs
import Testing

/// What APNs does to connections and streams (cases B).
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ConnectionFaultTests {
    private let allAccepted: (Int) -> [Int?] = { Array(repeating: 200, count: $0) }

    // MARK: - Stream limits

    @Test("C26: 20 pushes on a fresh connection open one stream before the first answer")
    func oneStreamFirst() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<20), key: key)
            #expect(outcomes.map(\.status) == allAccepted(20))
        }
        #expect(try await peer.lines("refused").isEmpty)
        #expect(try await peer.lines("request").count == 20)
    }

    @Test("C28: a limit that is lowered to 7 under load is kept")
    func loweredLimit() async throws {
        let peer = try await HTTP2Peer(#"{"hold": 0.02, "streams": 100, "lowerTo": 7, "lowerAfter": 101}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.connectionsPerKey = 1 }) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<300), key: key)
            #expect(outcomes.map(\.status) == allAccepted(300))
        }
        #expect(try await peer.lines("lowered").count == 1)
        #expect(try await peer.lines("refused").isEmpty)
        #expect(try await peer.wait(for: "closed").allSatisfy { $0["mostOpen"]?.integer == 7 })
    }

    @Test("C28: 1500 pushes at once queue behind a limit of 1000")
    func burstBeyondLimit() async throws {
        let peer = try await HTTP2Peer(#"{"hold": 0.05}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.connectionsPerKey = 1 }) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<1500), key: key)
            #expect(outcomes.map(\.status) == allAccepted(1500))
        }
        #expect(try await peer.lines("alpn").count == 1)
        #expect(try await peer.lines("refused").isEmpty)
        let mostOpen = try #require(try await peer.wait(for: "closed").first?["mostOpen"]?.integer)
        #expect((100...1000).contains(mostOpen))
    }

    @Test("A second connection opens when the first is full, and not a third")
    func secondConnection() async throws {
        let peer = try await HTTP2Peer(#"{"hold": 0.02, "streams": 10}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<200), key: key)
            #expect(outcomes.map(\.status) == allAccepted(200))
        }
        #expect(try await peer.lines("alpn").count == 2)
        #expect(try await peer.lines("refused").isEmpty)
    }

    @Test("C17: a connection that refuses all new streams is replaced at once")
    func refusesStreams() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            try await peer.set(#"{"refuseAfter": 2}"#)
            async let later = lane.send(Samples.request(1), key: key)
            _ = try await peer.wait(for: "refused")
            try await peer.set(#"{"refuseAfter": null}"#)
            #expect(await later.status == 200)
        }
        #expect(try await peer.lines("alpn").count >= 2)
    }

    @Test("A peer that refuses every stream is not asked for ever")
    func refusesAlways() async throws {
        let peer = try await HTTP2Peer(#"{"refuseAfter": 1}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcome = await lane.send(Samples.request(), key: key)
            guard case .unanswered(let failure, mayHaveBeenProcessed: false) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(failure.kind == .streamRefused || failure.kind == .connectFailed)
        }
        #expect(try await peer.lines("refused").count <= 4)
    }

    // MARK: - GOAWAY

    @Test("C16, C19: a GOAWAY in the middle of 100 pushes loses and repeats none")
    func goAwayInTheMiddle() async throws {
        let peer = try await HTTP2Peer(#"{"hold": 0.05, "goAwayAfter": 50}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.connectionsPerKey = 1 }) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<100), key: key)
            #expect(outcomes.map(\.status) == allAccepted(100))
        }
        let goAway = try #require(try await peer.lines("goAway").first)
        let last = try #require(goAway["last"]?.integer)
        let processed = try await peer.lines("request").filter {
            $0["connection"]?.integer != 1 || ($0["stream"]?.integer ?? 0) <= last
        }
        #expect(Set(processed.compactMap { $0["request"]?["apns-id"]?.string }).count == 100)
        #expect(processed.count == 100)
        #expect(try await peer.lines("alpn").count == 2)
    }

    @Test("C18: a GOAWAY instead of SETTINGS fails what waits, with the reason")
    func goAwayInsteadOfSettings() async throws {
        let peer = try await HTTP2Peer(#"{"goAwayInsteadOfSettings": true, "goAwayReason": "Shutdown"}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<5), key: key)
            for outcome in outcomes {
                guard case .unanswered(let failure, mayHaveBeenProcessed: false) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
                #expect(failure.kind == .connectFailed)
                #expect(failure.detail.contains("Shutdown"))
            }
        }
    }

    @Test("C20: the reason in a GOAWAY without error is told, and holds the key")
    func goAwayBecauseOfCredentials() async throws {
        let peer = try await HTTP2Peer(
            #"{"goAwayInsteadOfSettings": true, "goAwayReason": "BadCertificateEnvironment"}"#
        )
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<5), key: key)
            #expect(outcomes.allSatisfy { $0 == .held(APNsHold(reason: "BadCertificateEnvironment")) })
            #expect(lane.log.contains("BadCertificateEnvironment"))
            let later = await lane.send(Samples.request(9), key: key)
            #expect(later == .held(APNsHold(reason: "BadCertificateEnvironment")))
            let metrics = await lane.metrics
            let labels = #"{environment="production",reason="BadCertificateEnvironment"}"#
            for line in [
                "livepush_apns_goaway_total\(labels) 1",
                #"livepush_circuit_open{environment="production",topic="",reason="BadCertificateEnvironment"} 1"#,
                "livepush_apns_held_total\(labels) 6",
                #"livepush_apns_connection_failures_total{environment="production",reason="connection_lost"} 1"#,
            ] {
                #expect(metrics.contains(line[...]), "\(line) is not in \(metrics)")
            }
        }
        #expect(try await peer.lines("alpn").count == 1)
    }

    // MARK: - Lost answers

    @Test("C23: silence about 1 of 50 pushes ends as unknown, and leaves the others alone")
    func silence() async throws {
        let peer = try await HTTP2Peer(#"{"silentTokens": ["\#(Samples.token(20))"]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.requestTimeout = .seconds(2) }) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<50), key: key)
            for (number, outcome) in outcomes.enumerated() where number != 20 {
                #expect(outcome.status == 200)
            }
            guard case .unanswered(let failure, mayHaveBeenProcessed: true) = outcomes[20] else {
                Issue.record("\(outcomes[20])")
                return
            }
            #expect(failure.kind == .timeout)
            let reset = try #require(try await peer.wait(for: "reset").first)
            #expect(reset["code"]?.integer == 8)
            #expect(await lane.send(Samples.request(51), key: key).status == 200)
        }
        #expect(try await peer.lines("request").count == 51)
    }

    @Test("A connection that ends without close_notify leaves unknown what was sent, and the next push connects anew")
    func dropped() async throws {
        let peer = try await HTTP2Peer(#"{"dropAfter": 3}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
            let outcome = await lane.send(Samples.request(2), key: key)
            guard case .unanswered(let failure, mayHaveBeenProcessed: true) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(failure.kind == .connectionLost)
            #expect(failure.detail.contains("closed by the peer"))
            #expect(await lane.send(Samples.request(3), key: key).status == 200)
        }
        #expect(try await peer.lines("alpn").count == 2)
    }

    @Test("C88: a stream that is reset after the push was sent is unknown, not failed")
    func reset() async throws {
        let peer = try await HTTP2Peer(#"{"resetTokens": {"\#(Samples.token(0))": 2}}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcome = await lane.send(Samples.request(0), key: key)
            guard case .unanswered(let failure, mayHaveBeenProcessed: true) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(failure.kind == .streamReset)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
        }
        #expect(try await peer.lines("alpn").count == 1)
    }

    @Test("C22: a peer that swallows everything is found by PING, and a push after that connects anew")
    func swallowed() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(
            peer,
            configure: {
                $0.pingInterval = .milliseconds(200)
                $0.pingTimeout = .seconds(2)
            }
        ) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            // A PING that is answered keeps the connection.
            _ = try await peer.wait(for: "ping", count: 2)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
            #expect(try await peer.lines("alpn").count == 1)

            try await peer.set(#"{"swallow": true}"#)
            while !lane.log.contains("no answer to a PING") {
                try await Task.sleep(for: .milliseconds(5))
            }
            try await peer.set(#"{"swallow": false}"#)
            #expect(await lane.send(Samples.request(2), key: key).status == 200)
        }
        #expect(try await peer.lines("alpn").count == 2)
    }

    @Test("Beyond the limit, pushes of a key that gets nowhere are turned away, those of another go on")
    func backlogged() async throws {
        let peer = try await HTTP2Peer(#"{"streams": 1, "silentTokens": ["\#(Samples.token(0))"]}"#)
        let key = try Samples.key()
        try await TestLane.with(
            peer,
            configure: {
                $0.patience = .zero
                $0.connectionsPerKey = 1
                $0.requestTimeout = .milliseconds(500)
            }
        ) { lane in
            await lane.limitWaiting(to: 2)
            let outcomes = await lane.sendAll((0...4).map { Samples.request($0) }, key: key)
            let backlogged = APNsOutcome.unanswered(APNsFailure(.backlogged), mayHaveBeenProcessed: false)
            #expect(outcomes.map { $0 == backlogged } == [false, false, false, true, true])
            #expect(await lane.send(Samples.request(5), key: key, to: .sandbox).status == 200)
        }
    }

    @Test("A request without an answer puts a silent connection in doubt: the next push goes elsewhere")
    func suspect() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.requestTimeout = .seconds(2) }) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            try await peer.set(#"{"swallow": true}"#)
            #expect(await lane.send(Samples.request(1), key: key).status == nil)
            try await peer.set(#"{"swallow": false, "noSuchThing": 0}"#)
            #expect(await lane.send(Samples.request(2), key: key).status == 200)
        }
    }

    // MARK: - Connecting

    @Test("C39: an unknown root is named with the host, in the outcome and in the log")
    func unknownRoot() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer, trustsPeer: false) { lane in
            let outcome = await lane.send(Samples.request(), key: key)
            guard case .unanswered(let failure, mayHaveBeenProcessed: false) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(failure.kind == .connectFailed)
            #expect(failure.detail.contains("localhost"))
            #expect(failure.detail.contains("unable to get local issuer certificate"))
            #expect(lane.log.contains("unable to get local issuer certificate"))
        }
    }

    @Test("A certificate for another name is refused", arguments: ["localhost", "127.0.0.1"])
    func wrongName(_ host: String) async throws {
        let peer = try await HTTP2Peer(hosts: "DNS:api.example.com,IP:127.0.0.9")
        let key = try Samples.key()
        try await TestLane.with(peer, host: host) { lane in
            guard case .unanswered(let failure, _) = await lane.send(Samples.request(), key: key) else {
                Issue.record("the certificate was taken")
                return
            }
            #expect(failure.detail.contains("mismatch"))
        }
    }

    @Test("A numeric host works where the certificate names the address")
    func numericHost() async throws {
        let peer = try await HTTP2Peer(hosts: "IP:127.0.0.1")
        let key = try Samples.key()
        try await TestLane.with(peer, host: "127.0.0.1") { lane in
            #expect(await lane.send(Samples.request(), key: key).status == 200)
        }
    }

    @Test("A peer without ALPN h2 is refused")
    func noALPN() async throws {
        let peer = try await HTTP2Peer(#"{"noALPN": true}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            guard case .unanswered(let failure, false) = await lane.send(Samples.request(), key: key) else {
                Issue.record("it was taken")
                return
            }
            #expect(failure.kind == .connectFailed)
            #expect(failure.detail.contains("HTTP/2"))
        }
        #expect(try await peer.lines("request").isEmpty)
    }

    @Test(
        "C35: a peer that never finishes connecting fails a push within the connect time-out",
        arguments: ["noHandshake", "noSettings"]
    )
    func neverConnects(_ fault: String) async throws {
        let peer = try await HTTP2Peer(#"{"\#(fault)": true}"#)
        let key = try Samples.key()
        // The request itself may take longer than the test: only the connect time-out can end it.
        let configure: @Sendable (inout APNsConfiguration) -> Void = {
            $0.connectTimeout = .milliseconds(300)
            $0.requestTimeout = .seconds(600)
        }
        try await TestLane.with(peer, configure: configure) { lane in
            guard case .unanswered(let failure, _) = await lane.send(Samples.request(), key: key) else {
                Issue.record("there was an answer")
                return
            }
            #expect(failure.kind == .connectFailed)
            #expect(failure.detail.contains("in time"))
        }
    }

    @Test("A host that does not exist, and one that refuses, fail a push with the host's name")
    func noHost() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer, host: "no-such-host.invalid") { lane in
            guard case .unanswered(let failure, false) = await lane.send(Samples.request(), key: key) else { return }
            #expect(failure.kind == .connectFailed)
            #expect(failure.detail.contains("no-such-host.invalid"))
        }
        peer.stop()
        try await TestLane.with(peer) { lane in
            guard case .unanswered(let failure, false) = await lane.send(Samples.request(), key: key) else { return }
            #expect(failure.kind == .connectFailed)
            #expect(failure.detail.contains("Connection refused"))
        }
    }
}
