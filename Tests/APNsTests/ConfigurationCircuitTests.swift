import EventLoop
import Testing

@testable import struct APNs.ConfigurationCircuit

@Suite(.timeLimit(.minutes(5)))
struct ConfigurationCircuitTests {
    private static let refusal = ConfigurationCircuit.Refusal(reason: "InvalidProviderToken")
    private static let forbidden = ConfigurationCircuit.Refusal(reason: "Forbidden")
    private static let suspicion = ConfigurationCircuit.Refusal(reason: "Forbidden", isUnconfirmed: true)

    private func second(_ seconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: seconds * 1_000_000_000)
    }

    /// `#expect` calls no mutating methods.
    private final class Circuit {
        private var circuit: ConfigurationCircuit
        var isClosed: Bool { circuit.isClosed }
        var isQuiet: Bool { circuit.isQuiet }

        init(asksAnother: Bool = false) {
            circuit = ConfigurationCircuit(
                shortest: .seconds(30),
                longest: .seconds(900),
                asksAnother: asksAnother,
            )
        }

        func admit(_ recipients: [String?], at now: MonotonicTime) -> ConfigurationCircuit.Admission {
            circuit.admit(recipients, at: now)
        }

        func refused(reason: String, of recipient: String? = nil, at now: MonotonicTime) -> ConfigurationCircuit.Finding
        {
            circuit.refused(reason: reason, of: recipient, at: now)
        }

        func accepted(of recipient: String, at now: MonotonicTime) -> Bool {
            circuit.accepted(of: recipient, at: now)
        }

        func probeEndedWithoutAnswer(at now: MonotonicTime) {
            circuit.probeEndedWithoutAnswer(at: now)
        }
    }

    private var opened: Circuit {
        let circuit = Circuit()
        #expect(circuit.refused(reason: "InvalidProviderToken", at: second(0)) == .opened)
        return circuit
    }

    /// A circuit of a topic, opened by a push to `bad`.
    private var suspecting: Circuit {
        let circuit = Circuit(asksAnother: true)
        #expect(circuit.refused(reason: "Forbidden", of: "bad", at: second(0)) == .opened)
        return circuit
    }

    @Test("C11: a refusal holds everything for 30 s, then one push probes and the rest stays held")
    func probe() {
        let circuit = opened
        #expect(circuit.admit(["a"], at: second(29)) == .nothing(Self.refusal))
        #expect(circuit.admit(["a", "b"], at: second(30)) == .probe(0, Self.refusal))
        #expect(circuit.admit(["b"], at: second(31)) == .nothing(Self.refusal))
    }

    @Test("Probes that are refused are 30 s, 1 min, 2 min ... 15 min apart, and alarm no more", arguments: [nil, "a"])
    func growth(recipient: String?) {
        let circuit = opened
        var now: Int64 = 0
        for delay in [30, 60, 120, 240, 480, 900, 900] as [Int64] {
            #expect(circuit.admit([recipient], at: second(now + delay - 1)) == .nothing(Self.refusal))
            now += delay
            #expect(circuit.admit([recipient], at: second(now)) == .probe(0, Self.refusal))
            // From here on nobody else comes, so that the same may probe again without delay.
            #expect(circuit.refused(reason: "InvalidProviderToken", of: recipient, at: second(now)) == .isOpen)
        }
    }

    @Test("A good answer closes it, and the next refusal starts from 30 s")
    func closing() {
        let circuit = opened
        #expect(circuit.admit(["a"], at: second(30)) == .probe(0, Self.refusal))
        #expect(circuit.refused(reason: "InvalidProviderToken", of: "a", at: second(30)) == .isOpen)
        #expect(circuit.accepted(of: "b", at: second(31)))
        #expect(circuit.isClosed)
        #expect(circuit.admit(["a"], at: second(31)) == .everything)
        #expect(circuit.refused(reason: "Other", of: "c", at: second(40)) == .opened)
        #expect(circuit.admit(["d"], at: second(70)) == .probe(0, .init(reason: "Other")))
    }

    @Test("Refusals of requests that were under way when it opened do not lengthen the hold")
    func underWay() {
        let circuit = opened
        #expect(circuit.refused(reason: "InvalidProviderToken", of: "b", at: second(10)) == .isOpen)
        #expect(circuit.admit(["c"], at: second(30)) == .probe(0, Self.refusal))
    }

    @Test("A probe without an answer lets another try after the same time")
    func unansweredProbe() {
        let circuit = opened
        #expect(circuit.admit(["a"], at: second(30)) == .probe(0, Self.refusal))
        circuit.probeEndedWithoutAnswer(at: second(50))
        #expect(circuit.admit(["a"], at: second(79)) == .nothing(Self.refusal))
        #expect(circuit.admit(["a"], at: second(80)) == .probe(0, Self.refusal))
    }

    // MARK: - Recipients

    @Test("After one recipient's refusal of a topic another's push goes out at once, and its good answer frees all")
    func anotherIsAsked() {
        let circuit = suspecting
        #expect(circuit.admit(["bad"], at: second(0)) == .nothing(Self.suspicion))
        #expect(circuit.admit(["bad", "good", "also good"], at: second(0)) == .probe(1, Self.suspicion))
        #expect(circuit.admit(["also good"], at: second(0)) == .nothing(Self.suspicion))
        #expect(circuit.accepted(of: "good", at: second(1)))
        #expect(circuit.admit(["bad"], at: second(1)) == .everything)
    }

    @Test("What is refused again after others passed is the recipient's own: it holds nobody")
    func recipientAlone() {
        let circuit = suspecting
        _ = circuit.admit(["good"], at: second(0))
        _ = circuit.accepted(of: "good", at: second(1))
        #expect(circuit.refused(reason: "Forbidden", of: "bad", at: second(31)) == .recipientAlone)
        #expect(circuit.isClosed)
        // Nobody passed since: it may be the topic after all.
        #expect(circuit.refused(reason: "Forbidden", of: "bad", at: second(61)) == .opened)
        #expect(circuit.admit(["good"], at: second(61)) == .probe(0, Self.suspicion))
    }

    @Test("Once a refused recipient passed, or after 15 minutes, its next refusal counts as the first")
    func recipientIsForgiven() {
        let circuit = suspecting
        _ = circuit.accepted(of: "good", at: second(1))
        _ = circuit.accepted(of: "bad", at: second(2))
        _ = circuit.accepted(of: "good", at: second(3))
        #expect(circuit.isQuiet)
        #expect(circuit.refused(reason: "Forbidden", of: "bad", at: second(4)) == .opened)
        _ = circuit.accepted(of: "good", at: second(5))
        #expect(!circuit.isQuiet)
        #expect(circuit.refused(reason: "Forbidden", of: "bad", at: second(905)) == .opened)
        _ = circuit.accepted(of: "good", at: second(906))
        _ = circuit.accepted(of: "good", at: second(1806))
        #expect(circuit.isQuiet)
    }

    @Test("A second refused recipient proves the topic: everything is held for 30 s, then a third probes, and a fourth")
    func rotation() {
        let circuit = suspecting
        #expect(circuit.admit(["bad", "b"], at: second(0)) == .probe(1, Self.suspicion))
        #expect(circuit.refused(reason: "Forbidden", of: "b", at: second(0)) == .isOpen)
        #expect(circuit.admit(["c"], at: second(29)) == .nothing(Self.forbidden))
        #expect(circuit.admit(["bad", "b"], at: second(30)) == .nothing(Self.forbidden))
        #expect(circuit.admit(["bad", "b", "c", "d"], at: second(31)) == .probe(2, Self.forbidden))
        #expect(circuit.refused(reason: "Forbidden", of: "c", at: second(31)) == .isOpen)
        #expect(circuit.admit(["bad", "b", "c", "d"], at: second(90)) == .nothing(Self.forbidden))
        #expect(circuit.admit(["bad", "b", "c", "d"], at: second(91)) == .probe(3, Self.forbidden))
        #expect(circuit.accepted(of: "d", at: second(92)))
        #expect(circuit.refused(reason: "Forbidden", of: "b", at: second(93)) == .recipientAlone)
    }

    @Test("Who was refused probes again only after others had their turn; of several, the one refused longest ago")
    func turns() {
        let circuit = suspecting
        _ = circuit.admit(["b"], at: second(0))
        _ = circuit.refused(reason: "Forbidden", of: "b", at: second(1))
        #expect(circuit.admit(["c"], at: second(20)) == .nothing(Self.forbidden))
        // "c" will be back, by 50 s.
        #expect(circuit.admit(["b", "bad"], at: second(90)) == .nothing(Self.forbidden))
        #expect(circuit.admit(["b", "bad"], at: second(91)) == .probe(1, Self.forbidden))
        #expect(circuit.refused(reason: "Forbidden", of: "bad", at: second(91)) == .isOpen)
        // Nobody else came since.
        #expect(circuit.admit(["bad", "b"], at: second(151)) == .probe(1, Self.forbidden))
    }

    @Test("A recipient alone probes itself after 30 s, 1 min ..., and another one at any time")
    func alone() {
        let circuit = suspecting
        #expect(circuit.admit(["bad"], at: second(29)) == .nothing(Self.suspicion))
        #expect(circuit.admit(["bad"], at: second(30)) == .probe(0, Self.suspicion))
        #expect(circuit.refused(reason: "Forbidden", of: "bad", at: second(30)) == .isOpen)
        #expect(circuit.admit(["bad"], at: second(89)) == .nothing(Self.suspicion))
        #expect(circuit.admit(["bad", "good"], at: second(89)) == .probe(1, Self.suspicion))
    }

    @Test("It remembers so many recipients and no more")
    func memory() {
        let circuit = suspecting
        for number in 0..<ConfigurationCircuit.memoryLimit {
            _ = circuit.refused(reason: "Forbidden", of: "\(number)", at: second(1))
        }
        // The first was forgotten, the others were not.
        #expect(circuit.admit(["0", "bad", "1"], at: second(31)) == .probe(1, Self.forbidden))
    }
}
