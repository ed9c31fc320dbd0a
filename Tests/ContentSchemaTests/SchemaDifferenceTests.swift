import ContentSchema
import Testing

@Suite("Differences between versions", .timeLimit(.minutes(5)))
struct SchemaDifferenceTests {
    private static let types = """
        "Phase": {"rawType": "String", "rawValues": ["on", "off"]},
        "Leg": {"cases": [{"key": "walk"}, {"key": "train", "fields": [{"key": "_0", "type": "Int"}]}]}
        """
    private static let fields = """
        [{"key": "n", "type": "Int16"}, {"key": "o", "type": "Int?"}, {"key": "a", "type": "[Phase]"},
         {"key": "l", "type": "Leg"}, {"key": "t", "type": "String"}]
        """

    @Test(
        "C77: what a change does to senders is told with its place",
        arguments: [
            (#""type": "Int16""#, #""type": "Int8""#, ["breaks content-state.n: was Int16, is Int8"]),
            (#""type": "Int16""#, #""type": "Int""#, ["widens content-state.n: was Int16, is Int"]),
            (#""type": "Int16""#, #""type": "Double""#, ["widens content-state.n: was Int16, is Double"]),
            (#""type": "Int16""#, #""type": "Date""#, ["breaks content-state.n: was Int16, is Date"]),
            (#""type": "Int16""#, #""type": "Int16?""#, ["widens content-state.n: is optional now"]),
            (
                #""type": "Int?""#, #""type": "Int""#,
                ["breaks content-state.o: was optional, is required and never null"]
            ),
            (#""type": "[Phase]""#, #""type": "Set<Phase>""#, []),
            (
                #""type": "[Phase]""#, #""type": "[String: Phase]""#,
                ["breaks content-state.a: was [Phase], is [String: Phase]"]
            ),
            (
                #""on", "off""#, #""on", "done""#,
                [#"breaks content-state.a[]: no longer has "off""#, #"widens content-state.a[]: has "done" now"#]
            ),
            (
                #"{"key": "walk"}"#, #"{"key": "run"}"#,
                ["breaks content-state.l: no longer has the case walk", "widens content-state.l: has the case run now"]
            ),
            (
                #"{"key": "_0", "type": "Int"}"#, #"{"key": "line", "type": "Int"}"#,
                [
                    "breaks content-state.l.train.line: is new and required (Int)",
                    "ignores content-state.l.train._0: is gone (was Int)",
                ]
            ),
            (
                #"{"key": "t", "type": "String"}"#, #"{"key": "u", "type": "String"}"#,
                [
                    "breaks content-state.u: is new and required (String)",
                    "ignores content-state.t: is gone (was String)",
                ]
            ),
            (
                #"{"key": "t", "type": "String"}"#, #"{"key": "t", "type": "String"}, {"key": "u", "type": "URL?"}"#,
                [
                    "widens content-state.u: is new and optional (URL?)"
                ]
            ),
            (
                #""Leg": {"cases""#, #""Leg": {"rawType": "Int", "rawValues": [1]}, "Old": {"cases""#,
                [
                    "breaks content-state.l: was an enum without raw type, is an enum over Int"
                ]
            ),
        ] as [(String, String, [String])]
    )
    func changes(what: String, with: String, expected: [String]) throws {
        let old = try ActivitySchema(fields: Self.fields, types: Self.types)
        let new = try ActivitySchema(
            fields: Self.fields.replacing(what, with: with, maxReplacements: 1),
            types: Self.types.replacing(what, with: with, maxReplacements: 1),
        )
        #expect(old.differences(to: new).map(\.description) == expected)
        #expect(old.differences(to: old).isEmpty)
    }

    @Test("Attributes are compared as well, and types that contain themselves come to an end")
    func attributesAndRecursion() throws {
        let tree = #""Tree": {"fields": [{"key": "c", "type": "[Tree]"}, {"key": "n", "type": "Int"}]}"#
        let old = try ActivitySchema(fields: "[]", attributes: #"[{"key": "t", "type": "Tree"}]"#, types: tree)
        let new = try ActivitySchema(
            fields: "[]",
            attributes: #"[{"key": "t", "type": "Tree"}]"#,
            types: tree.replacing("Int", with: "String"),
        )
        #expect(old.differences(to: new).map(\.description) == ["breaks attributes.t.n: was Int, is String"])
    }
}
