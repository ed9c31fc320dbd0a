import EventLoop
import Testing

@testable import struct APNs.PingSchedule

@Suite(.timeLimit(.minutes(5)))
struct PingScheduleTests {
    private func second(_ seconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: seconds * 1_000_000_000)
    }

    private var schedule: PingSchedule {
        PingSchedule(interval: .seconds(30), timeout: .seconds(10), openedAt: second(0))
    }

    private func expect(
        _ schedule: inout PingSchedule,
        at seconds: Int64,
        _ step: PingSchedule.Step,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) {
        let actual = schedule.step(at: second(seconds))
        #expect(actual == step, sourceLocation: sourceLocation)
    }

    @Test("C22: a silent peer is asked after 30 s and dead 10 s later")
    func silence() {
        var schedule = schedule
        expect(&schedule, at: 29, .wait(until: second(30)))
        expect(&schedule, at: 30, .ping(lookAgainAt: second(40)))
        expect(&schedule, at: 39, .wait(until: second(40)))
        expect(&schedule, at: 40, .dead)
    }

    @Test("C33: a push every 15 s for 10 minutes leaves the connection open, and so does a peer that answers PINGs")
    func quietConnection() {
        var schedule = schedule
        for push in 1...40 {
            expect(&schedule, at: Int64(push) * 15 - 1, .wait(until: second(Int64(push) * 15 + 15)))
            schedule.received(at: second(Int64(push) * 15))
        }
        for minute in Int64(0)..<10 {
            let idle = 600 + minute * 31
            expect(&schedule, at: idle + 30, .ping(lookAgainAt: second(idle + 40)))
            schedule.received(at: second(idle + 31))
        }
    }

    @Test("Any byte puts the next PING off and counts as its answer")
    func anyByte() {
        var schedule = schedule
        schedule.received(at: second(20))
        expect(&schedule, at: 30, .wait(until: second(50)))
        expect(&schedule, at: 50, .ping(lookAgainAt: second(60)))
        schedule.received(at: second(59))
        expect(&schedule, at: 60, .wait(until: second(89)))
    }

    @Test("A request that timed out in full silence asks at once, and holds back what comes")
    func suspicion() {
        var schedule = schedule
        let isNew = schedule.requestTimedOut(submittedAt: second(5))
        #expect(isNew)
        #expect(schedule.isSuspect)
        expect(&schedule, at: 25, .ping(lookAgainAt: second(35)))
        let isNewAgain = schedule.requestTimedOut(submittedAt: second(6))
        #expect(!isNewAgain)
        schedule.received(at: second(26))
        #expect(!schedule.isSuspect)
    }

    @Test("C23: a request that timed out while others were answered casts no doubt")
    func oneSilentStream() {
        var schedule = schedule
        schedule.received(at: second(7))
        let isSuspicious = schedule.requestTimedOut(submittedAt: second(5))
        #expect(!isSuspicious)
        #expect(!schedule.isSuspect)
    }
}
