import LiveActivity
import Testing

@Suite("Dates", .timeLimit(.minutes(1)))
struct DateRulesTests {
    /// In June 2026.
    private static let now: Int64 = 1_781_000_000

    @Test(
        "Unix seconds of any date are plausible; milliseconds, seconds since 2001 and negative values are told apart",
        arguments: [
            (0, .plausible), (1, .plausible), (now, .plausible), (now - 1, .plausible), (1_739_502_750, .plausible),
            (now + 9_999_999, .plausible), (2_147_483_647, .plausible), (4_102_444_800, .plausible),
            (now - 315_576_000, .plausible),
            (-1, .negative), (-5, .negative), (Int64.min, .negative),
            (now * 1000, .milliseconds(likely: now)), (1_739_502_750_000, .milliseconds(likely: 1_739_502_750)),
            (now * 1000 + 999, .milliseconds(likely: now)), (1_796_007_172_000, .milliseconds(likely: 1_796_007_172)),
            (now * 1_000_000, .milliseconds(likely: now)), (now * 1_000_000_000, .milliseconds(likely: now)),
            ((now - 315_576_000) * 1000, .milliseconds(likely: now - 315_576_000)),
            ((now - 315_576_000) * 1000 - 1, .plausible), (Int64.max, .milliseconds(likely: 9_223_372_036)),
            (now - 978_307_200, .referenceDate(likely: now)),
            (now - 978_307_200 + 315_576_000, .referenceDate(likely: now + 315_576_000)),
            (now - 978_307_200 - 315_576_000, .referenceDate(likely: now - 315_576_000)),
            (now - 978_307_200 + 315_576_001, .plausible), (now - 978_307_200 - 315_576_001, .plausible),
        ] as [(Int64, UnixSecondsCheck.Verdict)],
    )
    func classification(value: Int64, expected: UnixSecondsCheck.Verdict) {
        #expect(UnixSecondsCheck.classify(value, now: Self.now) == expected)
    }

    @Test(
        "C64, C65: which dismissal date is sent",
        arguments: [
            (.end, nil, true, now - 1), (.end, nil, false, nil), (.end, 0, true, 0), (.end, 0, false, 0),
            (.end, now + 3600, true, now + 3600), (.end, now + 9_999_999, true, now + 9_999_999),
            (.end, now + 3600, false, now + 3600), (.update, now + 3600, true, nil), (.update, nil, true, nil),
            (.update, 0, false, nil),
        ] as [(ActivityEvent, Int64?, Bool, Int64?)],
    )
    func dismissalDate(event: ActivityEvent, requested: Int64?, defaultIsImmediate: Bool, expected: Int64?) {
        let date = DismissalDate.toSend(
            event: event,
            requested: requested,
            defaultIsImmediate: defaultIsImmediate,
            now: Self.now,
        )
        #expect(date == expected)
    }

    @Test(
        "C64, C65: a date on an update, and one more than four hours ahead, are warned of",
        arguments: [
            (.update, now, .ignoredOnUpdate), (.update, 0, .ignoredOnUpdate), (.update, nil, nil), (.end, nil, nil),
            (.end, 0, nil), (.end, now + 14_400, nil), (.end, now + 14_401, .beyondLongestDelay),
            (.end, now + 9_999_999, .beyondLongestDelay), (.end, Int64.max, .beyondLongestDelay),
        ] as [(ActivityEvent, Int64?, DismissalDate.Warning?)],
    )
    func warnings(event: ActivityEvent, requested: Int64?, expected: DismissalDate.Warning?) {
        #expect(DismissalDate.warning(event: event, requested: requested, now: Self.now) == expected)
    }

    @Test("Updates go out for 8 hours, an end for 12")
    func life() {
        #expect(ActivityLife.duration(for: .update) == .seconds(28_800))
        #expect(ActivityLife.duration(for: .end) == .seconds(43_200))
    }

    @Test(
        "An event is read in exactly Tencent's spelling",
        arguments: ["Update", "END", "start", "events", "", "end "]
    )
    func eventSpelling(text: String) {
        #expect(ActivityEvent(rawValue: text) == nil)
        #expect(ActivityEvent(rawValue: "update") == .update)
        #expect(ActivityEvent(rawValue: "end") == .end)
    }
}
