import Testing
import VerbatimJSON

@Suite("Writing", .timeLimit(.minutes(5)))
struct JSONWriterTests {
    @Test("Objects, arrays and values get their commas and colons")
    func structure() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("a", "x")
        writer.member("left out", nil as String?)
        writer.member("b", 5)
        writer.member("c", true)
        writer.member("d", raw: Array(#"{"e" : 1.0}"#.utf8)[...])
        writer.member("left out", raw: nil as [UInt8]?)
        writer.key("f")
        writer.beginArray()
        writer.null()
        writer.beginObject()
        writer.endObject()
        writer.beginArray()
        writer.endArray()
        writer.integer(UInt64.max)
        writer.integer(Int64.min)
        writer.double(0.1)
        writer.double(-.infinity)
        writer.boolean(false)
        writer.endArray()
        writer.member("g", nil as Int64?)
        writer.member("h", nil as Bool?)
        writer.endObject()
        let expected =
            #"{"a":"x","b":5,"c":true,"d":{"e" : 1.0},"#
            + #""f":[null,{},[],18446744073709551615,-9223372036854775808,0.1,null,false]}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test(
        "C82: only quotation marks, backslashes and control characters are escaped, and the count foretells it",
        arguments: [
            ("a/b", #"a/b"#), ("说明 é 👨‍👩‍👧", "说明 é 👨‍👩‍👧"), ("\"\\", #"\"\\"#), ("\u{8}\t\n\u{C}\r", #"\b\t\n\f\r"#),
            ("\u{1}\u{1F}\u{7F}\u{2028}", "\\u0001\\u001f\u{7F}\u{2028}"), ("", ""),
        ],
    )
    func escapes(text: String, expected: String) throws {
        var writer = JSONWriter()
        writer.string(text)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "\"\(expected)\"")
        #expect(JSONWriter.escapedCount(of: text) == expected.utf8.count)
        #expect(try JSONDocument(parsing: writer.bytes).root.string == text)
    }

    @Test(
        "An integer is written as Swift writes it",
        arguments: [0, 7, 10, 99, 100, -1, -10, 1_796_007_172, .max, .min] as [Int64],
    )
    func integers(value: Int64) {
        var writer = JSONWriter()
        writer.integer(value)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == String(value))
        #expect(DecimalText.joined(value, 0, value, by: "_") == "\(value)_0_\(value)")
    }

    @Test("A name with characters to escape is written like a text, with its comma and colon")
    func escapedNames() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("a\"b", 1)
        writer.member("c\nd", "e\\")
        writer.endObject()
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"a\"b":1,"c\nd":"e\\"}"#)
    }

    @Test("Doubles read back as themselves", arguments: [0, -0.0, 5.02, 1e16, 1e300, .leastNonzeroMagnitude, 129.9])
    func doubles(value: Double) throws {
        var writer = JSONWriter()
        writer.double(value)
        #expect(try JSONDocument(parsing: writer.bytes).root.double?.bitPattern == value.bitPattern)
    }
}
