import APNs
import EventLoop
import Synchronization
import Testing

/// What APNs answers to provider tokens (cases A), with clocks that tests move.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ProviderTokenFaultTests {
    /// Both clocks of a token cache.
    private final class Clock: Sendable {
        private let minutes = Mutex<Int64>(0)

        func advance(minutes: Int64) {
            self.minutes.withLock { $0 += minutes }
        }

        func cache() -> ProviderTokenCache {
            ProviderTokenCache(
                unixSeconds: { self.minutes.withLock { 1_796_007_172 + $0 * 60 } },
                monotonic: { self.minutes.withLock { MonotonicTime(nanoseconds: $0 * 60_000_000_000) } },
            )
        }
    }

    @Test("C2, C6: the token changes once after 51 or 61 minutes, for all connections", arguments: [Int64(51), 61])
    func renewal(minutes: Int64) async throws {
        let peer = try await HTTP2Peer(#"{"streams": 2, "hold": 0.02}"#)
        let key = try Samples.key()
        let clock = Clock()
        try await TestLane.with(peer, tokens: clock.cache(), configure: { $0.connectionsPerKey = 5 }) { lane in
            #expect(await lane.sendAll(Samples.requests(0..<50), key: key).allSatisfy { $0.status == 200 })
            #expect(try await peer.lines("request").count == 50)
            let before = try await peer.values(of: "authorization")
            #expect(before.count == 1)
            #expect(try await peer.lines("alpn").count == 5)
            clock.advance(minutes: minutes)
            #expect(await lane.sendAll(Samples.requests(50..<100), key: key).allSatisfy { $0.status == 200 })
            let after = try await peer.values(of: "authorization")
            #expect(after.count == 2)
            let second = try #require(try await peer.lines("request")[50]["request"]?["authorization"]?.string)
            #expect(!before.contains(second))
        }
    }

    @Test("C3: a token is as old as its first use, not as the process")
    func lazyMint() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let clock = Clock()
        try await TestLane.with(peer, tokens: clock.cache()) { lane in
            clock.advance(minutes: 45)
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            clock.advance(minutes: 10)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
        }
        #expect(try await peer.values(of: "authorization").count == 1)
    }

    @Test("C4: three hours with a push a minute make tokens 40 to 59 minutes apart")
    func threeHours() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let clock = Clock()
        var previous = Set<String>()
        var changes: [Int] = []
        try await TestLane.with(peer, tokens: clock.cache()) { lane in
            for minute in 0..<180 {
                #expect(await lane.send(Samples.request(minute), key: key).status == 200)
                let tokens = try await peer.values(of: "authorization")
                if tokens != previous {
                    changes.append(minute)
                }
                previous = tokens
                clock.advance(minutes: 1)
            }
        }
        #expect(changes.first == 0)
        #expect(zip(changes, changes.dropFirst()).allSatisfy { (40...59).contains($1 - $0) })
        #expect(changes.count == 4)
    }

    @Test("C5: a peer that calls every token expired gets one, then nothing")
    func everyTokenIsExpired() async throws {
        let peer = try await HTTP2Peer(#"{"always": [403, "ExpiredProviderToken"]}"#)
        let key = try Samples.key()
        let clock = Clock()
        try await TestLane.with(peer, tokens: clock.cache()) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<10), key: key)
            #expect(outcomes[0].status == 403)
            #expect(outcomes.dropFirst().allSatisfy { $0 == .held(APNsHold(reason: "ExpiredProviderToken")) })
            #expect(lane.log.contains("ExpiredProviderToken"))
        }
        #expect(try await peer.values(of: "authorization").count == 1)
        #expect(try await peer.lines("request").count == 1)
    }

    @Test("C5: a peer that calls every token expired gets one more after 20 minutes, however much there is to send")
    func everyTokenIsExpiredForLong() async throws {
        let peer = try await HTTP2Peer(#"{"always": [403, "ExpiredProviderToken"]}"#)
        let key = try Samples.key()
        let clock = Clock()
        try await TestLane.with(
            peer,
            tokens: clock.cache(),
            configure: {
                $0.shortestHold = .milliseconds(50)
                $0.longestHold = .milliseconds(50)
            }
        ) { lane in
            for round in 1...3 {
                // A probe that is answered, and two more of the same token.
                for _ in 0..<3 {
                    let before = try await peer.lines("request").count
                    while try await peer.lines("request").count == before {
                        _ = await lane.sendAll(Samples.requests(0..<5), key: key)
                    }
                }
                #expect(try await peer.values(of: "authorization").count == round)
                clock.advance(minutes: 21)
            }
        }
    }

    @Test("C8: a token that expires with ten pushes in flight is replaced, and each is delivered once")
    func expiresInFlight() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let clock = Clock()
        try await TestLane.with(peer, tokens: clock.cache()) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            clock.advance(minutes: 25)
            try await peer.set(#"{"expireInFlight": 10, "hold": 0.3}"#)
            let outcomes = await lane.sendAll(Samples.requests(1..<11), key: key)
            #expect(outcomes.map(\.status) == Array(repeating: 200, count: 10))
        }
        let requests = try await peer.lines("request")
        #expect(requests.filter { $0["connection"]?.integer != 1 }.count == 10)
        #expect(requests.count == 21)
        #expect(try await peer.values(of: "authorization").count == 2)
    }

    @Test("C9: a connection that keeps refusing after an expired token is left")
    func wedgedConnection() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let clock = Clock()
        try await TestLane.with(peer, tokens: clock.cache()) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            clock.advance(minutes: 25)
            try await peer.set(#"{"answers": [[403, "ExpiredProviderToken"]], "wedge": true}"#)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
            #expect(await lane.send(Samples.request(2), key: key).status == 200)
        }
        #expect(try await peer.lines("alpn").count == 2)
    }

    @Test("C11: with a wrong key ten messages cost one request, and the others are held")
    func wrongKey() async throws {
        let peer = try await HTTP2Peer(#"{"always": [403, "InvalidProviderToken"]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<10), key: key)
            #expect(outcomes.filter { $0.status == 403 }.count == 1)
            #expect(outcomes.filter { $0 == .held(APNsHold(reason: "InvalidProviderToken")) }.count == 9)
        }
        #expect(try await peer.lines("request").count == 1)
    }

    @Test("C15: after a revoked key was replaced its connection is closed and the new key sends")
    func replacedKey() async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[200, null], [403, "InvalidProviderToken"]]}"#)
        let (revoked, new) = (try Samples.key(), try Samples.key(id: "NEWKEY0001"))
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(Samples.request(0), key: revoked).status == 200)
            #expect(await lane.send(Samples.request(1), key: revoked).status == 403)
            await lane.retire(revoked)
            _ = try await peer.wait(for: "closed")
            #expect(await lane.send(Samples.request(2), key: new).status == 200)
        }
    }

    @Test(
        "C12: both spellings of the wrong environment hold the key",
        arguments: ["BadEnvironmentKeyInToken", "BadEnvironmentKeyIdInToken"]
    )
    func wrongEnvironment(_ reason: String) async throws {
        let peer = try await HTTP2Peer(#"{"always": [403, "\#(reason)"]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            let response = try #require(await lane.send(Samples.request(0), key: key).response)
            #expect(APNsReaction.of(response) == .configurationFault)
            #expect(await lane.send(Samples.request(1), key: key) == .held(APNsHold(reason: reason)))
        }
    }

    @Test("A held key is probed with one push, and one good answer lets all through")
    func probe() async throws {
        let peer = try await HTTP2Peer(
            #"{"answers": [[403, "InvalidProviderToken"], [403, "InvalidProviderToken"]]}"#
        )
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.shortestHold = .milliseconds(200) }) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 403)
            try await Task.sleep(for: .milliseconds(250))
            let probing = await lane.sendAll(Samples.requests(1..<4), key: key)
            #expect(probing[0].status == 403)
            #expect(probing.dropFirst().allSatisfy { $0 == .held(APNsHold(reason: "InvalidProviderToken")) })
            try await Task.sleep(for: .milliseconds(450))
            #expect(await lane.send(Samples.request(4), key: key).status == 200)
            #expect(await lane.sendAll(Samples.requests(5..<9), key: key).allSatisfy { $0.status == 200 })
        }
    }

    @Test("TooManyProviderTokenUpdates moves to another connection with the same token")
    func tooManyUpdates() async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[429, "TooManyProviderTokenUpdates"]]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
        }
        #expect(try await peer.lines("alpn").count == 2)
        #expect(try await peer.values(of: "authorization").count == 1)
    }

    @Test("503 Shutdown is repeated once on another connection")
    func shutdown() async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[503, "Shutdown"]]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
        }
        #expect(try await peer.lines("alpn").count == 2)
        let identifiers = try await peer.values(of: "apns-id")
        #expect(identifiers.count == 1)
    }
}
