import ClientAPI
import EventLoop
import Gateway
import Testing

@Suite("Rate limits under /v1", .serialized, .timeLimit(.minutes(5)))
struct RateLimitTests {
    @Test("over the limit of an account: 429 with Retry-After, before the body is read; others go on")
    func clientRequests() async throws {
        try await Phone.run { _, phone in
            phone.gateway.rateLimiter = RateLimiter(RateLimits(clientRequestsPerMinute: 2)) {
                MonotonicTime(nanoseconds: 0)
            }
            #expect(try await phone.putDevice().status == 200)
            #expect(try await phone.registrations().status == 200)
            let refused = try await phone.send("PUT", "/v1/devices/phone-1", body: "not even JSON")
            #expect(refused.status == 429)
            #expect(refused.code == "rate_limited")
            #expect(refused.headers["Retry-After"] == "30")
            #expect(refused.root["error"]?["message"]?.string?.hasSuffix("(client-requests-per-minute)") == true)
            #expect(refused.headers["WWW-Authenticate"] == nil)

            #expect(try await phone.registrations(of: "bob").status == 200)
            let forOther = try await phone.send("GET", "/v1/registrations?account=alice", as: "administrator")
            #expect(forOther.status == 429, "it counts for whom the request acts")
        }
    }

    @Test("a stranger takes nothing from an account's limit")
    func strangersDoNotCount() async throws {
        try await Phone.run { _, phone in
            phone.gateway.rateLimiter = RateLimiter(RateLimits(clientRequestsPerMinute: 1)) {
                MonotonicTime(nanoseconds: 0)
            }
            let expired = Phone.signature(of: "alice", sdkAppID: phone.sdkAppID, madeAt: 0)
            let answer = try await phone.send("GET", "/v1/registrations", authorization: "Bearer \(expired)", body: "")
            #expect(answer.code == "usersig_expired")
            #expect(try await phone.send("GET", "/v1/registrations?account=alice", as: "bob").code == "forbidden")
            #expect(try await phone.registrations().status == 200)
        }
    }
}
