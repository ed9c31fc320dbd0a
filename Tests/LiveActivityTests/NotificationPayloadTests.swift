import LiveActivity
import Testing
import VerbatimJSON

@Suite("Body of a notification", .timeLimit(.minutes(5)))
struct NotificationPayloadTests {
    private func text(_ content: NotificationContent) throws -> String {
        let (bytes, textWasCut) = try Self.encode(content)
        #expect(!textWasCut)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func encode(
        _ content: NotificationContent,
        badge: Int64? = nil,
        limit: Int = PayloadLimit.bytes,
    ) throws -> (bytes: [UInt8], textWasCut: Bool) {
        let payload = try NotificationPayload(content, limit: limit)
        return (payload.encode(badge: badge), payload.textWasCut)
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
        let (bytes, textWasCut) = try Self.encode(NotificationContent(title: title, ext: url))
        #expect(!textWasCut)
        #expect(bytes.count <= 4096)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"aps":{"alert":{"title":"\#(title)"}},"ext":"\#(url)"}"#)
    }

    @Test("C83: 4096 bytes pass whole, 4097 are cut to at most 4096")
    func limit() throws {
        let frame = #"{"aps":{"alert":{"body":""}}}"#.utf8.count
        let fits = try Self.encode(
            NotificationContent(body: String(repeating: "b", count: 4096 - frame))
        )
        #expect(fits.bytes.count == 4096)
        #expect(!fits.textWasCut)
        let cut = try Self.encode(NotificationContent(body: String(repeating: "b", count: 4097 - frame)))
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
            let (bytes, textWasCut) = try Self.encode(content, limit: limit)
            #expect(textWasCut)
            #expect(bytes.count <= limit)
            #expect(bytes.count > limit - size)
            let body = try self.alert(bytes).body
            #expect(body == String(repeating: character, count: (bytes.count - frame - 3) / size) + "…")
        }
        #expect(throws: PayloadError.tooLarge(bytes: 10)) { try Self.encode(content, limit: frame + 2) }
    }

    @Test("The body goes first, then the subtitle, then the title, and ext stays whole")
    func order() throws {
        let content = NotificationContent(
            title: String(repeating: "t", count: 50),
            subtitle: String(repeating: "s", count: 50),
            body: String(repeating: "b", count: 50),
            ext: String(repeating: "e", count: 50),
        )
        let whole = try Self.encode(content).bytes.count
        var shapes: [String] = []
        for limit in (0..<whole).reversed() {
            guard let (bytes, textWasCut) = try? Self.encode(content, limit: limit) else {
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
            try Self.encode(content)
        }
    }

    @Test("A character too large for the room leaves only the ellipsis")
    func hugeCharacter() throws {
        let huge = "a" + String(repeating: "\u{301}", count: 4000)
        let (bytes, textWasCut) = try Self.encode(NotificationContent(title: "T", body: huge))
        #expect(textWasCut)
        let shown = try self.alert(bytes)
        #expect(shown.title == "T")
        #expect(shown.body == "…")
    }

    // MARK: - Badge

    @Test(
        "The phone's number stands in aps where the content changes the badge, and nowhere else",
        arguments: [
            (.add(1), 7, #","badge":7"#), (.add(1), 0, #","badge":0"#), (.set(0), 0, #","badge":0"#),
            (.set(999), 999, #","badge":999"#), (.unchanged, 7, ""), (.add(1), nil, ""),
        ] as [(BadgeChange, Int64?, String)],
    )
    func badge(change: BadgeChange, number: Int64?, expected: String) throws {
        let content = NotificationContent(title: "T", body: "}", sound: "s", ext: "x", badge: change)
        let bytes = try Self.encode(content, badge: number).bytes
        let text = #"{"aps":{"alert":{"title":"T","body":"}"}\#(expected),"sound":"s"},"ext":"x"}"#
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test("C83: a text that leaves no room for the widest badge is cut, whatever the phone's number is")
    func widestBadge() throws {
        let frame = #"{"aps":{"alert":{"body":""},"badge":99999}}"#.utf8.count
        for (excess, isCut) in [(0, false), (1, true)] {
            let body = String(repeating: "b", count: 4096 - frame + excess)
            let payload = try NotificationPayload(NotificationContent(body: body, badge: .add(1)))
            #expect(payload.textWasCut == isCut)
            #expect(payload.encode(badge: BadgeChange.highest).count == 4096)
            #expect(payload.encode(badge: 7).count == 4092)
        }
    }

    // MARK: - Silent

    @Test("A silent push holds content-available alone, and ext beside aps")
    func silent() throws {
        let content = NotificationContent(
            title: "T",
            body: "B",
            sound: "ding.caf",
            ext: "x",
            image: "https://example.org/a.png",
            mutableContent: true,
            interruptionLevel: .passive,
            badge: .set(3),
            isSilent: true,
        )
        let bytes = try Self.encode(content, badge: 3).bytes
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"aps":{"content-available":1},"ext":"x"}"#)
        let bare = try Self.encode(NotificationContent(isSilent: true)).bytes
        #expect(String(decoding: bare, as: UTF8.self) == #"{"aps":{"content-available":1}}"#)
    }

    @Test("A silent push whose ext is too large is refused: it has no text to cut")
    func silentTooLarge() {
        let frame = #"{"aps":{"content-available":1},"ext":""}"#.utf8.count
        let content = { NotificationContent(title: "T", ext: String(repeating: "x", count: $0), isSilent: true) }
        #expect(throws: Never.self) { try Self.encode(content(4096 - frame)) }
        #expect(throws: PayloadError.tooLarge(bytes: 4097)) { try Self.encode(content(4097 - frame)) }
    }
}
