import Testing
import VerbatimJSON

@Suite("Values", .timeLimit(.minutes(5)))
struct JSONValueTests {
    private func root(_ text: String) throws -> JSONValue {
        try JSONDocument(parsing: Array(text.utf8)).root
    }

    @Test(
        "An integral number that fits is exact however it is written, any other is none",
        arguments: [
            ("1", 1), ("1.0", 1), ("1e2", 100), ("100E-2", 1), ("-0", 0), ("-0.0", 0), ("0e999999999999999999999", 0),
            ("0.5e1", 5), ("1.5", nil), ("1e-1", nil), ("0.001", nil), ("1.0e3", 1000), ("10.010e2", 1001),
            ("12.30e1", 123), ("1230e-1", 123), ("123e-1", nil),
            ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", Int64.max),
            ("9223372036854775807.000", Int64.max), ("9223372036854775808", nil), ("-9223372036854775808", Int64.min),
            ("-9223372036854775809", nil), ("922337203685477580.7e1", Int64.max), ("9999999999999999999", nil),
            ("1e18", 1_000_000_000_000_000_000), ("1e19", nil), ("1e400", nil), ("1e99999999999999999999999999", nil),
            ("1e-99999999999999999999999999", nil), ("10000000000000000000000e-22", 1),
        ] as [(String, Int64?)],
    )
    func integers(text: String, expected: Int64?) throws {
        #expect(try self.root(text).integer == expected)
        #expect(try self.root(text).integerOrNumericString == expected)
        #expect(try self.root("\"\(text)\"").integerOrNumericString == expected)
        #expect(try self.root("\"\(text)\"").integer == nil)
    }

    @Test(
        "A string that is not exactly a number is no integer",
        arguments: [
            #""""#, #"" 1""#, #""1 ""#, #""+1""#, #""01""#, #""0x1""#, #""1a""#, #""١""#, "true", "null", "[1]", "{}",
        ],
    )
    func noNumericString(text: String) throws {
        #expect(try self.root(text).integerOrNumericString == nil)
    }

    @Test("A numeric string may be written with escapes")
    func escapedNumericString() throws {
        #expect(try self.root(#""\u0031\u0032""#).integerOrNumericString == 12)
    }

    @Test(
        "A double is the nearest one, and none when the number is too large",
        arguments: [("0.1", 0.1), ("-0.0", -0.0), ("1e2", 100), ("5.02", 5.02), ("1e400", nil), ("\"1\"", nil)]
            as [(String, Double?)],
    )
    func doubles(text: String, expected: Double?) throws {
        #expect(try self.root(text).double == expected)
    }

    @Test("Each accessor answers only for its own kind")
    func kinds() throws {
        let expected: [JSONValue.Kind] = [.object, .array, .string, .number, .boolean, .boolean, .null]
        let values = try self.root(#"[{"a":1},[2],"s",1,true,false,null]"#).elements
        #expect(values.map(\.kind) == expected)
        #expect(values.map(\.string) == [nil, nil, "s", nil, nil, nil, nil])
        #expect(values.map(\.boolean) == [nil, nil, nil, nil, true, false, nil])
        #expect(values.map(\.integer) == [nil, nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.elements.count) == [0, 1, 0, 0, 0, 0, 0])
        #expect(values.map(\.members.count) == [1, 0, 0, 0, 0, 0, 0])
        #expect(values.map { $0["a"] != nil } == [true, false, false, false, false, false, false])
    }

    @Test("Members come in the order of the text with decoded names, nested values skipped over")
    func members() throws {
        let members = try self.root(#"{"z":{"q":[1,2,{"r":3}]},"\u0061\/\n":[[],[]],"b":"x"}"#).members
        #expect(members.map(\.key) == ["z", "a/\n", "b"])
        #expect(
            members.map { String(decoding: $0.value.verbatim, as: UTF8.self) } == [
                #"{"q":[1,2,{"r":3}]}"#, "[[],[]]", #""x""#,
            ]
        )
        #expect(try self.root(#"{"\u0061\/\n":7}"#)["a/\n"]?.integer == 7)
    }

    @Test("Escapes are decoded, those of surrogate pairs to one scalar")
    func strings() throws {
        #expect(try self.root(#""\"\\\/\b\f\n\r\t""#).string == "\"\\/\u{8}\u{C}\n\r\t")
        #expect(try self.root(#""\u00e9 é \ud83d\ude00😀\uFFFF""#).string == "\u{E9} é 😀😀\u{FFFF}")
        let family = "👨‍👩‍👧"
        #expect(try self.root("\"\(family)\"").string == family)
    }

    @Test("A value outlives the document it came from")
    func lifetime() throws {
        let value = try self.root(#"{"a":["b"]}"#)["a"]
        #expect(value?.elements.first?.string == "b")
    }

    @Test("A value knows the way to it from the root, through siblings that hold others")
    func path() throws {
        let root = try self.root(#"{"x":{"y":[1,{"z":2}]},"a":[[],{"b\u0063":{"d":[{},[0,true]]}}],"e":null}"#)
        #expect(root.path == "")
        #expect(root["x"]?.path == "x")
        #expect(root["x"]?["y"]?.elements.last?["z"]?.path == "x.y[1].z")
        #expect(root["a"]?.elements.first?.path == "a[0]")
        #expect(root["a"]?.elements.last?["bc"]?["d"]?.elements.last?.elements.last?.path == "a[1].bc.d[1][1]")
        #expect(root["e"]?.path == "e")
        #expect(try self.root("[[1],[2,3]]").elements.last?.elements.last?.path == "[1][1]")
    }

    @Test("The names besides those that are known are told in their order, compared decoded and byte by byte")
    func namesBesides() throws {
        let text = #"{"b":1,"\u0061":2,"c":{"d":3},"ab":4,"\u00e9":5}"#
        let root = try JSONDocument(parsing: Array(text.utf8)).root
        #expect(root.names(besides: ["a", "c", "e\u{301}"]) == ["b", "ab", "\u{E9}"])
        #expect(try JSONDocument(parsing: Array("[1]".utf8)).root.names(besides: []) == [])
    }
}
