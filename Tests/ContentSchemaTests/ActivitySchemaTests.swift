import ContentSchema
import Testing

@Suite("Schemas as JSON", .timeLimit(.minutes(5)))
struct ActivitySchemaTests {
    private static let valid = #"""
        {"format": 1, "attributesType": "A", "attributes": "A", "contentState": "A.S", "types": {
          "A": {"fields": [{"key": "n", "type": "Int"}]},
          "A.S": {"fields": [{"key": "p", "type": "[String: Phase?]"}, {"key": "l", "type": "Set<Leg>"},
            {"key": "o", "type": "Options"}, {"key": "e", "type": "Empty"}, {"key": "r", "type": "Range<Int8>"},
            {"key": "d", "type": "Ratio"}, {"key": "i", "type": "Level"}]},
          "Phase": {"rawType": "String", "rawValues": ["on", "off"], "codingKey": true},
          "Level": {"rawType": "Int8", "rawValues": [-128, 127]},
          "Ratio": {"rawType": "Double", "rawValues": [0.5, 1]},
          "Options": {"rawType": "UInt8"},
          "Empty": {"anything": true},
          "Leg": {"cases": [{"key": "walk"}, {"key": "train", "fields": [{"key": "_0", "type": "Leg?"}]}]}
        }}
        """#

    @Test("What is read is written so that the same is read again, with equal bytes")
    func roundTrip() throws {
        let schema = try ActivitySchema(parsing: Array(Self.valid.utf8))
        #expect(schema.attributesType == "A")
        #expect(schema.types.count == 8)
        let again = try ActivitySchema(parsing: schema.json)
        #expect(again == schema)
        #expect(again.json == schema.json)
    }

    @Test(
        "A fault names its place",
        arguments: [
            (#""format": 1"#, #""format": 2"#, "format: 2 is not known here; this release reads 1"),
            (#""attributes": "A", "#, "", #""attributes" is missing"#),
            (#""attributes": "A""#, #""attributes": "B""#, "attributes: there is no type B"),
            (#""type": "Int"}"#, #""type": "Integer"}"#, "types.A.n: there is no type Integer"),
            (
                #""type": "Int"}"#, #""type": "[Int"}"#,
                #"types.A.fields[0].type: the type "[Int" cannot be read: expected ']'"#
            ),
            (
                #""type": "Int"}"#, #""type": ""}"#,
                #"types.A.fields[0].type: the type "" cannot be read: a type is missing"#
            ),
            (
                #""type": "Int"}"#, #""type": "Range<UUID>"}"#,
                "types.A.fields[0].type: Range<UUID> is not a range that can be checked"
            ),
            (
                #""type": "Int"}"#, #""type": "Result<Int>"}"#,
                "types.A.fields[0].type: Result<...> is not a type that can be checked"
            ),
            (#""type": "Int"}"#, #""typ": "Int"}"#, #"types.A.fields[0]: unknown member "typ"; known are key, type"#),
            (
                #"{"fields": [{"key": "n", "type": "Int"}]}"#, "{}",
                #"types.A: "fields", "rawType" or "cases" is missing"#
            ),
            (#"["on", "off"]"#, #"["on", 1]"#, "types.Phase.rawValues[1]: a string is expected"),
            (#"["on", "off"]"#, "[]", "types.Phase: no raw values, so that nothing can be decoded"),
            ("[-128, 127]", "[-129]", "types.Level: -129 is no Int8"),
            (
                #""rawType": "UInt8""#, #""rawType": "Date""#,
                "types.Options.rawType: a raw type is String, an integer type, Float or Double"
            ),
            (#"{"key": "walk"}"#, #"{"key": "train"}"#, #"types.Leg: "train" is there twice"#),
            (#""anything": true"#, #""anything": 1"#, "types.Empty.anything: true is expected"),
            ("}}", "}", "invalid JSON at byte"),
        ],
    )
    func faults(what: String, with: String, message: String) throws {
        let error = #expect(throws: SchemaError.self) {
            try ActivitySchema(parsing: Array(Self.valid.replacing(what, with: with, maxReplacements: 1).utf8))
        }
        #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
    }

    @Test(
        "A type's source is understood as Swift has it",
        arguments: [
            ("Optional<Array<Int>>", "[Int]?"), ("[ String :Foundation.Date ]", "[String: Date]"),
            ("TimeInterval", "Double"),
            ("Dictionary<String, Set<Swift.Int8>>", "[String: Set<Int8>]"), ("Int??", "Int??"), ("A.B_1", "A.B_1"),
            ("ContiguousArray<UUID>", "[UUID]"), ("ClosedRange<Date>?", "ClosedRange<Date>?"),
        ],
    )
    func types(source: String, written: String) throws {
        #expect(try ContentType(parsing: source).description == written)
    }

    @Test(
        "Versions are compared number by number",
        arguments: [
            ("2.9", "2.10", true), ("2.10", "2.9", false), ("1", "1.0.0", false), ("1.0", "1", false),
            ("1.2-beta", "1.3", true),
            ("9", "10", true), ("1.0.0.1", "1.0.1", true),
        ]
    )
    func versions(left: String, right: String, isLess: Bool) throws {
        let left = try #require(AppVersion(left))
        let right = try #require(AppVersion(right))
        #expect((left < right) == isLess)
        #expect(AppVersion("beta") == nil)
        #expect(AppVersion("") == nil)
    }
}
