import Testing
import VerbatimJSON

@Suite("Strict parsing", .timeLimit(.minutes(5)))
struct JSONDocumentTests {
    @Test(
        "A valid text is accepted and kept byte for byte",
        arguments: [
            "{}", "[]", "0", "-0", "-0.0", "1e400", "1E+2", "\"\"", "true", "false", "null", "[[],{}]",
            #"{"a":{"b":[1,2,{"c":null}]},"":""}"#, #""\"\\\/\b\f\n\r\t\u00e9""#, #""\ud83d\ude00""#,
            "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\u{FEFF}\"", #"{"a":1,"A":2,"a ":3}"#,
            "[ 1 ,\t2\r\n, 3 ]",
        ],
    )
    func accepted(text: String) throws {
        let bytes = Array(text.utf8)
        #expect(try Array(JSONDocument(parsing: bytes).root.verbatim) == bytes)
    }

    @Test("White space around the value is not part of it")
    func whitespaceAround() throws {
        let document = try JSONDocument(parsing: Array(" \t\r\n{\"a\" : [1, 2] } \n".utf8))
        #expect(String(decoding: document.root.verbatim, as: UTF8.self) == "{\"a\" : [1, 2] }")
        let member = try #require(document.root["a"])
        #expect(String(decoding: member.verbatim, as: UTF8.self) == "[1, 2]")
    }

    @Test(
        "A text with one fault is refused with its place and reason",
        arguments: [
            ("", 0, .empty), (" \n", 2, .empty),
            ("\u{FEFF}{}", 0, .byteOrderMark),
            ("{", 1, .unexpectedEnd), ("[1", 2, .unexpectedEnd), ("[1,", 3, .unexpectedEnd),
            ("\"ab", 3, .unexpectedEnd),
            ("tru", 3, .unexpectedEnd), ("-", 1, .unexpectedEnd), ("1.", 2, .unexpectedEnd),
            ("{\"a\"", 4, .unexpectedEnd),
            ("{\"a\":", 5, .unexpectedEnd), ("\"\\", 2, .unexpectedEnd), ("\"\\u12", 5, .unexpectedEnd),
            ("[1,]", 3, .unexpectedCharacter), ("{\"a\":1,}", 7, .unexpectedCharacter),
            ("[,1]", 1, .unexpectedCharacter),
            ("[1 2]", 3, .unexpectedCharacter), ("{\"a\" 1}", 5, .unexpectedCharacter),
            ("{a:1}", 1, .unexpectedCharacter),
            ("{1:1}", 1, .unexpectedCharacter), ("[1}", 2, .unexpectedCharacter),
            ("{\"a\":1]", 6, .unexpectedCharacter),
            ("]", 0, .unexpectedCharacter), ("/**/1", 0, .unexpectedCharacter), ("// \n1", 0, .unexpectedCharacter),
            ("'a'", 0, .unexpectedCharacter), ("NaN", 0, .unexpectedCharacter), ("nulL", 3, .unexpectedCharacter),
            ("True", 0, .unexpectedCharacter), ("\u{A0}1", 0, .unexpectedCharacter),
            ("\u{0B}1", 0, .unexpectedCharacter),
            ("01", 1, .invalidNumber), ("-01", 2, .invalidNumber), ("+1", 0, .invalidNumber), (".5", 0, .invalidNumber),
            ("[1.]", 3, .invalidNumber), ("[1e]", 3, .invalidNumber), ("[1e+]", 4, .invalidNumber),
            ("[-]", 2, .invalidNumber), ("-Infinity", 1, .invalidNumber),
            (#""\x""#, 1, .invalidEscape), (#""\u12g4""#, 1, .invalidEscape), (#""\U0041""#, 1, .invalidEscape),
            (#""\ud83d""#, 1, .loneSurrogate), (#""\ud83dx""#, 1, .loneSurrogate), (#""\ude00""#, 1, .loneSurrogate),
            (#""\ud83d\u0041""#, 1, .loneSurrogate), (#""\ud83d\ud83d\ude00""#, 1, .loneSurrogate),
            (#""\ud83d\n\ude00""#, 1, .loneSurrogate),
            ("\"a\tb\"", 2, .controlCharacter), ("\"a\nb\"", 2, .controlCharacter),
            ("\"\u{1F}\"", 1, .controlCharacter),
            (#"{"a":"\u0000"}"#, 6, .nulCharacter), ("\"a\u{0}\"", 2, .nulCharacter), ("{\u{0}}", 1, .nulCharacter),
            ("1\u{0}", 1, .nulCharacter), (#"{"\u0000":1}"#, 2, .nulCharacter),
            ("{} {}", 3, .trailingContent), ("1 x", 2, .trailingContent), ("[]]", 2, .trailingContent),
        ] as [(String, Int, JSONError.Reason)],
    )
    func refused(text: String, offset: Int, reason: JSONError.Reason) {
        #expect(throws: JSONError(offset: offset, reason: reason)) {
            try JSONDocument(parsing: Array(text.utf8))
        }
    }

    @Test(
        "Bytes that are not UTF-8 are refused inside a string and as a member's name",
        arguments: [
            [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x9F, 0xBF], [0xE2, 0x82],
            [0xE2, 0x28, 0xA1], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xFE], [0xFF],
        ] as [[UInt8]],
    )
    func invalidUTF8(sequence: [UInt8]) {
        let quote = Array("\"".utf8)
        for bytes in [quote + sequence + quote, quote + sequence] {
            #expect(throws: JSONError(offset: 1, reason: .invalidUTF8)) { try JSONDocument(parsing: bytes) }
        }
        let asName = Array("{\"".utf8) + sequence + Array("\":1}".utf8)
        #expect(throws: JSONError(offset: 2, reason: .invalidUTF8)) { try JSONDocument(parsing: asName) }
    }

    @Test("Nesting to the limit is accepted, one more is refused", arguments: ["[", "{\"a\":"])
    func depth(opening: String) throws {
        func text(depth: Int) -> [UInt8] {
            let closing = opening == "[" ? "]" : "}"
            let core = opening == "[" ? "" : "1"
            return Array(
                (String(repeating: opening, count: depth) + core + String(repeating: closing, count: depth)).utf8
            )
        }
        #expect(throws: Never.self) { try JSONDocument(parsing: text(depth: 512)) }
        let offset = opening.utf8.count * 512
        #expect(throws: JSONError(offset: offset, reason: .tooDeep)) { try JSONDocument(parsing: text(depth: 513)) }
        #expect(throws: Never.self) { try JSONDocument(parsing: text(depth: 100_000), maximumDepth: 100_000) }
    }

    @Test(
        "A name twice in one object is refused at its second place, however it is written",
        arguments: [
            (#"{"a":1,"a":2}"#, 7), (#"{"a":1,"\u0061":2}"#, 7), (#"{"x":{"a":1,"b":[],"a":2}}"#, 19),
            (#"[{"":1,"":2}]"#, 7), (#"{"a\/b":1,"a/b":2}"#, 10), (#"{"😀":1,"\ud83d\ude00":2}"#, 10),
            (#"{"a":{"b":1,"c":2},"d":3,"a":4}"#, 25),
        ],
    )
    func duplicateNames(text: String, offset: Int) {
        #expect(throws: JSONError(offset: offset, reason: .duplicateKey)) {
            try JSONDocument(parsing: Array(text.utf8))
        }
    }

    @Test("A name twice is found whatever the number of names, written plainly or with an escape", arguments: 2...40)
    func duplicateAmongMany(count: Int) throws {
        let members = (1..<count).map { "\"name\($0)\":{\"name1\":[]}" }
        #expect(throws: Never.self) {
            try JSONDocument(parsing: Array("{\(members.joined(separator: ","))}".utf8))
        }
        for name in ["name1", "n\\u0061me1", "name\(count - 1)"] {
            let text = Array("{\((members + ["\"\(name)\":1"]).joined(separator: ","))}".utf8)
            let offset = text.count - name.utf8.count - 5
            #expect(throws: JSONError(offset: offset, reason: .duplicateKey)) { try JSONDocument(parsing: text) }
        }
    }

    @Test("Names that look or compare alike in Unicode but differ in scalars are different names")
    func namesThatLookAlike() throws {
        let root = try JSONDocument(parsing: Array(#"{"\#u{E9}":1,"e\#u{301}":2,"a":{"a":{"a":3}}}"#.utf8)).root
        #expect(root["\u{E9}"]?.integer == 1)
        #expect(root["e\u{301}"]?.integer == 2)
        #expect(root["a"]?["a"]?["a"]?.integer == 3)
    }

    @Test("10,000 names in one object are compared in less than quadratic time, and the last duplicate is found")
    func manyNames() throws {
        let members = (0..<10_000).map { "\"name\($0)\":\($0)" }
        #expect(throws: Never.self) {
            try JSONDocument(parsing: Array("{\(members.joined(separator: ","))}".utf8))
        }
        let twice = members + ["\"name\\u0030\":1"]
        let text = Array("{\(twice.joined(separator: ","))}".utf8)
        #expect(throws: JSONError(offset: text.count - 1 - 14, reason: .duplicateKey)) {
            try JSONDocument(parsing: text)
        }
    }

    @Test("An error's description names place and reason and nothing of the text")
    func errorDescription() {
        let error = #expect(throws: JSONError.self) {
            try JSONDocument(parsing: Array(#"{"secret-token":"secret-value" x}"#.utf8))
        }
        #expect(error?.description == "invalid JSON at byte 31: unexpected character")
    }

    @Test("C78, C80: a state with numbers, booleans and escapes comes out of a request byte for byte")
    func verbatimState() throws {
        let states = [
            #"{"a":0.1,"b":129.9,"c":68.32,"d":5.02,"e":1.0,"f":100,"g":9007199254740993,"h":1e2,"i":-0.0,"#
                + #""j":0.10000000000000001,"u":"\u00e9 é 👨‍👩‍👧","s":"a/b"}"#,
            #"{"flag":true,"n":1,"z":0,"f":false}"#,
        ]
        for state in states {
            let request =
                #"{"OfflinePushInfo": {"ApnsInfo": {"LiveActivity": {"ContentState": \#(state) , "Event":"end"}}}}"#
            let root = try JSONDocument(parsing: Array(request.utf8)).root
            let activity = try #require(root["OfflinePushInfo"]?["ApnsInfo"]?["LiveActivity"])
            #expect(Array(activity["ContentState"]?.verbatim ?? []) == Array(state.utf8))
            #expect(activity["Event"]?.string == "end")
        }
    }

    @Test("Every prefix of a text, and every single-byte change of it, is answered without a trap")
    func mutations() throws {
        let text = Array(#"{"a":[1,-2.5e+3,"\ud83d\ude00é\n",{"b":null,"c":true}],"d":{}}"#.utf8)
        for length in text.indices {
            #expect(throws: JSONError.self) { try JSONDocument(parsing: Array(text[..<length])) }
        }
        for index in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[index] = byte
                guard let document = try? JSONDocument(parsing: changed) else { continue }
                _ = document.root.members.map { ($0.key, $0.value.elements.map(\.string), $0.value.double) }
            }
        }
    }
}
