import Synchronization
import Testing

@testable import Logging

@Suite("What fails again and again", .timeLimit(.minutes(1)))
struct LastingFaultsTests {
    private static func seconds(_ seconds: Double) -> Int64 { Int64(seconds * 1_000_000_000) }

    @Test("A fault is told when it begins, after 10 s with how often it came, then ever more seldom")
    func faultThatGoesOn() {
        var faults = LastingFaults()
        var told: [Double: Int] = [:]
        for half in 0...200 {
            let second = Double(half) / 2
            told[second] = faults.came("away", at: Self.seconds(second))
        }
        #expect(told == [0: 0, 10: 19, 30: 39, 70: 79])
    }

    @Test("The end is told once, with how often it failed; what never failed is not over")
    func faultThatEnds() {
        var faults = LastingFaults()
        #expect(faults.isOver("away") == nil)
        for second in 0..<5 {
            _ = faults.came("away", at: Self.seconds(Double(second)))
        }
        #expect(faults.isOver("other") == nil)
        #expect(faults.isOver("away") == 5)
        #expect(faults.isOver("away") == nil)
    }

    @Test("What works in one place and fails in another is told every 10 s, not at each turn")
    func faultThatComesAndGoes() {
        var faults = LastingFaults()
        var lines = 0
        for tenth in 0..<300 {
            if faults.came("away", at: Self.seconds(Double(tenth) / 10)) != nil { lines += 1 }
            if faults.isOver("away") != nil { lines += 1 }
        }
        #expect(lines == 6)
    }

    @Test("Lines of a fault carry what was left out, whichever copy of the logger writes them")
    func copiesCountTogether() {
        let lines = Mutex<[String]>([])
        let logger = Logger { line in lines.withLock { $0.append(line) } }
        let copy = logger
        for _ in 0..<20 {
            logger.lasting(.warning, "no way", ["host": "a"])
            copy.lasting(.warning, "no way", ["host": "b"])
        }
        copy.over("no way", "a way again")
        logger.over("no way", "a way again")
        let written = lines.withLock { $0 }
        #expect(written.count == 2)
        #expect(written.first?.contains(#""message":"no way","host":"a"}"#) == true)
        #expect(written.last?.contains(#""level":"info","message":"a way again","failures":40}"#) == true)
    }
}
