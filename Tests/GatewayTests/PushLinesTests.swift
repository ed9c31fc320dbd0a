import EventLoop
import Testing

@testable import Gateway

@Suite("Lines of what waits for an APNs that takes no more", .timeLimit(.minutes(5)))
struct PushLinesTests {
    private static let line = "TEAM/KEY/sandbox"

    @Test("without rows in a line nobody waits; who comes later stands behind those that joined or were found")
    func joining() {
        var lines = PushLines()
        #expect(lines.areEmpty)
        lines.join(Self.line)
        #expect(!lines.areEmpty)
        #expect(lines.hasRows(Self.line))
        #expect(!lines.hasRows("TEAM/OTHER/sandbox"))
        // Its row may not have been written when the database was asked.
        lines.found(["TEAM/OTHER/sandbox"])
        #expect(lines.hasRows(Self.line))
        #expect(lines.hasRows("TEAM/OTHER/sandbox"))
        lines.found(["TEAM/OTHER/sandbox"])
        #expect(!lines.hasRows(Self.line))
        lines.found([])
        #expect(lines.areEmpty)
    }

    @Test("of a line of which nothing comes through only a few rows are under way, however long that lasts")
    func probing() {
        var lines = PushLines()
        #expect(lines.room(in: Self.line, at: .at(0)) == PushLines.probes)
        lines.tookUp(PushLines.probes, from: Self.line)
        #expect(lines.room(in: Self.line, at: .at(100)) == 0)
        for _ in 1...3 { lines.ended(in: Self.line, isFinished: false, at: .at(100)) }
        #expect(lines.room(in: Self.line, at: .at(100)) == 3)
        // Others are not held up by that.
        #expect(lines.room(in: "TEAM/OTHER/sandbox", at: .at(100)) == PushLines.probes)
    }

    @Test("what is under way follows what came through in this second and the last, up and down")
    func following() {
        var lines = PushLines()
        lines.tookUp(500, from: Self.line)
        for _ in 1...300 { lines.ended(in: Self.line, isFinished: true, at: .at(10.2)) }
        #expect(lines.room(in: Self.line, at: .at(10.9)) == 300 - 200)
        for _ in 1...100 { lines.ended(in: Self.line, isFinished: true, at: .at(11.1)) }
        #expect(lines.room(in: Self.line, at: .at(11.9)) == 400 - 100)
        #expect(lines.room(in: Self.line, at: .at(12.1)) == 0)
        for _ in 1...90 { lines.ended(in: Self.line, isFinished: false, at: .at(12.2)) }
        #expect(lines.room(in: Self.line, at: .at(12.3)) == 100 - 10)
        #expect(lines.room(in: Self.line, at: .at(13)) == PushLines.probes - 10)
    }

    @Test("with a steady APNs of any speed the lane holds what it answers in two seconds at most, and never runs dry")
    func steady() {
        for perTenth in [3, 30, 300] {
            var lines = PushLines()
            var underWay = 0
            var answered = 0
            for tenth in 0..<300 {
                let now = MonotonicTime.at(Double(tenth) / 10)
                let room = lines.room(in: Self.line, at: now)
                lines.tookUp(room, from: Self.line)
                underWay += room
                let answers = min(underWay, perTenth)
                for _ in 0..<answers { lines.ended(in: Self.line, isFinished: true, at: now) }
                underWay -= answers
                #expect(underWay <= max(20 * perTenth, PushLines.probes))
                if tenth >= 100 { answered += answers }
            }
            #expect(answered == 200 * perTenth)
        }
    }

    @Test("more is taken up when half of what may be under way has left, if the line has rows at all")
    func runningLow() {
        var lines = PushLines()
        lines.join(Self.line)
        lines.tookUp(100, from: Self.line)
        for _ in 1...60 { lines.ended(in: Self.line, isFinished: true, at: .at(0)) }
        #expect(!lines.runsLow(Self.line, at: .at(0)))
        for _ in 1...7 { lines.ended(in: Self.line, isFinished: true, at: .at(0)) }
        #expect(lines.runsLow(Self.line, at: .at(0)))
        #expect(!lines.runsLow("TEAM/OTHER/sandbox", at: .at(0)))
        lines.found([])
        lines.found([])
        #expect(!lines.runsLow(Self.line, at: .at(0)))
    }

    @Test("work that became another's leaves no trace")
    func dropped() {
        var lines = PushLines()
        lines.tookUp(PushLines.probes, from: Self.line)
        lines.dropWork()
        #expect(lines.room(in: Self.line, at: .at(0)) == PushLines.probes)
        lines.ended(in: Self.line, isFinished: true, at: .at(0))
        #expect(lines.room(in: Self.line, at: .at(0)) == PushLines.probes)
    }
}
