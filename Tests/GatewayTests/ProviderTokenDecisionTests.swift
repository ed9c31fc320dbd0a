import APNs
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(5)))
struct ProviderTokenDecisionTests {
    /// What is decided on a stored token of so many minutes by PostgreSQL's clock.
    private func decision(
        _ minutes: Int64,
        opens: Bool = true,
        known: (issuedAt: Int64, minutes: Int64, wasRefused: Bool)? = nil,
    ) throws -> ProviderTokenDecision {
        let stored = ProviderTokenDecision.Stored(
            text: opens ? "jwt" : nil,
            issuedAt: 1_796_007_172,
            age: .seconds(minutes * 60),
        )
        let request = ProviderTokenRequest(
            key: try Fixture.key(),
            environment: .sandbox,
            known: known.map {
                ProviderTokenRequest.Known(
                    issuedAt: $0.issuedAt,
                    age: .seconds($0.minutes * 60),
                    wasRefused: $0.wasRefused,
                )
            },
        )
        return ProviderTokenDecision(on: stored, for: request, ProviderTokenRules())
    }

    private func isUsed(_ decision: ProviderTokenDecision) -> Bool {
        if case .use = decision { true } else { false }
    }

    @Test("Nothing stored: one is made")
    func nothingStored() throws {
        let request = ProviderTokenRequest(key: try Fixture.key(), environment: .sandbox)
        #expect(ProviderTokenDecision(on: nil, for: request, ProviderTokenRules()) == .mint)
    }

    @Test("C4: the stored one serves until it is 50 minutes old", arguments: [0, 19, 49, 50, 61, -60] as [Int64])
    func age(minutes: Int64) throws {
        #expect(try isUsed(decision(minutes)) == (minutes < 50))
    }

    @Test("C5: one that APNs refused is replaced from 20 minutes on, another one in its place is used")
    func refused() throws {
        #expect(try isUsed(decision(19, known: (1_796_007_172, 19, true))))
        #expect(try decision(20, known: (1_796_007_172, 20, true)) == .mint)
        #expect(try isUsed(decision(25, known: (1_796_000_000, 90, true))))
    }

    @Test("A step of PostgreSQL's clock makes no token older or younger that the process has seen")
    func steppedClock() throws {
        #expect(try isUsed(decision(65, known: (1_796_007_172, 5, false))))
        #expect(try decision(-55, known: (1_796_007_172, 50, false)) == .mint)
        #expect(try isUsed(decision(65, known: (1_796_007_172, 19, true))))
    }

    @Test("One that does not open is waited for, until it may be replaced")
    func unreadable() throws {
        #expect(try decision(19, opens: false) == .wait)
        #expect(try decision(20, opens: false) == .mint)
    }
}
