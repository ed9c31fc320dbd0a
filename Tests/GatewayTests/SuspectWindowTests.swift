import Testing

@testable import Gateway

@Suite("Suspects of a crash", .timeLimit(.minutes(5)))
struct SuspectWindowTests {
    // MARK: - What deaths mean

    @Test(
        "each death narrows the company of a row; two deaths alone, of three, quarantine it",
        arguments: [
            (0, 0, .none, false), (1, 0, .inCompany, false), (2, 0, .inFewCompany, false), (2, 1, .alone, false),
            (3, 0, .alone, false), (3, 1, .alone, false), (3, 2, .alone, true), (5, 2, .alone, true),
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
            #expect(window.admit(40, .inCompany) == 1)
            #expect(window.admit(40, .inCompany) == 0)
            window.finish(.inCompany)
            window.letAlonePass()
        }
        #expect(window.admit(40, .inCompany) == 2)
    }

    @Test("once some went well the number doubles with each round, up to a limit")
    func growth() {
        var window = SuspectWindow()
        var sizes: [Int] = []
        for _ in 0..<(SuspectWindow.caution + 11) {
            let places = window.admit(.max, .inCompany)
            sizes.append(places)
            for _ in 0..<places {
                window.finish(.inCompany)
            }
            window.letAlonePass()
        }
        #expect(sizes.dropFirst(SuspectWindow.caution) == [2, 4, 8, 16, 32, 64, 128, 256, 512, 512, 512])
    }

    @Test("of those that died in company few run at a time, whatever else does")
    func fewCompany() {
        var window = window(finished: 100)
        #expect(window.admit(10, .inCompany) == 10)
        #expect(window.admit(.max, .inFewCompany) == SuspectWindow.fewLimit)
        #expect(window.admit(1, .inFewCompany) == 0)
        #expect(window.admit(10, .inCompany) == 10)
        window.finish(.inFewCompany)
        #expect(window.admit(.max, .inFewCompany) == 1)
    }

    @Test("places that get free are given together, not one by one")
    func steps() {
        var window = window(finished: SuspectWindow.caution + 6)
        #expect(window.size == 8)
        #expect(window.admit(7, .inCompany) == 7)
        #expect(window.admit(1, .inCompany) == 0)
        window.giveBack(1, .inCompany)
        #expect(window.admit(.max, .inCompany) == 2)
    }

    @Test("where there are none left, the next suspects begin one at a time again")
    func rest() {
        var window = window(finished: SuspectWindow.caution + 10)
        #expect(window.admit(5, .inCompany) == 5)
        window.giveBack(4, .inCompany)
        window.rest()
        #expect(window.size == 12)
        window.finish(.inCompany)
        window.rest()
        #expect(window.size == 1)
    }

    @Test("one that must be alone waits for all others, and all others for it")
    func alone() {
        var window = window(finished: SuspectWindow.caution + 10)
        #expect(window.admit(2, .inCompany) == 2)
        var places = [window.admit(1, .alone)]
        window.finish(.inCompany)
        places.append(window.admit(1, .alone))
        window.finish(.inCompany)
        places.append(window.admit(40, .alone))
        #expect(places == [0, 0, 1])
        #expect(window.admit(1, .inCompany) == 0)
        #expect(window.admit(1, .inFewCompany) == 0)
        #expect(window.admit(1, .alone) == 0)
        window.finish(.alone)
        #expect(window.admit(1, .inCompany) == 1)
    }

    @Test("those that must be alone have their turn however many others wait")
    func turns() {
        var window = SuspectWindow()
        for _ in 0..<SuspectWindow.patience {
            #expect(window.admit(1, .inCompany) == 1)
            window.giveBack(0, .inCompany)
            window.finish(.inCompany)
        }
        #expect(window.admit(1, .inCompany) == 0)
        #expect(window.admit(1, .alone) == 1)
        // There is none: the others go on.
        window.giveBack(1, .alone)
        #expect(window.admit(1, .inCompany) == 1)
    }

    private func window(finished: Int) -> SuspectWindow {
        var window = SuspectWindow()
        for _ in 0..<finished {
            _ = window.admit(1, .inCompany)
            window.finish(.inCompany)
            window.letAlonePass()
        }
        return window
    }
}

extension SuspectWindow {
    /// The turn of those that must be alone, of which there are none.
    fileprivate mutating func letAlonePass() {
        giveBack(admit(1, .alone), .alone)
    }
}
