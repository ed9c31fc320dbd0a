import APNs
import LiveActivity
import Testing

@testable import Gateway

@Suite("What a recipient's delivery does with tokens that APNs does not know", .timeLimit(.minutes(5)))
struct RecipientTokenTests {
    private static let unknown = APNsOutcome.refused(400, "BadDeviceToken")

    /// A delivery whose first push is under way, to a token of an environment.
    private static func pushed(
        environment: APNsEnvironment? = nil,
        suspicion: TokenSuspicion,
        hasBadDays: Bool = false,
    ) throws -> DeliveryScript {
        var script = DeliveryScript(try Fixture.message())
        script.suspicion = suspicion
        _ = script.start()
        _ = script.found([try Fixture.activity(environment: environment, hasBadDays: hasBadDays)])
        return script
    }

    @Test("C43: where every token fails the push waits for the operator: no fallback, no day against the token")
    func massFailureHolds() throws {
        var script = try Self.pushed(suspicion: .configurationFault)
        _ = script.answered(0, Self.unknown)
        #expect(script.answered(0, Self.unknown) == ["wait until 31 s: mass_token_failure"])
        // Both environments are asked again.
        #expect(try script.resumed())
        _ = script.start(at: 31)
        let again = script.found([try Fixture.activity(environment: nil)], at: 31)
        #expect(again == ["push activity to phone-1 by 1 in production"])
        #expect(script.answered(0, .accepted, at: 32).count == 2)
    }

    @Test("C43: the longer it lasts the more rarely a push is tried")
    func massFailureBacksOff() throws {
        var script = try Self.pushed(environment: .production, suspicion: .configurationFault)
        _ = script.answered(0, Self.unknown)
        var waits = script.answered(0, Self.unknown)
        for time in [1000, 2000] as [Int64] {
            _ = script.start(at: time)
            _ = script.found([try Fixture.activity()], at: time)
            _ = script.answered(0, Self.unknown, at: time)
            waits += script.answered(0, Self.unknown, at: time)
        }
        #expect(
            waits == [
                "wait until 31 s: mass_token_failure", "wait until 1120 s: mass_token_failure",
                "wait until 2900 s: mass_token_failure",
            ]
        )
    }

    @Test("C44: a token that fails alone has the day counted against it, and the message falls back")
    func tokenFault() throws {
        var script = try Self.pushed(suspicion: .tokenFault)
        #expect(script.answered(0, Self.unknown) == ["push activity to phone-1 by 1 in sandbox"])
        #expect(script.suspects.isEmpty)
        #expect(
            script.answered(0, Self.unknown, at: 2) == [
                "fall back: activity_push_refused", "bad day for activity of phone-1 registered until 1 s",
            ]
        )
        let suspect = try #require(script.suspects.first)
        #expect(script.suspects.count == 1)
        #expect(suspect.environments == [.production, .sandbox])
        #expect(suspect.knownEnvironment == nil)
    }

    @Test("C44: while nothing is proven no day is counted")
    func unproven() throws {
        var script = try Self.pushed(suspicion: .unproven)
        _ = script.answered(0, Self.unknown)
        #expect(script.answered(0, Self.unknown) == ["fall back: activity_push_refused"])
    }

    @Test("C44: an accepted push forgets the days that were counted")
    func acceptedForgets() throws {
        var script = try Self.pushed(environment: .production, suspicion: .tokenFault, hasBadDays: true)
        #expect(
            script.answered(0, .accepted) == [
                "live_activity to phone-1: accepted_by_apns, activity_registered",
                "forget bad days of activity of phone-1",
            ]
        )
    }

    @Test("C44: an activity whose token is quarantined counts as unregistered, and that is said")
    func quarantinedActivity() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        #expect(script.found([try Fixture.activity(verdict: .quarantined)]) == ["look up devices"])
        #expect(script.found(devices: [try Fixture.device()]) == ["push device to phone-1 by 1 in production"])
        #expect(
            script.answered(0, .accepted)
                == ["notification to phone-1 as fallback: accepted_by_apns, activity_token_quarantined"]
        )
    }

    @Test("C44: beside an activity that works a quarantined one gets nothing")
    func quarantinedBesideLive() throws {
        var script = DeliveryScript(try Fixture.message())
        _ = script.start()
        let found = [
            try Fixture.activity(verdict: .quarantined), try Fixture.activity("phone-2", token: 2),
        ]
        #expect(script.found(found) == ["push activity to phone-2 by 1 in production"])
        #expect(script.answered(0, .accepted) == ["live_activity to phone-2: accepted_by_apns, activity_registered"])
    }

    @Test("C44: a device whose token is quarantined gets nothing, and that is recorded")
    func quarantinedDevice() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(nil)))
        #expect(script.start() == ["look up devices"])
        let found = [try Fixture.device(isQuarantined: true), try Fixture.device("phone-2", token: 102)]
        #expect(script.found(devices: found) == ["push device to phone-2 by 1 in production"])
        #expect(
            script.answered(1, .accepted) == [
                "notification to phone-1: nothing_to_send, token_quarantined",
                "notification to phone-2: accepted_by_apns, no_activity_in_message",
            ]
        )
    }
}
