import ContentSchema
import Testing
import VerbatimJSON

@Suite("Checks", .timeLimit(.minutes(5)))
struct CheckTests {
    @Test("C61: a missing member is named, and one that the type does not have")
    func missingAndUnknown() throws {
        let schema = try ActivitySchema(fields: #"[{"key": "text", "type": "String"}]"#)
        let verdict = try schema.check(#"{"E5_text": "x"}"#)
        #expect(verdict.faults.map(\.description) == ["content-state.text: String is missing"])
        #expect(verdict.faults.map(\.kind) == [.missing])
        #expect(verdict.unknownMembers == ["content-state.E5_text"])
        #expect(try schema.check(#"{"text": "x", "more": 1}"#).isFlawless)
    }

    @Test("A missing member's fault names one that is only spelt otherwise")
    func otherSpelling() throws {
        let schema = try ActivitySchema(fields: #"[{"key": "etaMinutes", "type": "Int"}]"#)
        #expect(
            try schema.check(#"{"eta_minutes": 1}"#).faults.map(\.description) == [
                #"content-state.etaMinutes: Int is missing, got "eta_minutes", spelt otherwise"#
            ]
        )
    }

    @Test("C62: attributes are checked by the fields of the attributes")
    func attributes() throws {
        let schema = try ActivitySchema(
            fields: #"[{"key": "totalDays", "type": "Int"}]"#,
            attributes: #"[{"key": "goal", "type": "Goal"}]"#,
            types: #""Goal": {"fields": []}"#,
        )
        let verdict = try schema.check(#"{"totalDays": 7}"#, as: .attributes)
        #expect(verdict.faults.map(\.description) == ["attributes.goal: Goal is missing"])
        #expect(try schema.check(#"{"goal": {}}"#, as: .attributes).isFlawless)
    }

    @Test(
        "C79, C80: numbers are whole by value, not by spelling; booleans are no numbers",
        arguments: [
            ("Double", "10", nil), ("Int", "10.0", nil),
            ("Int", "10.5", "Int holds whole numbers -9223372036854775808...9223372036854775807, got the number 10.5"),
            ("Bool", "true", nil), ("Bool", "1", "Bool is expected, got the number 1"),
            ("Int", "true", "Int is expected, got true"),
            ("Int8", "300", "Int8 holds whole numbers -128...127, got the number 300"),
        ] as [(String, String, String?)],
    )
    func numbers(type: String, value: String, fault: String?) throws {
        let schema = try ActivitySchema(fields: #"[{"key": "scores", "type": "[\#(type)]"}]"#)
        let expected = fault.map { ["content-state.scores[1]: \($0)"] } ?? []
        let valid = type == "Bool" ? "false" : "1"
        #expect(try schema.check(#"{"scores": [\#(valid), \#(value)]}"#).faults.map(\.description) == expected)
    }

    @Test(
        "C85: enums and dictionaries have the shape that Swift synthesizes",
        arguments: [
            ("Leg", #"{"one": {"_0": 1}}"#, true), ("Leg", #"{"one": 1}"#, false), ("Leg", #""none""#, false),
            ("Leg", #"{"none": {}}"#, true), ("Leg", #"{"none": {}, "one": {"_0": 1}}"#, false),
            ("[UUID: Int]", #"{"E621E1F8-C36C-495A-93FC-0C247A3E6E5F": 1}"#, false),
            ("[UUID: Int]", #"["E621E1F8-C36C-495A-93FC-0C247A3E6E5F", 1]"#, true),
            ("Data", #""AQI""#, false), ("Data", #""AQI=""#, true), ("Date?", #""""#, false), ("Date?", "null", true),
        ] as [(String, String, Bool)],
    )
    func shapes(type: String, value: String, fits: Bool) throws {
        let schema = try ActivitySchema(
            fields: #"[{"key": "x", "type": "\#(type)"}]"#,
            types: #""Leg": {"cases": [{"key": "none"}, {"key": "one", "fields": [{"key": "_0", "type": "Int"}]}]}"#,
        )
        let verdict = try schema.check(#"{"x": \#(value)}"#)
        #expect(verdict.isDecodable == fits, "\(verdict.faults)")
        #expect(verdict.faults.allSatisfy { $0.path.hasPrefix("content-state.x") })
    }

    @Test("Every fault is named, in the order of decoding, and a summary of it holds nothing of the content")
    func severalFaults() throws {
        let schema = try ActivitySchema(
            fields:
                #"[{"key": "a", "type": "Int"}, {"key": "b", "type": "[String: Phase]"}, {"key": "c", "type": "URL"}]"#,
            types: #""Phase": {"rawType": "String", "rawValues": ["on", "off"]}"#,
        )
        let verdict = try schema.check(#"{"c": "secret", "b": {"k y": "secret"}, "a": "secret"}"#)
        #expect(
            verdict.faults.map(\.description) == [
                #"content-state.a: Int is expected, got the text "secret""#,
                #"content-state.b["k y"]: Phase is one of "on", "off", got the text "secret""#,
            ]
        )
        #expect(verdict.faults.last?.summary == #"content-state.b{}: Phase is one of "on", "off""#)
        #expect(verdict.faults.allSatisfy { !$0.summary.contains("secret") })
        #expect(verdict.faults[1].kind == .invalid)
    }

    @Test("A long value is cut in a fault's text, and no more faults are looked for than are of use")
    func limits() throws {
        let schema = try ActivitySchema(fields: #"[{"key": "a", "type": "[Int]"}]"#)
        let texts = Array(repeating: "\"\(String(repeating: "x", count: 500))\"", count: 100)
        let verdict = try schema.check(#"{"a": [\#(texts.joined(separator: ","))]}"#)
        #expect(verdict.faults.count == ContentVerdict.maximumFaults)
        #expect(verdict.faults.allSatisfy { $0.description.utf8.count < 120 })
    }

    @Test("A type that contains itself is followed as deep as the value goes")
    func recursion() throws {
        let schema = try ActivitySchema(
            fields: #"[{"key": "tree", "type": "Tree"}]"#,
            types: #""Tree": {"fields": [{"key": "children", "type": "[Tree]"}]}"#,
        )
        let depth = 120
        let deep = String(repeating: #"{"children": ["#, count: depth) + String(repeating: "]}", count: depth)
        #expect(try schema.check(#"{"tree": \#(deep)}"#).isFlawless)
        #expect(try !schema.check(#"{"tree": {"children": [{}]}}"#).isDecodable)
    }
}
