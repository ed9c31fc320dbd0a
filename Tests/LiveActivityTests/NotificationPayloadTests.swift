import LiveActivity
import Testing
import VerbatimJSON

@Suite("Body of a notification", .timeLimit(.minutes(1)))
struct NotificationPayloadTests {
    private func text(_ content: NotificationContent) throws -> String {
        let (bytes, textWasCut) = try NotificationPayload.encode(content)
        #expect(!textWasCut)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes what a body shows, and checks that it is JSON.
    private func alert(_ bytes: [UInt8]) throws -> (title: String?, subtitle: String?, body: String?) {
        let alert = try JSONDocument(parsing: bytes).root["aps"]?["alert"]
        return (alert?["title"]?.string, alert?["subtitle"]?.string, alert?["body"]?.string)
    }

    @Test("A notification with everything has texts in the alert and the app's own keys beside aps")
    func everything() throws {
        let content = NotificationContent(
            title: "T",
            subtitle: "S",
            body: "B",
            sound: "ding.caf",
            ext: #"{"entity":{"url":"a/b"}}"#,
            image: "https://example.org/a.png",
            mutableContent: true,
            interruptionLevel: .timeSensitive,
        )
        let expected =
            #"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"},"sound":"ding.caf","mutable-content":1,"#
            + #""interruption-level":"time-sensitive"},"ext":"{\"entity\":{\"url\":\"a/b\"}}","image":"https://example.org/a.png"}"#
        #expect(try self.text(content) == expected)
    }

    @Test("What is not given, or empty, is left out")
    func leftOut() throws {
        let content = NotificationContent(title: "", subtitle: nil, body: "B", sound: "", image: "")
        #expect(try self.text(content) == #"{"aps":{"alert":{"body":"B"}}}"#)
    }

    @Test(
        "Sounds are passed on by name, and Tencent's word for silence is left out",
        arguments: [
            ("default", #""sound":"default""#), ("a.caf", #""sound":"a.caf""#), ("push.no_sound", nil), (nil, nil),
        ]
            as [(String?, String?)],
    )
    func sounds(sound: String?, expected: String?) throws {
        let text = try self.text(NotificationContent(body: "B", sound: sound))
        #expect(text == #"{"aps":{"alert":{"body":"B"}\#(expected.map { "," + $0 } ?? "")}}"#)
    }

    @Test("A content without texts is empty, whatever else it has")
    func isEmpty() {
        #expect(NotificationContent(title: "", sound: "default", ext: "x").isEmpty)
        #expect(!NotificationContent(title: "T").isEmpty)
        #expect(!NotificationContent(subtitle: "S").isEmpty)
        #expect(!NotificationContent(body: "B").isEmpty)
    }

    @Test("C82: 1200 CJK characters and a URL with 40 slashes fit uncut, as UTF-8 with plain slashes")
    func noNeedlessEscapes() throws {
        let title = String(repeating: "界", count: 1200)
        let url = "https:/" + String(repeating: "/abcde", count: 39)
        let (bytes, textWasCut) = try NotificationPayload.encode(NotificationContent(title: title, ext: url))
        #expect(!textWasCut)
        #expect(bytes.count <= 4096)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"aps":{"alert":{"title":"\#(title)"}},"ext":"\#(url)"}"#)
    }

    @Test("C83: 4096 bytes pass whole, 4097 are cut to at most 4096")
    func limit() throws {
        let frame = #"{"aps":{"alert":{"body":""}}}"#.utf8.count
        let fits = try NotificationPayload.encode(
            NotificationContent(body: String(repeating: "b", count: 4096 - frame))
        )
        #expect(fits.bytes.count == 4096)
        #expect(!fits.textWasCut)
        let cut = try NotificationPayload.encode(NotificationContent(body: String(repeating: "b", count: 4097 - frame)))
        #expect(cut.bytes.count == 4096)
        #expect(cut.textWasCut)
        #expect(try self.alert(cut.bytes).body == String(repeating: "b", count: 4096 - frame - 3) + "…")
    }

    @Test(
        "At each limit a text is cut between whole characters, as little as possible",
        arguments: ["👨‍👩‍👧", "e\u{301}", "🇨🇳", "\"", "\n", "\u{1}", "a", "界", "\r\n"],
    )
    func boundaries(character: String) throws {
        let content = NotificationContent(body: String(repeating: character, count: 100))
        let size = JSONWriter.escapedCount(of: character)
        let frame = #"{"aps":{"alert":{"body":""}}}"#.utf8.count
        for limit in frame + 3..<frame + 100 * size {
            let (bytes, textWasCut) = try NotificationPayload.encode(content, limit: limit)
            #expect(textWasCut)
            #expect(bytes.count <= limit)
            #expect(bytes.count > limit - size)
            let body = try self.alert(bytes).body
            #expect(body == String(repeating: character, count: (bytes.count - frame - 3) / size) + "…")
        }
        #expect(throws: PayloadError.tooLarge(bytes: 10)) { try NotificationPayload.encode(content, limit: frame + 2) }
    }

    @Test("The body goes first, then the subtitle, then the title, and ext stays whole")
    func order() throws {
        let content = NotificationContent(
            title: String(repeating: "t", count: 50),
            subtitle: String(repeating: "s", count: 50),
            body: String(repeating: "b", count: 50),
            ext: String(repeating: "e", count: 50),
        )
        let whole = try NotificationPayload.encode(content).bytes.count
        var shapes: [String] = []
        for limit in (0..<whole).reversed() {
            guard let (bytes, textWasCut) = try? NotificationPayload.encode(content, limit: limit) else {
                shapes.append("refused")
                continue
            }
            #expect(bytes.count <= limit)
            #expect(textWasCut)
            let shown = try self.alert(bytes)
            #expect(try JSONDocument(parsing: bytes).root["ext"]?.string == content.ext)
            shapes.append(
                zip([shown.title, shown.subtitle, shown.body], [content.title, content.subtitle, content.body])
                    .map { $0 == nil ? "-" : $0 == $1 ? "whole" : "cut" }.joined(separator: " ")
            )
        }
        var distinct: [String] = []
        for shape in shapes where shape != distinct.last { distinct.append(shape) }
        let expected = [
            "whole whole cut", "whole whole -", "whole cut -", "whole - -", "cut - -", "refused",
        ]
        #expect(distinct == expected)
    }

    @Test("An ext that leaves no room for any text is refused with the size")
    func tooLarge() {
        let content = NotificationContent(title: "T", body: "B", ext: String(repeating: "\"", count: 2048))
        #expect(throws: PayloadError.tooLarge(bytes: 4096 + #"{"aps":{},"ext":""}"#.utf8.count)) {
            try NotificationPayload.encode(content)
        }
    }

    @Test("A character too large for the room leaves only the ellipsis")
    func hugeCharacter() throws {
        let huge = "a" + String(repeating: "\u{301}", count: 4000)
        let (bytes, textWasCut) = try NotificationPayload.encode(NotificationContent(title: "T", body: huge))
        #expect(textWasCut)
        let shown = try self.alert(bytes)
        #expect(shown.title == "T")
        #expect(shown.body == "…")
    }
}
