import APNs
import EventLoop
import Metrics
import Synchronization
import Testing

/// Tokens that come from elsewhere, as from a database that all gateways share.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ProviderTokenSourceTests {
    /// Both clocks, and a source that makes a token at each call.
    private final class Shared: Sendable {
        private let minutes = Mutex<Int64>(0)
        private let requests = Mutex<[ProviderTokenRequest]>([])
        private let delay: Duration

        init(delay: Duration = .zero) {
            self.delay = delay
        }

        func advance(minutes: Int64) {
            self.minutes.withLock { $0 += minutes }
        }

        var now: Int64 { minutes.withLock { 1_796_007_172 + $0 * 60 } }
        var asked: [ProviderTokenRequest] { requests.withLock { $0 } }

        var cache: ProviderTokenCache {
            ProviderTokenCache(
                unixSeconds: { self.now },
                monotonic: { self.minutes.withLock { MonotonicTime(nanoseconds: $0 * 60_000_000_000) } },
            )
        }

        func token(_ request: ProviderTokenRequest) async -> Result<IssuedProviderToken, ProviderTokenError> {
            requests.withLock { $0.append(request) }
            try? await Task.sleep(for: delay)
            return Result { () throws(ProviderTokenError) in
                let text = try ProviderToken.mint(request.key, issuedAt: now)
                return IssuedProviderToken(text: text, issuedAt: now, age: .zero)
            }
        }
    }

    @Test("Pushes wait until the token is there, which is asked for once")
    func waits() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let shared = Shared(delay: .milliseconds(300))
        try await TestLane.with(peer, tokens: shared.cache, source: shared.token) { lane in
            #expect(await lane.sendAll(Samples.requests(0..<10), key: key).allSatisfy { $0.status == 200 })
        }
        #expect(shared.asked.count == 1)
        #expect(shared.asked.first?.known == nil)
        #expect(try await peer.values(of: "authorization").count == 1)
    }

    @Test("The metrics show how old a token is, while it may be sent", arguments: [(0, 0), (49, 2940), (59, nil)])
    func age(minutes: Int64, seconds: Int?) async throws {
        let peer = try await HTTP2Peer()
        let shared = Shared()
        let tokens = shared.cache
        let key = try Samples.key()
        try await TestLane.with(peer, tokens: tokens, source: shared.token) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
        }
        shared.advance(minutes: minutes)
        var page = PrometheusText()
        tokens.writeMetrics(to: &page)
        let line = seconds.map { #"livepush_apns_provider_token_age_seconds{environment="production"} \#($0)"# }
        let lines = String(decoding: page.bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines == [line].compactMap { $0 }.map { Substring($0) })
    }

    @Test("Without a token nothing is sent, and the caller may try again")
    func outOfReach() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let failure = ProviderTokenError.unavailable("PostgreSQL is away")
        let isAway = Mutex(true)
        let shared = Shared()
        try await TestLane.with(
            peer,
            tokens: shared.cache,
            source: { request in isAway.withLock { $0 } ? .failure(failure) : await shared.token(request) },
        ) { lane in
            let expected = APNsFailure(.providerTokenUnavailable, detail: "PostgreSQL is away")
            for outcome in await lane.sendAll(Samples.requests(0..<3), key: key) {
                #expect(outcome == .unanswered(expected, mayHaveBeenProcessed: false))
            }
            let sent = try await peer.lines("request")
            #expect(sent.isEmpty)
            isAway.withLock { $0 = false }
            #expect(await lane.send(Samples.request(3), key: key).status == 200)
        }
    }

    @Test("A token of 51 minutes serves while the next one is on its way")
    func renewsBehindTheBack() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let shared = Shared(delay: .milliseconds(200))
        try await TestLane.with(peer, tokens: shared.cache, source: shared.token) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            shared.advance(minutes: 49)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
            #expect(shared.asked.count == 1)
            shared.advance(minutes: 2)
            #expect(await lane.send(Samples.request(2), key: key).status == 200)
            #expect(try await peer.values(of: "authorization").count == 1)
            try await Task.sleep(for: .milliseconds(400))
            #expect(await lane.send(Samples.request(3), key: key).status == 200)
        }
        #expect(try await peer.values(of: "authorization").count == 2)
        #expect(shared.asked.map(\.known?.age) == [nil, .seconds(51 * 60)])
    }

    @Test("C6: a token older than an hour is not sent, its successor is waited for")
    func tooOld() async throws {
        let peer = try await HTTP2Peer()
        let key = try Samples.key()
        let shared = Shared(delay: .milliseconds(100))
        try await TestLane.with(peer, tokens: shared.cache, source: shared.token) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            shared.advance(minutes: 61)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
        }
        let sent = try await peer.lines("request").compactMap { $0["request"]?["authorization"]?.string }
        #expect(sent.count == 2 && Set(sent).count == 2)
    }

    @Test("C5: an old token that is called expired is asked for anew with that word, a fresh one is not")
    func refusedToken() async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[200, null], [403, "ExpiredProviderToken"]]}"#)
        let key = try Samples.key()
        let shared = Shared()
        try await TestLane.with(peer, tokens: shared.cache, source: shared.token) { lane in
            #expect(await lane.send(Samples.request(0), key: key).status == 200)
            shared.advance(minutes: 21)
            #expect(await lane.send(Samples.request(1), key: key).status == 200)
            #expect(shared.asked.map(\.known?.wasRefused) == [nil, true])
            try await peer.set(#"{"answers": [[403, "ExpiredProviderToken"]]}"#)
            #expect(await lane.send(Samples.request(2), key: key).status == 403)
            #expect(await lane.send(Samples.request(3), key: key) == .held(APNsHold(reason: "ExpiredProviderToken")))
        }
        #expect(shared.asked.count == 2)
    }
}
