import LiveActivity
import Testing

@testable import Gateway

@Suite("How a message to an audience ends", .timeLimit(.minutes(5)))
struct FanOutEndTests {
    /// A silent update to everybody on whose phone the activity runs.
    private static func order(
        _ event: ActivityEvent = .update,
        alert: ActivityAlert? = nil,
        notification: NotificationContent = NotificationContent(),
        audience: Audience = .activity("order-7"),
        suppression: PushOrder.Suppression? = nil,
    ) -> PushOrder {
        var content = Fixture.content(event)
        content.alert = alert
        var order = Fixture.order(
            ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .system),
            notification: notification,
            suppression: suppression,
            recipients: [],
        )
        order.audience = audience
        return order
    }

    private static func end(
        _ order: PushOrder,
        newer: Int64? = 43,
        isRevoked: Bool = false,
        at seconds: Int64 = 1,
    ) -> FanOutEnd? {
        FanOutEnd(
            of: order,
            newer: newer,
            isRevoked: isRevoked,
            deadline: Fixture.accepted + .seconds(60),
            at: Fixture.accepted + .seconds(seconds),
        )
    }

    @Test("a newer message ends a silent update, and nothing else does before its deadline")
    func newer() {
        #expect(Self.end(Self.order()) == .superseded(by: 43))
        #expect(Self.end(Self.order(), newer: nil) == nil)
        #expect(Self.end(Self.order(), newer: nil, at: 59) == nil)
        #expect(Self.end(Self.order(), newer: nil, at: 60) == .expired)
        #expect(Self.end(Self.order(), at: 60) == .expired)
    }

    @Test("what says something aloud, an end, and what goes to another audience goes on whatever comes after it")
    func goesOn() {
        let alert = ActivityAlert(title: "Now", body: nil, sound: nil)
        let unaffected = [
            Self.order(.end), Self.order(alert: alert), Self.order(notification: Fixture.text),
            Self.order(notification: NotificationContent(ext: "x", isSilent: true)),
            Self.order(audience: .everyone), Self.order(audience: .segments(all: ["a"], any: [])),
            Self.order(audience: .activity("another")),
        ]
        for order in unaffected {
            #expect(Self.end(order) == nil)
        }
        #expect(Self.end(Self.order(alert: ActivityAlert(title: nil, body: nil, sound: "a"))) == .superseded(by: 43))
    }

    @Test("only an update or an end to all of the activity takes an older one's place")
    func replaces() {
        #expect(Self.order().replacesOlder && Self.order(.end).replacesOlder)
        #expect(Self.order(notification: Fixture.text).replacesOlder)
        #expect(!Self.order(.start).replacesOlder)
        #expect(!Self.order(audience: .everyone).replacesOlder)
        #expect(!Self.order(suppression: .noLifetime).replacesOlder)
    }

    @Test("what the sender suppressed is listed for nobody, whatever else there is")
    func suppressed() {
        #expect(Self.end(Self.order(audience: .everyone, suppression: .onlineOnly), at: 60) == .suppressed)
        #expect(Self.end(Self.order(.end), isRevoked: true, at: 60) == .revoked)
    }

    @Test("a cursor is read back as it was; one of a newer release, or damaged, is not read")
    func cursor() {
        let cursor = FanOutCursor(account: "\u{7528}\"1", listed: 1_000_000)
        #expect(FanOutCursor(decoding: cursor.encoded()) == cursor)
        #expect(FanOutCursor(decoding: FanOutCursor().encoded()) == FanOutCursor())
        for (text, replacement) in [(#""version":1"#, #""version":2"#), (#""account""#, #""other""#), ("}", "")] {
            let changed = String(decoding: cursor.encoded(), as: UTF8.self).replacing(text, with: replacement)
            #expect(FanOutCursor(decoding: Array(changed.utf8)) == nil)
        }
    }
}
