import Testing

@testable import Gateway

@Suite("When a push is tried again", .timeLimit(.minutes(5)))
struct RetryScheduleTests {
    @Test(
        "C90: the documented delays, the last of which repeats",
        arguments: [(1, 1), (2, 5), (3, 30), (4, 120), (5, 300), (6, 900), (7, 900), (1000, 900), (0, 1), (-3, 1)],
    )
    func delays(attempts: Int, seconds: Int) {
        #expect(RetrySchedule.standard.delay(afterAttempts: attempts, jitter: 0) == .seconds(seconds))
    }

    @Test(
        "jitter adds up to a quarter, and no more whatever it is",
        arguments: [(0.0, 1000), (0.5, 1125), (1, 1250), (7, 1250), (-1, 1000)]
    )
    func jitter(jitter: Double, milliseconds: Int) {
        #expect(RetrySchedule.standard.delay(afterAttempts: 1, jitter: jitter) == .milliseconds(milliseconds))
    }

    @Test(
        "after 429 the delay doubles from 10 s to the longest, unless APNs says when",
        arguments: [
            (1, nil, 10), (2, nil, 20), (3, nil, 40), (7, nil, 640), (8, nil, 900), (1000, nil, 900), (0, nil, 10),
            (1, 0, 0), (5, 3, 3), (1, 86_400, 86_400), (1, .max, 86_400), (1, -1, 10),
        ] as [(Int, Int64?, Int)],
    )
    func tooManyRequests(attempts: Int, retryAfter: Int64?, seconds: Int) {
        let delay = RetrySchedule.standard.delayAfterTooManyRequests(
            attempts: attempts,
            retryAfter: retryAfter,
            jitter: 0,
        )
        #expect(delay == .seconds(seconds))
    }

    @Test(
        "after 5xx what APNs asks for counts where it is longer than the schedule, up to a day",
        arguments: [
            (1, nil, 1), (1, 3, 3), (1, 0, 1), (1, -7, 1), (4, 3, 120), (4, 600, 600), (1, .max, 86_400),
        ] as [(Int, Int64?, Int)],
    )
    func retryAfter(attempts: Int, retryAfter: Int64?, seconds: Int) {
        let delay = RetrySchedule.standard.delay(afterAttempts: attempts, retryAfter: retryAfter, jitter: 0)
        #expect(delay == .seconds(seconds))
    }

    @Test("a schedule without delays takes a second")
    func empty() {
        let schedule = RetrySchedule(delays: [], tooManyRequestsDelay: .seconds(2), holdDelay: .seconds(3))
        #expect(schedule.delay(afterAttempts: 4, jitter: 0) == .seconds(1))
        #expect(schedule.delayAfterTooManyRequests(attempts: 4, retryAfter: nil, jitter: 0) == .seconds(2))
    }
}
