import Testing

@testable import Gateway

@Suite("Suspects of a crash", .timeLimit(.minutes(1)))
struct SuspectWindowTests {
    // MARK: - What deaths mean

    @Test(
        "a row runs with all others, then among few suspects, then alone; two deaths alone quarantine it",
        arguments: [
            (0, 0, .none, false), (1, 0, .inFewCompany, false), (2, 0, .alone, false), (2, 1, .alone, false),
            (3, 0, .alone, false), (3, 1, .alone, false), (3, 2, .alone, true), (4, 2, .alone, true),
            (50, 1, .alone, false),
        ] as [(Int64, Int64, InstanceDeaths.Isolation, Bool)]
    )
    func deaths(number: Int64, alone: Int64, isolation: InstanceDeaths.Isolation, quarantines: Bool) {
        let deaths = InstanceDeaths(number: number, alone: alone)
        #expect(deaths.isolation == isolation)
        #expect(deaths.quarantines == quarantines)
    }

    // MARK: - How many at a time

    @Test("the first suspects begin one at a time")
    func caution() {
        var window = SuspectWindow()
        for _ in 0..<SuspectWindow.caution {
            #expect(window.admit(40) == 1)
            #expect(window.admit(40) == 0)
            window.finish()
        }
        #expect(window.admit(40) == 2)
    }

    @Test("once many went well the number doubles with each round, up to a limit")
    func growth() {
        var window = SuspectWindow()
        var sizes: [Int] = []
        for _ in 0..<(SuspectWindow.caution + 12) {
            let places = window.admit(.max)
            sizes.append(places)
            for _ in 0..<places {
                window.finish()
            }
        }
        #expect(sizes.dropFirst(SuspectWindow.caution) == [2, 4, 8, 16, 32, 64, 128, 256, 512, 512, 512, 512])
    }

    @Test("places for which there is nothing are given back, and then the next suspects begin one at a time again")
    func rest() {
        var window = window(finished: SuspectWindow.caution + 10)
        #expect(window.admit(5) == 5)
        window.giveBack(3)
        #expect(window.running == 2)
        #expect(window.size == 12)
        window.finish()
        window.finish()
        #expect(window.admit(1) == 1)
        window.giveBack(1)
        #expect(window.size == 1)
    }

    @Test("one that must be alone waits for all others, and all others for it")
    func alone() {
        var window = window(finished: SuspectWindow.caution + 10)
        #expect(window.admit(2) == 2)
        var mayBeAlone = [window.admitAlone()]
        window.finish()
        mayBeAlone.append(window.admitAlone())
        window.finish()
        mayBeAlone.append(window.admitAlone())
        #expect(window.admit(1) == 0)
        mayBeAlone.append(window.admitAlone())
        #expect(mayBeAlone == [false, false, true, false])
        window.finish()
        #expect(window.admit(1) == 1)
    }

    private func window(finished: Int) -> SuspectWindow {
        var window = SuspectWindow()
        for _ in 0..<finished {
            _ = window.admit(1)
            window.finish()
        }
        return window
    }
}
