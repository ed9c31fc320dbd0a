import LiveActivity
import Testing

@Suite("Dates", .timeLimit(.minutes(5)))
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
        "C64, C65: a dismissal date in another unit is refused, one on an update and one too far ahead are warned of",
        arguments: [
            (.update, now, .dismissalDateIgnored), (.update, 0, .dismissalDateIgnored), (.update, nil, nil),
            (.start, now, .dismissalDateIgnored), (.end, nil, nil), (.end, 0, nil), (.end, now + 14_400, nil),
            (.end, now + 14_401, .dismissalDateFar), (.end, now + 9_999_999, .dismissalDateFar),
            (.end, -5, .negative), (.end, now * 1000, .milliseconds), (.end, now - 978_307_200, .secondsSince2001),
            (.update, now * 1000, .milliseconds), (.end, Int64.max, .milliseconds), (.end, Int64.min, .negative),
        ] as [(ActivityEvent, Int64?, PayloadFinding.Code?)],
    )
    func dismissalFindings(event: ActivityEvent, requested: Int64?, expected: PayloadFinding.Code?) {
        let findings = DismissalDate.findings(event: event, requested: requested, now: Self.now)
        #expect(findings.map(\.code) == (expected.map { [$0] } ?? []))
        let isUnit = [.negative, .milliseconds, .secondsSince2001].contains(expected)
        #expect(findings.allSatisfy { $0.severity == (isUnit ? .refusal : .warning) && $0.field == .dismissalDate })
    }

    @Test(
        "A stale date that is past, or stands on an end, is warned of",
        arguments: [
            (.update, nil, nil), (.update, now + 1, nil), (.start, now + 9_999_999, nil),
            (.update, now, .staleDatePast),
            (.start, 0, .staleDatePast), (.update, 1_739_502_750, .staleDatePast), (.end, now + 1, .staleDateIgnored),
            (.update, now * 1000, .milliseconds), (.end, now * 1000, .milliseconds), (.update, -1, .negative),
            (.start, now - 978_307_200, .secondsSince2001),
        ] as [(ActivityEvent, Int64?, PayloadFinding.Code?)],
    )
    func staleFindings(event: ActivityEvent, date: Int64?, expected: PayloadFinding.Code?) {
        let findings = StaleDate.findings(event: event, date: date, now: Self.now)
        #expect(findings.map(\.code) == (expected.map { [$0] } ?? []))
        #expect(findings.allSatisfy { $0.name == "aps.stale-date" })
    }

    @Test(
        "C57, C58: which timestamps the phone ignores",
        arguments: [
            (.update, now, nil, []), (.update, now - 15, nil, []), (.update, now + 15, nil, []),
            (.update, now - 16, nil, [.timestampOld]), (.start, now - 600, nil, [.timestampOld]),
            (.update, 1_685_952_000, nil, [.timestampOld]), (.end, now - 600, nil, []),
            (.update, now + 16, nil, [.timestampAhead]), (.end, now + 28_800, nil, [.timestampAhead]),
            (.update, now + 28_801, nil, [.timestampTooFarAhead]), (.update, now * 1000, nil, [.milliseconds]),
            (.end, now - 978_307_200, nil, [.secondsSince2001]), (.update, -1, nil, [.negative]),
            (.update, now, now - 1, []), (.update, now, now, [.timestampNotNewer]),
            (.end, now, now + 3, [.timestampNotNewer]), (.update, Int64.max, nil, [.milliseconds]),
        ] as [(ActivityEvent, Int64, Int64?, [PayloadFinding.Code])],
    )
    func timestampFindings(event: ActivityEvent, timestamp: Int64, last: Int64?, expected: [PayloadFinding.Code]) {
        let findings = PushTimestamp.findings(event: event, timestamp: timestamp, last: last, now: Self.now)
        #expect(findings.map(\.code) == expected)
        #expect(findings.allSatisfy { $0.field == .timestamp })
    }

    @Test("A date in the wrong unit is refused with the value that would be right")
    func likelyValue() throws {
        let finding = try #require(UnixSecondsCheck.finding(.expiration, 1_796_007_172_000, now: Self.now))
        #expect(finding.likely == "1796007172")
        #expect(finding.description.hasPrefix("apns-expiration: looks like milliseconds"))
        #expect(finding.message.contains("1796007172"))
    }

    @Test("A start goes out for 5 minutes, updates for 8 hours, an end for 12")
    func life() {
        #expect(ActivityLife.duration(for: .start) == .seconds(300))
        #expect(ActivityLife.duration(for: .update) == .seconds(28_800))
        #expect(ActivityLife.duration(for: .end) == .seconds(43_200))
    }

    @Test(
        "An event is read in exactly Tencent's spelling",
        arguments: ["Update", "END", "Start", "events", "", "end "]
    )
    func eventSpelling(text: String) {
        #expect(ActivityEvent(rawValue: text) == nil)
        #expect(ActivityEvent(rawValue: "update") == .update)
        #expect(ActivityEvent(rawValue: "end") == .end)
    }
}
