import EventLoop
import Testing

@testable import Gateway

@Suite("Who is alive", .timeLimit(.minutes(5)))
struct InstanceLivenessTests {
    /// An instance that is told of heartbeats, in seconds.
    private struct Watch {
        var liveness = InstanceLiveness(takeoverAfter: .seconds(25), sendStopAfter: .seconds(10))

        mutating func beat(
            at seconds: Double,
            answeredAfter delay: Double = 0,
            isKnown: Bool = true,
            _ counters: [Int64: Int64] = [:],
        ) -> InstanceLiveness.Action {
            liveness.heartbeat(
                sentAt: time(seconds),
                receivedAt: time(seconds + delay),
                isKnown: isKnown,
                counters: counters,
            )
        }

        mutating func begin(at seconds: Double) {
            liveness.heartbeatBegins(at: time(seconds))
        }

        func isAnswered(at seconds: Double) -> Bool {
            liveness.isAnswered(at: time(seconds))
        }

        func maySend(at seconds: Double) -> Bool {
            liveness.maySend(at: time(seconds))
        }

        private func time(_ seconds: Double) -> MonotonicTime {
            MonotonicTime(nanoseconds: Int64(seconds * 1_000_000_000))
        }
    }

    // MARK: - Others

    @Test("a counter that stands still for 25 s means death, not earlier")
    func death() {
        var watch = Watch()
        for second in stride(from: 0.0, to: 25, by: 2) {
            #expect(watch.beat(at: second, [7: 100, 8: Int64(second)]) == .takeOver([]))
        }
        #expect(watch.beat(at: 24.9, [7: 100, 8: 1]) == .takeOver([]))
        #expect(watch.beat(at: 25, [7: 100, 8: 2]) == .takeOver([7]))
    }

    @Test("a counter that moved once starts the 25 s afresh")
    func moved() {
        var watch = Watch()
        _ = watch.beat(at: 0, [7: 100])
        _ = watch.beat(at: 20, [7: 101])
        #expect(watch.beat(at: 44, [7: 101]) == .takeOver([]))
        #expect(watch.beat(at: 45, [7: 101]) == .takeOver([7]))
    }

    @Test("the lost connection starts the 25 s afresh: what others did meanwhile was not seen")
    func connectionLost() {
        var watch = Watch()
        _ = watch.beat(at: 0, [7: 100])
        watch.liveness.connectionLost()
        #expect(watch.beat(at: 25, [7: 100]) == .takeOver([]))
        #expect(watch.beat(at: 49, [7: 100]) == .takeOver([]))
        #expect(watch.beat(at: 50, [7: 100]) == .takeOver([7]))
    }

    @Test("the 25 s lie between an answer that came and a question that was sent after them")
    func slowAnswers() {
        var watch = Watch()
        // Seen at 3 s at the latest; a question sent at 27 s proves only 24 s, however late its answer comes.
        _ = watch.beat(at: 0, answeredAfter: 3, [7: 100])
        #expect(watch.beat(at: 27, answeredAfter: 20, [7: 100]) == .takeOver([]))
        #expect(watch.beat(at: 28, [7: 100]) == .takeOver([7]))
    }

    @Test("several dead instances are taken over together, in order; one that is gone is forgotten")
    func several() {
        var watch = Watch()
        _ = watch.beat(at: 0, [9: 1, 7: 1, 8: 1])
        _ = watch.beat(at: 10, [9: 1, 7: 1])
        #expect(watch.beat(at: 30, [9: 1, 7: 1, 8: 1]) == .takeOver([7, 9]))
    }

    // MARK: - Oneself

    @Test("before its first heartbeat an instance does not send")
    func beforeFirst() {
        #expect(!Watch().maySend(at: 0))
    }

    @Test("sending stops 10 s after the last heartbeat was sent, not answered")
    func sendStop() {
        var watch = Watch()
        _ = watch.beat(at: 100, answeredAfter: 4)
        #expect(watch.maySend(at: 104))
        #expect(watch.maySend(at: 109.9))
        #expect(!watch.maySend(at: 110))
    }

    @Test("a lost connection alone does not stop sending")
    func sendWithoutConnection() {
        var watch = Watch()
        _ = watch.beat(at: 0)
        watch.liveness.connectionLost()
        #expect(watch.maySend(at: 9))
        #expect(!watch.maySend(at: 10))
    }

    @Test("requests go elsewhere after a heartbeat that failed, until one comes through")
    func failedHeartbeat() {
        var watch = Watch()
        watch.begin(at: 0)
        _ = watch.beat(at: 0)
        watch.liveness.heartbeatEnds(failed: false)
        #expect(watch.isAnswered(at: 1))
        watch.begin(at: 2)
        watch.liveness.heartbeatEnds(failed: true)
        #expect(!watch.isAnswered(at: 2.1))
        #expect(watch.maySend(at: 2.1))
        watch.begin(at: 4)
        #expect(!watch.isAnswered(at: 4))
        _ = watch.beat(at: 4)
        watch.liveness.heartbeatEnds(failed: false)
        #expect(watch.isAnswered(at: 4.1))
    }

    @Test("requests go elsewhere while a heartbeat has no answer for 1.5 s; a slow one changes nothing")
    func overdueHeartbeat() {
        var watch = Watch()
        watch.begin(at: 0)
        #expect(!watch.isAnswered(at: 0))
        _ = watch.beat(at: 0, answeredAfter: 1.4)
        watch.liveness.heartbeatEnds(failed: false)
        #expect(watch.isAnswered(at: 1.4))
        watch.begin(at: 3.4)
        #expect(watch.isAnswered(at: 4.8))
        #expect(!watch.isAnswered(at: 4.9))
        _ = watch.beat(at: 3.4, answeredAfter: 3)
        watch.liveness.heartbeatEnds(failed: false)
        #expect(watch.isAnswered(at: 6.4))
        // Without any heartbeat, as while the keeper's thread stands still, it ends with the right to send.
        #expect(watch.isAnswered(at: 13.3))
        #expect(!watch.isAnswered(at: 13.4))
    }

    @Test("an instance that others declared dead stops at once and becomes a new one")
    func declaredDead() {
        var watch = Watch()
        _ = watch.beat(at: 0, [7: 1])
        #expect(watch.beat(at: 2, isKnown: false, [7: 1]) == .becomeNewInstance)
        #expect(!watch.maySend(at: 2))
        #expect(watch.beat(at: 26, [7: 1]) == .takeOver([]))
        #expect(watch.maySend(at: 27))
    }
}
