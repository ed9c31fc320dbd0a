import EventLoop
import Testing

@testable import Gateway

@Suite("What is left of an app's rate limits", .timeLimit(.minutes(5)))
struct RateBudgetTests {
    @Test("without limits nothing is refused")
    func noLimits() throws {
        var budget = RateBudget(RateLimits())
        for _ in 1...1000 {
            try budget.takeRequest(of: "administrator", at: .at(0))
            try budget.takeRecipients(500, at: .at(0))
            try budget.takeClientRequest(of: "alice", at: .at(0))
            try budget.takeUserSigFailure(of: "administrator", at: .at(0))
        }
    }

    @Test("a caller over its own limit takes nothing from the others; over the app's, nothing of its own")
    func requests() throws {
        var budget = RateBudget(RateLimits(requestsPerSecond: 4, callerRequestsPerSecond: 2))
        for _ in 1...2 { try budget.takeRequest(of: "a", at: .at(0)) }
        for _ in 1...100 {
            #expect(throws: RateLimitExceeded(.callerRequests, wait: .milliseconds(500))) {
                try budget.takeRequest(of: "a", at: .at(0))
            }
        }
        for _ in 1...2 { try budget.takeRequest(of: "b", at: .at(0)) }
        for _ in 1...100 {
            #expect(throws: RateLimitExceeded(.requests, wait: .milliseconds(250))) {
                try budget.takeRequest(of: "c", at: .at(0))
            }
        }
        // All of its own is there: the app's bucket has gained two.
        for _ in 1...2 { try budget.takeRequest(of: "c", at: .at(0.5)) }
    }

    @Test("recipients are taken all or none")
    func recipients() throws {
        var budget = RateBudget(RateLimits(batchRecipientsPerMinute: 12_000))
        for _ in 1...23 { try budget.takeRecipients(500, at: .at(0)) }
        try budget.takeRecipients(499, at: .at(0))
        #expect(throws: RateLimitExceeded(.batchRecipients, wait: .milliseconds(2495))) {
            try budget.takeRecipients(500, at: .at(0))
        }
        try budget.takeRecipients(1, at: .at(0))
        try budget.takeRecipients(0, at: .at(0))
        #expect(throws: RateLimitExceeded.self) { try budget.takeRecipients(1, at: .at(0)) }
        try budget.takeRecipients(500, at: .at(2.5))
    }

    @Test("requests of phones are counted for each account")
    func clientRequests() throws {
        var budget = RateBudget(RateLimits(clientRequestsPerMinute: 1))
        try budget.takeClientRequest(of: "alice", at: .at(0))
        try budget.takeClientRequest(of: "bob", at: .at(0))
        #expect(throws: RateLimitExceeded(.clientRequests, wait: .seconds(60))) {
            try budget.takeClientRequest(of: "alice", at: .at(0))
        }
    }

    @Test("failures beyond the limit are refused until there was none for a minute")
    func userSigFailures() throws {
        var budget = RateBudget(RateLimits(userSigFailuresPerMinute: 20))
        for _ in 1...20 { try budget.takeUserSigFailure(of: "a", at: .at(0)) }
        for second in [0, 3, 59, 118] {
            #expect(throws: RateLimitExceeded(.userSigFailures, wait: .seconds(60))) {
                try budget.takeUserSigFailure(of: "a", at: .at(Double(second)))
            }
        }
        try budget.takeUserSigFailure(of: "b", at: .at(118))
        try budget.takeUserSigFailure(of: "a", at: .at(178))
    }

    @Test("names that cannot be accounts are not remembered, so that their size costs nothing")
    func longNames() throws {
        var budget = RateBudget(RateLimits(userSigFailuresPerMinute: 1))
        let name = String(repeating: "x", count: 129)
        for _ in 1...10 { try budget.takeUserSigFailure(of: name, at: .at(0)) }
        try budget.takeUserSigFailure(of: String(name.dropLast()), at: .at(0))
        #expect(throws: RateLimitExceeded.self) {
            try budget.takeUserSigFailure(of: String(name.dropLast()), at: .at(0))
        }
    }

    @Test("a limiter outlives changes of its app that are none of its limits")
    func keeping() throws {
        let limits = RateLimits(requestsPerSecond: 1)
        let limiter = try #require(RateLimiter.keeping(nil, for: limits))
        #expect(RateLimiter.keeping(limiter, for: limits) == limiter)
        #expect(RateLimiter.keeping(limiter, for: RateLimits(requestsPerSecond: 2)) != limiter)
        #expect(RateLimiter.keeping(limiter, for: RateLimits()) == nil)
    }
}
