import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite("EventLoop", .timeLimit(.minutes(5)))
struct EventLoopTests {
    @Test("an actor on a loop runs its jobs on the loop's thread")
    func actorRunsOnLoopThread() async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        let isCurrent = await lane.run { $0.loop.isCurrent }
        #expect(isCurrent)
        #expect(!lane.loop.isCurrent)
    }

    @Test("a task that yields for ever does not keep the loop from its timers")
    func yieldingTaskLeavesRoomForTimers() async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        await lane.run { lane in
            let fired = Fired()
            let timer = EventLoopTimer(on: lane.loop) { fired.flag = true }
            timer.schedule(after: .zero)
            while !fired.flag {
                await Task.yield()
            }
        }
    }

    @Test("a timer that was cancelled does not fire, one that was scheduled again fires once")
    func timerCancelledAndRescheduled() async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        let count = await lane.run { lane in
            let fired = Fired()
            let cancelled = EventLoopTimer(on: lane.loop) { fired.count += 100 }
            cancelled.schedule(after: .zero)
            cancelled.cancel()
            let again = EventLoopTimer(on: lane.loop) { fired.count += 1 }
            again.schedule(after: .seconds(3600))
            again.schedule(after: .zero)
            let last = EventLoopTimer(on: lane.loop) { fired.flag = true }
            last.schedule(after: .milliseconds(5))
            while !fired.flag {
                await Task.yield()
            }
            return fired.count
        }
        #expect(count == 1)
    }

    @Test("blocking work runs elsewhere and returns to the caller's thread")
    func blockingWorkReturnsToLoop() async throws {
        let lane = try LoopActor()
        defer { lane.stop() }
        let (inside, after) = await lane.run { lane in
            let loop = lane.loop
            let inside = await runBlockingWork { loop.isCurrent }
            return (inside, lane.loop.isCurrent)
        }
        #expect(!inside)
        #expect(after)
    }

    private final class Fired {
        var flag = false
        var count = 0
    }
}
