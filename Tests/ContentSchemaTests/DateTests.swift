import ContentSchema
import Testing
import VerbatimJSON

@Suite("Dates", .timeLimit(.minutes(5)))
struct DateTests {
    private func verdict(_ value: String, _ type: String = "Date?") throws -> ContentVerdict {
        try ActivitySchema(fields: #"[{"key": "endTime", "type": "\#(type)"}]"#).check(#"{"endTime": \#(value)}"#)
    }

    @Test(
        "C60: a number that counts otherwise than from 2001 in seconds is named with the right one",
        arguments: [
            ("1796007172", "Unix seconds", "817699972"), ("1796007172.25", "Unix seconds", "817699972.25"),
            ("1.796007172e9", "Unix seconds", "817699972"), ("1796007172.000", "Unix seconds", "817699972"),
            ("1796007172123", "Unix milliseconds", "817699972.123"),
            ("1796007172000", "Unix milliseconds", "817699972"),
            ("1796007172123456", "Unix milliseconds", "817699972.123456"),
            ("1796007172123456789", "Unix milliseconds", "817699972.123456789"),
            ("817699972000", "milliseconds since 2001", "817699972"),
            ("817699972001.5", "milliseconds since 2001", "817699972.0015"),
        ],
    )
    func misread(value: String, form: String, right: String) throws {
        let verdict = try self.verdict(value)
        #expect(verdict.isDecodable)
        #expect(!verdict.isFlawless)
        let date = try #require(verdict.misreadDates.first)
        #expect(date.path == "content-state.endTime")
        #expect(date.form.rawValue == form)
        #expect(date.right == right)
        #expect(date.description.contains(right))
        #expect(!date.summary.contains(value))
    }

    @Test(
        "C60: a date that is right, far off or unset passes unchanged",
        arguments: [
            "817699972", "817699972.25", "0", "-1", "null", "63113904000", "-63114076800", "8.17699972e8", "1e300",
        ],
    )
    func right(value: String) throws {
        #expect(try self.verdict(value).isFlawless)
    }

    @Test(
        "C60: text in a date's place is refused, with the right number where the text tells a date",
        arguments: [
            (#""2026-11-30T02:52:52Z""#, "817699972"), (#""2026-11-30T02:52:52.5Z""#, "817699972.5"),
            (#""2026-11-30T04:52:52+02:00""#, "817699972"), (#""2026-11-29T21:22:52-0530""#, "817699972"),
            (#""2026-11-30""#, "817689600"), (#""2026-11-30 02:52""#, "817699920"), (#""1796007172""#, "817699972"),
            (#""817699972""#, "817699972"), (#""2000-02-29T00:00:00Z""#, "-26524800"), (#""soon""#, nil), (#""""#, nil),
            ("true", nil), ("{}", nil), (#""2026-13-30T02:52:52Z""#, nil),
        ] as [(String, String?)],
    )
    func text(value: String, right: String?) throws {
        let verdict = try self.verdict(value)
        #expect(verdict.faults.map(\.likelyDate) == [right])
        #expect(verdict.misreadDates.isEmpty)
        if let right { #expect(verdict.faults[0].description.hasSuffix("for that date send \(right)")) }
    }

    @Test("C60: converting replaces just the numbers, wherever they stand, and no other byte")
    func converting() throws {
        let schema = try ActivitySchema(
            fields: """
                [{"key": "endTime", "type": "Date?"}, {"key": "n", "type": "Int"}, {"key": "slots", "type": "[ClosedRange<Date>]"},
                 {"key": "byName", "type": "[String: Date]"}]
                """
        )
        let text = """
            {"byName" : {"a": 817699972,"\\u0062":1796007172 }, "n": 1796007172, "endTime":1796007172000,
              "slots": [[1796007172, 1.0e0],[ 0, 1796007173]], "more": 1796007172, "text": "é"}
            """
        let document = try JSONDocument(parsing: Array("[ \(text) ]".utf8))
        let value = document.root.elements[0]
        let verdict = schema.check(value, as: .contentState, now: ActivitySchema.now)
        #expect(verdict.misreadDates.count == 4)
        #expect(verdict.faults.map(\.path) == ["content-state.slots[0]"])
        #expect(
            String(decoding: verdict.converting(value), as: UTF8.self) == """
                {"byName" : {"a": 817699972,"\\u0062":817699972 }, "n": 1796007172, "endTime":817699972,
                  "slots": [[817699972, 1.0e0],[ 0, 817699973]], "more": 1796007172, "text": "é"}
                """
        )
    }
}
