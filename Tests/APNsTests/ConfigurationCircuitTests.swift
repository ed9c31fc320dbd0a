import EventLoop
import Testing

@testable import struct APNs.ConfigurationCircuit

@Suite(.timeLimit(.minutes(5)))
struct ConfigurationCircuitTests {
    private func second(_ seconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: seconds * 1_000_000_000)
    }

    private var opened: ConfigurationCircuit {
        var circuit = ConfigurationCircuit(shortest: .seconds(30), longest: .seconds(900))
        let isNew = circuit.refused(reason: "InvalidProviderToken", at: second(0))
        #expect(isNew)
        return circuit
    }

    @Test("C11: a refusal holds everything for 30 s, then one push probes and the rest stays held")
    func probe() {
        var circuit = opened
        #expect(circuit.admission(at: second(29)) == .nothing(reason: "InvalidProviderToken"))
        #expect(circuit.admission(at: second(30)) == .probe(reason: "InvalidProviderToken"))
        circuit.probeStarted()
        #expect(circuit.admission(at: second(31)) == .nothing(reason: "InvalidProviderToken"))
    }

    @Test("Probes that are refused are 30 s, 1 min, 2 min ... 15 min apart, and alarm no more")
    func growth() {
        var circuit = opened
        var now: Int64 = 0
        for delay in [30, 60, 120, 240, 480, 900, 900] as [Int64] {
            #expect(circuit.admission(at: second(now + delay - 1)) == .nothing(reason: "InvalidProviderToken"))
            now += delay
            #expect(circuit.admission(at: second(now)) == .probe(reason: "InvalidProviderToken"))
            circuit.probeStarted()
            let isNew = circuit.refused(reason: "InvalidProviderToken", at: second(now))
            #expect(!isNew)
        }
    }

    @Test("A good answer closes it, and the next refusal starts from 30 s")
    func closing() {
        var circuit = opened
        circuit.probeStarted()
        _ = circuit.refused(reason: "InvalidProviderToken", at: second(30))
        circuit.accepted()
        #expect(circuit.isClosed)
        #expect(circuit.admission(at: second(31)) == .everything)
        _ = circuit.refused(reason: "Other", at: second(40))
        #expect(circuit.admission(at: second(70)) == .probe(reason: "Other"))
    }

    @Test("Refusals of requests that were under way when it opened do not lengthen the hold")
    func underWay() {
        var circuit = opened
        let isNew = circuit.refused(reason: "InvalidProviderToken", at: second(10))
        #expect(!isNew)
        #expect(circuit.admission(at: second(30)) == .probe(reason: "InvalidProviderToken"))
    }

    @Test("A probe without an answer lets another try after the same time")
    func unansweredProbe() {
        var circuit = opened
        circuit.probeStarted()
        circuit.probeEndedWithoutAnswer(at: second(50))
        #expect(circuit.admission(at: second(79)) == .nothing(reason: "InvalidProviderToken"))
        #expect(circuit.admission(at: second(80)) == .probe(reason: "InvalidProviderToken"))
    }
}
