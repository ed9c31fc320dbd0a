import Testing

@testable import Gateway

@Suite("CSV records", .timeLimit(.minutes(5)))
struct CSVReaderTests {
    /// Reads a whole text, in pieces of so many bytes. A record is its line and its fields, or the fault.
    private static func records(_ text: String, pieces: Int = 1000) -> [String] {
        records(Array(text.utf8), pieces: pieces)
    }

    private static func records(_ bytes: [UInt8], pieces: Int) -> [String] {
        var reader = CSVReader()
        var rest = bytes[...]
        var found: [String] = []
        while true {
            if let record = reader.next(isLast: rest.isEmpty) {
                found.append(describe(record))
            } else if rest.isEmpty {
                return found
            } else {
                reader.append(Array(rest.prefix(pieces)))
                rest = rest.dropFirst(pieces)
            }
        }
    }

    private static func describe(_ record: CSVRecord) -> String {
        switch record.fields {
        case .success(let fields):
            let texts = (0..<fields.count).map { String(decoding: fields[$0], as: UTF8.self) }
            return "\(record.line):" + texts.joined(separator: "|")
        case .failure(let fault): return "\(record.line)!\(fault)"
        }
    }

    @Test(
        "records are cut at line ends, fields at commas, and quotes are taken off",
        arguments: [
            ("a,b\r\nc,d\r\n", ["1:a|b", "2:c|d"]), ("a,b\nc,d", ["1:a|b", "2:c|d"]), ("a,b\r\n", ["1:a|b"]),
            ("a,b\r", ["1:a|b"]), ("a,", ["1:a|"]), (",", ["1:|"]), (",,\n", ["1:||"]), ("", []), ("\n\r\n", []),
            ("a\n\n\r\nb\n", ["1:a", "4:b"]), (#""a","b""# + "\n", ["1:a|b"]), (#""a,b",c"#, ["1:a,b|c"]),
            (#""say ""hi""",b"#, [#"1:say "hi"|b"#]), (#""""""#, ["1:\""]), ("\",\"", ["1:,"]),
            ("\"a\nb\",c\nd,e", ["1:a\nb|c", "3:d|e"]), ("\"a\r\nb\"\r\nc", ["1:a\r\nb", "3:c"]),
            ("\u{FEFF}a,b\nc", ["1:a|b", "2:c"]), ("a, b \n", ["1:a| b "]), ("ä,🙂", ["1:ä|🙂"]), ("\u{FEFF}", []),
        ] as [(String, [String])],
    )
    func reads(text: String, expected: [String]) {
        for pieces in [1, 2, 3, 1000] {
            #expect(Self.records(text, pieces: pieces) == expected, "in pieces of \(pieces)")
        }
    }

    @Test(
        "a record that cannot be read costs its line and says why; the next line is read",
        arguments: [
            ("a\"b,c\nd", ["1!\(CSVFault.quoteInside)", "2:d"]),
            ("\"a\"b,c\nd", ["1!\(CSVFault.textAfterQuote)", "2:d"]),
            ("a\rb\nd", ["1!\(CSVFault.carriageReturn)", "2:d"]),
            ("a,\"b\nc\nd", ["1!\(CSVFault.quoteOpen)", "2:c", "3:d"]),
            ("\"a\"\"", ["1!\(CSVFault.quoteOpen)"]), ("a\"", ["1!\(CSVFault.quoteInside)"]),
        ] as [(String, [String])],
    )
    func goesOn(text: String, expected: [String]) {
        for pieces in [1, 2, 1000] {
            #expect(Self.records(text, pieces: pieces) == expected, "in pieces of \(pieces)")
        }
    }

    @Test("a stray quote in a long file costs one line, not what follows")
    func strayQuote() {
        let lines = (1...5000).map { "line \($0),x" }
        let text = (["a,\"b"] + lines).joined(separator: "\n")
        for pieces in [7, 4096, 1_000_000] {
            let records = Self.records(text, pieces: pieces)
            #expect(records.count == 5001)
            #expect(records.first == "1!\(CSVFault.tooLong)")
            #expect(records.last == "5001:line 5000|x")
        }
    }

    @Test("the longest record is read, one byte more is refused, and no line is so long that the next is lost")
    func limit() {
        let longest = String(repeating: "x", count: CSVReader.maximumRecordBytes - 1)
        for pieces in [100, 1_000_000] {
            #expect(Self.records(longest + "\ny", pieces: pieces) == ["1:\(longest)", "2:y"])
            #expect(Self.records(longest + "xx\ny", pieces: pieces) == ["1!\(CSVFault.tooLong)", "2:y"])
            let endless = String(repeating: "x", count: 200_000)
            #expect(Self.records(endless + "\ny", pieces: pieces) == ["1!\(CSVFault.tooLong)", "2:y"])
            #expect(Self.records(endless, pieces: pieces) == ["1!\(CSVFault.tooLong)"])
        }
    }

    @Test("line and offset say where the next record begins, so that another reader can go on there")
    func position() {
        let text = Array("\u{FEFF}a,\"b\nc\"\r\n\n\"bad\"x\nd,e\n".utf8)
        var reader = CSVReader()
        reader.append(text)
        var positions: [String] = []
        while reader.next(isLast: true) != nil {
            positions.append("\(reader.line) at \(reader.offset)")
            var other = CSVReader(line: reader.line, offset: reader.offset)
            other.append(Array(text[Int(reader.offset)...]))
            var here = reader
            #expect(other.next(isLast: true) == here.next(isLast: true))
        }
        #expect(positions == ["3 at 12", "5 at 20", "6 at 24"])
    }

    @Test("any bytes end in records or faults, never in a trap")
    func anyBytes() {
        let alphabet: [UInt8] = [0x22, 0x22, 0x2C, 0x0A, 0x0D, 0x61, 0x00, 0xFF]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<40).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            #expect(Self.records(bytes, pieces: 3) == Self.records(bytes, pieces: 40), "\(bytes)")
        }
    }
}
