import LiveActivity
import Testing

@Suite("Push tokens", .timeLimit(.minutes(5)))
struct PushTokenTests {
    private func hexadecimal(digits: Int) -> String {
        String((0..<digits).map { "0123456789abcdef"[$0 % 16] })
    }

    @Test("C46: tokens of any accepted length are read", arguments: [64, 108, 160, 200, 512])
    func lengths(digits: Int) throws {
        let text = self.hexadecimal(digits: digits)
        let token = try PushToken(parsing: text)
        #expect(token.bytes.count == digits / 2)
        #expect(token.hexadecimal == text)
    }

    @Test("C46: brackets, blanks, line ends and case make no difference")
    func spelling() throws {
        let text = self.hexadecimal(digits: 64)
        let token = try PushToken(parsing: text)
        let groups = stride(from: 0, to: 64, by: 8).map { text.dropFirst($0).prefix(8) }.joined(separator: " ")
        for spelling in ["<\(groups)>", text.uppercased(), " \(text)\r\n", "\t<\(groups.uppercased())> "] {
            #expect(try PushToken(parsing: spelling) == token)
        }
    }

    @Test(
        "C46: a text that is no token is refused for its own reason",
        arguments: [
            ("", .empty), ("< >", .empty),
            (String(repeating: "a", count: 63), .oddLength), (String(repeating: "a", count: 65), .oddLength),
            ("<\(String(repeating: "0", count: 161))>", .oddLength),
            (String(repeating: "ab", count: 31), .wrongSize(bytes: 31)),
            (String(repeating: "ab", count: 257), .wrongSize(bytes: 257)),
            ("QUJD", .wrongSize(bytes: 3)),
            (String(repeating: "g", count: 63), .malformed), (String(repeating: "ab", count: 31) + "é", .malformed),
            (String(repeating: "_-", count: 22), .malformed), ("=" + String(repeating: "A", count: 43), .malformed),
            (String(repeating: "A", count: 40) + "A===", .malformed),
            (String(repeating: "zA", count: 21) + "z", .malformed),
            (String(repeating: "zz", count: 21) + "z=", .malformed),
            (String(repeating: "z", count: 42) + "\u{0}=", .malformed),
        ] as [(String, PushTokenError)],
    )
    func refused(text: String, expected: PushTokenError) {
        #expect(throws: expected) { try PushToken(parsing: text) }
    }

    @Test("Base64 with padding is read, and bits beyond the last byte are refused")
    func base64() throws {
        let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        #expect(try PushToken(parsing: text).bytes == Array(0...31))
        #expect(throws: PushTokenError.malformed) { try PushToken(parsing: String(text.dropLast(2)) + "9=") }
        let two = "+/ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ=="
        #expect(try PushToken(parsing: two).bytes == [0xFB, 0xF1] + Array(2...33))
    }

    @Test("The bytes of a token are checked for size as its text is")
    func bytes() throws {
        #expect(throws: PushTokenError.wrongSize(bytes: 31)) { try PushToken(bytes: Array(repeating: 1, count: 31)) }
        #expect(throws: PushTokenError.wrongSize(bytes: 257)) { try PushToken(bytes: Array(repeating: 1, count: 257)) }
        #expect(try PushToken(bytes: Array(repeating: 1, count: 32)).bytes.count == 32)
    }

    @Test("A token prints as the first 12 digits of its SHA-256, inside other values as well")
    func fingerprint() throws {
        let token = try PushToken(bytes: Array(repeating: 0, count: 32))
        #expect(token.fingerprint == "66687aadf862")
        #expect("\(token)" == "66687aadf862")
        #expect(String(reflecting: [token]) == "[66687aadf862]")
        #expect("\(Optional(token) as Any)" == "Optional(66687aadf862)")
    }
}

extension String {
    fileprivate subscript(position: Int) -> Character {
        self[self.index(self.startIndex, offsetBy: position)]
    }
}
