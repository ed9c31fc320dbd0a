import LiveActivity
import Testing

@Suite("Dates in three forms", .timeLimit(.minutes(5)))
struct CalendarTimeTests {
    @Test(
        "A date has the same value in Unix seconds, since 2001 and in ISO 8601",
        arguments: [
            ("1796007172", "817699972", "2026-11-30T02:52:52Z"), ("978307200", "0", "2001-01-01T00:00:00Z"),
            ("0", "-978307200", "1970-01-01T00:00:00Z"), ("1761370200", "783063000", "2025-10-25T05:30:00Z"),
            ("-1", "-978307201", "1969-12-31T23:59:59Z"), ("1709164800", "730857600", "2024-02-29T00:00:00Z"),
            ("951782400", "-26524800", "2000-02-29T00:00:00Z"), ("4107542399", "3129235199", "2100-02-28T23:59:59Z"),
            ("4107542400", "3129235200", "2100-03-01T00:00:00Z"),
            ("1796007172.25", "817699972.25", "2026-11-30T02:52:52.25Z"),
            ("-0.5", "-978307200.5", "1969-12-31T23:59:59.5Z"),
            ("253402300799.000000001", "252423993599.000000001", "9999-12-31T23:59:59.000000001Z"),
        ]
    )
    func forms(unix: String, since2001: String, iso8601: String) throws {
        let moments = try [
            #require(CalendarTime(decimal: unix)), #require(CalendarTime(decimal: since2001, since: .reference)),
            #require(CalendarTime(iso8601: iso8601)),
        ]
        for moment in moments {
            #expect(moment.unixSeconds == unix)
            #expect(moment.secondsSinceReferenceDate == since2001)
            #expect(moment.iso8601 == iso8601)
        }
    }

    @Test(
        "ISO 8601 is read with offsets, blanks and without seconds",
        arguments: [
            ("2026-11-30T10:52:52+08:00", 1_796_007_172), ("2026-11-29T21:52:52-0500", 1_796_007_172),
            ("2026-11-30 02:52:52z", 1_796_007_172), ("2026-11-30t02:52:52.000Z", 1_796_007_172),
            ("2026-11-30T05:52+03", 1_796_007_120), ("2026-11-30", 1_795_996_800),
        ] as [(String, Int64)]
    )
    func iso8601(text: String, expected: Int64) throws {
        #expect(CalendarTime(iso8601: text)?.seconds == expected)
    }

    @Test(
        "What is no date is not read",
        arguments: [
            "", "now", "2026", "2026-11", "26-11-30", "2026-13-01", "2026-00-01", "2026-11-31", "2026-02-29",
            "2100-02-29",
            "2026-11-30T", "2026-11-30T25:00Z", "2026-11-30T24:00:00Z", "2026-11-30T02:60Z", "2026-11-30T02:52:60Z",
            "2026-11-30T02:52:52.Z", "2026-11-30T02:52:52+25:00", "2026-11-30T02:52:52Zulu", "2026-11-30T02Z",
            "2026-11-30T02:52:52.1234567890Z", "١٢٣٤-11-30", "2026-11-30T02:52:52+", "-2026-11-30",
        ]
    )
    func malformed(text: String) {
        #expect(CalendarTime(iso8601: text) == nil)
        #expect(CalendarTime(iso8601: text, assumingUTC: true) == nil)
    }

    @Test("A time without a zone is a moment only where UTC is assumed")
    func zone() {
        #expect(CalendarTime(iso8601: "2026-11-30T02:52:52") == nil)
        #expect(CalendarTime(iso8601: "2026-11-30T02:52:52", assumingUTC: true)?.seconds == 1_796_007_172)
    }

    @Test(
        "Numbers that are none, or too large, are not read",
        arguments: [
            "", "-", ".5", "5.", "1e9", " 1", "1 ", "1.2.3", "12345678901234", "0.1234567890", "--1", "+1", "٣",
        ]
    )
    func malformedNumber(text: String) {
        #expect(CalendarTime(decimal: text) == nil)
    }

    @Test("Milliseconds keep their fraction, before 1970 too")
    func milliseconds() {
        #expect(CalendarTime(milliseconds: 1_796_007_172_250)?.unixSeconds == "1796007172.25")
        #expect(CalendarTime(milliseconds: -500)?.unixSeconds == "-0.5")
        #expect(CalendarTime(milliseconds: .max) == nil)
        #expect(CalendarTime(seconds: .min) == nil)
    }
}
