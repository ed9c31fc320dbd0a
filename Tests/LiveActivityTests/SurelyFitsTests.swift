import Testing

@testable import LiveActivity

@Suite("What surely fits into a push", .timeLimit(.minutes(5)))
struct SurelyFitsTests {
    /// As many bytes of the dearest text as go into a body of which all else is as long as it can be.
    private static let dearest = String(repeating: "\u{1F}", count: (4096 - 512) / 6)

    @Test("A notification that surely fits is not cut, whatever its texts have to be escaped to")
    func notification() throws {
        let content = NotificationContent(
            title: Self.dearest,
            mutableContent: true,
            interruptionLevel: .timeSensitive,
            badge: .set(BadgeChange.highest),
        )
        #expect(NotificationPayload.surelyFits(content))
        let payload = try NotificationPayload(content)
        #expect(!payload.textWasCut)
        #expect(payload.encode(badge: BadgeChange.highest).count <= PayloadLimit.bytes)
        for part in [\NotificationContent.subtitle, \.body, \.sound, \.ext, \.image] {
            var more = content
            more[keyPath: part] = "x"
            #expect(!NotificationPayload.surelyFits(more))
        }
    }

    @Test("A Live Activity push that surely fits is within the limit with every date in it")
    func activity() {
        let content = ActivityContent(
            event: .end,
            contentState: Array(#"{"step":1}"#.utf8),
            staleDate: .min,
            relevanceScore: Array("-1.5e300".utf8),
            alert: ActivityAlert(title: .plain(String(Self.dearest.dropLast(6))), body: "x", sound: "x"),
        )
        #expect(LiveActivityPayload.surelyFits(content))
        let payload = LiveActivityPayload.encode(content, timestamp: .min, dismissalDate: .min)
        #expect(payload.count <= PayloadLimit.bytes)
        var more = content
        more.contentState = Array(repeating: UInt8(ascii: " "), count: 64) + content.contentState
        #expect(!LiveActivityPayload.surelyFits(more))
    }

    @Test("A start that surely fits is within the limit with every key in it, however many arguments its texts have")
    func start() {
        var content = ActivityContent(
            event: .start,
            contentState: Array(#"{"step":1}"#.utf8),
            staleDate: .min,
            relevanceScore: Array("-1.5e300".utf8),
            alert: ActivityAlert(
                title: .localized(key: "k", arguments: Array(repeating: "", count: 1180)),
                body: .localized(key: "k", arguments: []),
            ),
            start: ActivityStart(
                attributesType: "A",
                attributes: Array("{}".utf8),
                wantsPushToken: true,
                pushChannel: "AA==",
            ),
        )
        #expect(!LiveActivityPayload.surelyFits(content))
        content.alert?.title = .localized(key: "k", arguments: Array(repeating: "", count: 1160))
        #expect(LiveActivityPayload.surelyFits(content))
        #expect(LiveActivityPayload.encode(content, timestamp: .min, dismissalDate: nil).count <= PayloadLimit.bytes)
        content.start?.attributes = Array(#"{"a":"\#(String(repeating: "x", count: 100))"}"#.utf8)
        #expect(!LiveActivityPayload.surelyFits(content))
    }
}
