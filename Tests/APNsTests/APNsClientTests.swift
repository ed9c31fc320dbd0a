import APNs
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)))
struct APNsClientTests {
    @Test("C38: a push has lower-case headers only, each once, and keeps its secrets out of the compression table")
    func headers() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcome = await lane.send(Samples.request(7), key: key)
            #expect(outcome.status == 200)
            #expect(outcome.response?.apnsID?.lowercased() == Samples.request(7).apnsID)
            #expect(await lane.requestsInFlight == 0)

            let line = try #require(try await peer.lines("request").first)
            let headers = try #require(line["request"])
            #expect(headers[":method"]?.string == "POST")
            #expect(headers[":scheme"]?.string == "https")
            #expect(headers[":authority"]?.string == "localhost:\(peer.port)")
            #expect(headers[":path"]?.string == "/3/device/" + Samples.token(7))
            #expect(headers["apns-topic"]?.string == "com.ex.app.push-type.liveactivity")
            #expect(headers["apns-push-type"]?.string == "liveactivity")
            #expect(headers["apns-priority"]?.string == "10")
            #expect(headers["apns-expiration"]?.string == "1796007172")
            #expect(headers["apns-id"]?.string == Samples.request(7).apnsID)
            #expect(headers["apns-collapse-id"]?.string == "message-7")
            #expect(line["body"]?.string == String(decoding: Samples.request(7).payload, as: UTF8.self))

            let names = try #require(line["names"]).elements.compactMap(\.string)
            #expect(names.count == 11 && Set(names).count == 11)
            #expect(names.allSatisfy { $0 == $0.lowercased() })
            let neverIndexed = Set(try #require(line["neverIndexed"]).elements.compactMap(\.string))
            #expect(
                neverIndexed.isSuperset(of: [
                    ":path", "authorization", "apns-id", "apns-expiration", "apns-collapse-id",
                ])
            )
            #expect(!neverIndexed.contains("apns-topic"))
            let connection = try #require(try await peer.lines("alpn").first)
            #expect(connection["alpn"]?.string == "h2")
            #expect(connection["tls"]?.string == "TLSv1.3")
        }
    }

    @Test("C1: one burst carries one provider token")
    func oneToken() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<20), key: key)
            #expect(outcomes.map(\.status) == Array(repeating: 200, count: 20))
            let tokens = try await peer.values(of: "authorization")
            #expect(tokens.count == 1)
            #expect(tokens.allSatisfy { $0.hasPrefix("bearer ") })
        }
    }

    @Test("C10: two keys, and two environments, have connections of their own")
    func ownConnections() async throws {
        let peer = try await HTTP2Peer()
        let (first, second) = (try Samples.key(), try Samples.key(team: "OTHERTEAM1", id: "OTHERKEY01"))
        try await TestLane.with(peer) { lane in
            for number in 0..<3 {
                #expect(await lane.send(Samples.request(number), key: first).status == 200)
                #expect(await lane.send(Samples.request(number), key: second).status == 200)
                #expect(await lane.send(Samples.request(number), key: second, to: .sandbox).status == 200)
            }
        }
        #expect(try await peer.lines("alpn").count == 3)
        for connection in Int64(1)...3 {
            let requests = try await peer.lines("request").filter { $0["connection"]?.integer == connection }
            #expect(Set(requests.compactMap { $0["request"]?["authorization"]?.string }).count == 1)
        }
        // The environments have tokens of their own, since a key may be bound to one.
        #expect(try await peer.values(of: "authorization").count >= 2)
    }

    @Test("A key that APNs refuses does not stall another one")
    func badNeighbour() async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[403, "InvalidProviderToken"]]}"#)
        let (bad, good) = (try Samples.key(), try Samples.key(team: "OTHERTEAM1", id: "OTHERKEY01"))
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(Samples.request(), key: bad).status == 403)
            #expect(await lane.send(Samples.request(), key: good).status == 200)
            #expect(await lane.send(Samples.request(), key: bad) == .held(APNsHold(reason: "InvalidProviderToken")))
        }
    }

    @Test("A 410 brings reason and time")
    func unregistered() async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[410, "Unregistered"]]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let response = try #require(await lane.send(Samples.request(), key: key).response)
            #expect(APNsReaction.of(response) == .tokenDead(invalidSinceMilliseconds: 1_796_007_172_000))
            #expect(response.reason == "Unregistered")
        }
    }

    @Test("C34: a bad token costs one request and keeps the connection")
    func badToken() async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[400, "BadDeviceToken"]]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let response = try #require(await lane.send(Samples.request(), key: key).response)
            #expect(APNsReaction.of(response) == .suspectToken)
            #expect(await lane.send(Samples.request(), key: key).status == 200)
        }
        #expect(try await peer.lines("request").count == 2)
        #expect(try await peer.lines("alpn").count == 1)
    }

    @Test("A value that no header can hold is answered here, and harms nobody")
    func impossibleHeaders() async throws {
        let valid = Samples.request()
        func request(_ change: (inout APNsRequest) -> Void) -> APNsRequest {
            var request = valid
            change(&request)
            return request
        }
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let requests = [
            request { $0.deviceToken = "" },
            request { $0.deviceToken = "aa/../bb" },
            request { $0.topic = "com.ex\r\nx: y" },
            request { $0.apnsID = "" },
            request { $0.collapseID = String(repeating: "é", count: 33) },
        ]
        try await TestLane.with(peer) { lane in
            let outcomes = await lane.sendAll(requests, key: key)
            #expect(
                outcomes.map { $0.response?.reason }
                    == ["BadDeviceToken", "BadDeviceToken", "BadTopic", "BadMessageId", "BadCollapseId"]
            )
            #expect(await lane.send(valid, key: key).status == 200)
        }
        #expect(try await peer.lines("request").count == 1)
    }

    @Test("A closed client answers everything, also what is sent later")
    func closed() async throws {
        let peer = try await HTTP2Peer(#"{"silentTokens": ["\#(Samples.token(1))"]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            async let silent = lane.send(Samples.request(1), key: key)
            _ = try await peer.wait(for: "request")
            await lane.closeClient()
            #expect(await silent == .unanswered(APNsFailure(.closed), mayHaveBeenProcessed: true))
            let late = await lane.send(Samples.request(2), key: key)
            #expect(late == .unanswered(APNsFailure(.closed), mayHaveBeenProcessed: false))
        }
    }

    @Test("A retired key ends its connection when its streams have ended")
    func retired() async throws {
        let peer = try await HTTP2Peer(#"{"hold": 0.1}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            async let underWay = lane.send(Samples.request(1), key: key)
            _ = try await peer.wait(for: "request")
            await lane.retire(key)
            #expect(await underWay.status == 200)
            _ = try await peer.wait(for: "closed")
            #expect(await lane.send(Samples.request(2), key: key).status == 200)
        }
        #expect(try await peer.lines("alpn").count == 2)
    }

    @Test("What waits for a stream when sending is not allowed any more is not sent, what is on one is answered")
    func sendingForbidden() async throws {
        let peer = try await HTTP2Peer(#"{"hold": 0.1, "streams": 1}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.connectionsPerKey = 1 }) { lane in
            async let outcomes = lane.sendAll(Samples.requests(0..<10), key: key)
            _ = try await peer.wait(for: "request")
            await lane.allowSending(false)
            let (sent, kept) = await (outcomes.filter { $0.status == 200 }, outcomes.filter { $0.status != 200 })
            #expect((1..<10).contains(sent.count))
            #expect(kept.allSatisfy { $0 == .unanswered(APNsFailure(.closed), mayHaveBeenProcessed: false) })
            let requests = try await peer.lines("request")
            #expect(requests.count == sent.count)
            await lane.allowSending(true)
            #expect(await lane.send(Samples.request(11), key: key).status == 200)
        }
    }
}
