import LiveActivity
import Testing

@testable import Gateway

@Suite("The stored order", .timeLimit(.minutes(5)))
struct PushOrderCodingTests {
    /// An order in which everything is set.
    private static func full() -> PushOrder {
        let content = ActivityContent(
            event: .end,
            contentState: Array(#"{"a":0.1,"e":1.0,"h":1e2,"i":-0.0,"s":"\u00e9\/"}"#.utf8),
            staleDate: 1_796_010_000,
            relevanceScore: Array("75.50".utf8),
            dismissalDate: 0,
            alert: ActivityAlert(title: "Now", body: "Here", sound: "ding.aiff"),
        )
        return PushOrder(
            dialect: .tencent,
            endpoint: "openim/batchsendmsg",
            sdkAppID: 1_400_000_000,
            messageKey: "1_2_3",
            sender: "\u{7528}\u{6237}\"1",
            recipients: ["alice", "\u{1F600}", "a/b\\c"],
            activity: ActivityInstruction(laID: "order/7", content: content, defaultDismissal: .system, priority: 5),
            notification: NotificationContent(
                title: "T",
                subtitle: "S",
                body: "B\n",
                sound: "push.no_sound",
                ext: #"{"x":1}"#,
                image: "https://example.com/a.png",
                mutableContent: true,
                interruptionLevel: .timeSensitive,
                translations: [
                    NotificationTranslation(language: "zh-Hant", title: "\u{8A02}\u{55AE}", body: "B"),
                    NotificationTranslation(language: "en"),
                ],
                badge: .set(0),
                isSilent: true,
            ),
            suppression: .pushFlag,
            lifetime: 604_800,
            otherPlatforms: Array(#"{"AndroidInfo":{"PushStyle": 1.0,"s":"\u00e9"}}"#.utf8),
        )
    }

    /// An order that starts an activity.
    private static func start() -> PushOrder {
        var order = Self.full()
        order.activity?.content = ActivityContent(
            event: .start,
            contentState: Array(#"{"a":1.0}"#.utf8),
            alert: ActivityAlert(title: .localized(key: "%@ now", arguments: ["A/b"]), body: "B"),
            start: ActivityStart(
                attributesType: "Delivery",
                attributes: Array(#"{"n":1e2}"#.utf8),
                wantsPushToken: true,
                pushChannel: "AAAA",
            ),
        )
        return order
    }

    /// An `end` that says nothing of the state.
    private static func endWithoutState() -> PushOrder {
        var order = Self.full()
        order.activity?.content.contentState = []
        return order
    }

    private static func changed(_ text: String, to replacement: String) throws -> [UInt8] {
        let encoded = String(decoding: full().encoded(), as: UTF8.self)
        guard encoded.contains(text) else { throw TestFailure("the encoding does not hold \(text)") }
        return Array(encoded.replacing(text, with: replacement).utf8)
    }

    @Test("an order is read back as it was, whatever it holds")
    func roundTrip() throws {
        let orders = [
            Self.full(), Fixture.order(), Fixture.order(nil), Fixture.order(Fixture.end(), suppression: .onlineOnly),
            Fixture.order(notification: NotificationContent()), Self.start(), Self.endWithoutState(),
            Fixture.order(notification: NotificationContent(title: "T", badge: .add(99))),
        ]
        for order in orders {
            #expect(try PushOrder(decoding: order.encoded()) == order)
        }
    }

    private static func order(to audience: Audience) -> PushOrder {
        var order = Fixture.order()
        order.recipients = []
        order.audience = audience
        return order
    }

    @Test("an order to an audience is read back as it was, and left alone by releases that know none")
    func audiences() throws {
        let token = try PushToken(bytes: [UInt8](repeating: 0xA1, count: 32))
        let audiences = [
            Audience.activity("order/7"), .devices([token]), .everyone, .segments(all: ["a\"b"], any: []),
            .segments(all: [], any: ["x", "y"]),
        ]
        for audience in audiences {
            let order = Self.order(to: audience)
            #expect(try PushOrder(decoding: order.encoded()) == order)
            #expect(String(decoding: order.encoded(), as: UTF8.self).contains(#""version":2"#))
        }
    }

    @Test(
        "an audience that this release does not know, or that names nobody, is refused",
        arguments: [
            #"{"kind":"new"}"#, #"{"kind":"activity"}"#, #"{"kind":"devices","tokens":["zz"]}"#, "[]",
            #"{"kind":"segments","all":[],"any":[]}"#, #"{"kind":"segments","all":[1],"any":[]}"#,
        ],
    )
    func unknownAudience(audience: String) throws {
        let encoded = String(decoding: Self.order(to: .everyone).encoded(), as: UTF8.self)
            .replacing(#"{"kind":"everyone"}"#, with: audience)
        #expect(throws: PushOrder.DecodingError(key: "audience")) { _ = try PushOrder(decoding: Array(encoded.utf8)) }
    }

    @Test("C78: ContentState is stored byte for byte")
    func contentState() throws {
        let state =
            #"{"a":0.1,"b":129.9,"e":1.0,"g":9007199254740993,"h":1e2,"i":-0.0,"j":0.10000000000000001, "k" : "\u00e9"}"#
        var order = Fixture.order()
        order.activity?.content.contentState = Array(state.utf8)
        let stored = try PushOrder(decoding: order.encoded()).activity?.content.contentState
        #expect(stored.map { String(decoding: $0, as: UTF8.self) } == state)
    }

    @Test("keys that this release does not know are ignored, at every level")
    func unknownKeys() throws {
        var bytes = String(decoding: Self.full().encoded(), as: UTF8.self)
        for object in [#""activity":{"#, #""alert":{"#, #""notification":{"#] {
            bytes = bytes.replacing(object, with: object + #""new":[1,{"a":null}],"#)
        }
        bytes = bytes.replacing(#"{"version""#, with: #"{"new":"x","version""#)
        #expect(try PushOrder(decoding: Array(bytes.utf8)) == Self.full())
    }

    @Test("an order of a newer release is refused by its version", arguments: [3, 0, -1])
    func version(version: Int) throws {
        let bytes = try Self.changed(#""version":1"#, to: #""version":\#(version)"#)
        #expect(throws: PushOrder.DecodingError(key: "version")) { _ = try PushOrder(decoding: bytes) }
    }

    @Test(
        "an order that is damaged or says what this release does not know names the key",
        arguments: [
            (#""dialect":"tencent""#, #""dialect":"new""#, "dialect"),
            (#""suppression":"push_flag""#, #""suppression":"new""#, "suppression"),
            (#""event":"end""#, #""event":"launch""#, "event"), (#""event":"end""#, #""event":"start""#, "start"),
            (#""defaultDismissal":"system""#, #""defaultDismissal":"new""#, "defaultDismissal"),
            (#""contentState":{"#, #""contentState":[],"was":{"#, "contentState"),
            (#""lifetime":604800"#, #""lifetime":"x""#, "lifetime"),
            (#""sender""#, #""other""#, "sender"),
            (#""notification":{"#, #""notification":1,"was":{"#, "notification"),
            (#""language":"en""#, #""was":"en""#, "language"),
        ],
    )
    func damaged(text: String, replacement: String, key: String) throws {
        let bytes = try Self.changed(text, to: replacement)
        #expect(throws: PushOrder.DecodingError(key: key)) { _ = try PushOrder(decoding: bytes) }
    }

    @Test("an order of the former release, without the keys that this one added, changes no badge and is not silent")
    func formerRelease() throws {
        let stored = #"""
            {"version":1,"dialect":"tencent","endpoint":"openim/sendmsg","sdkAppId":1,"messageKey":"k","sender":"a",
            "recipients":["b"],"notification":{"title":"T","mutableContent":false},"lifetime":60}
            """#
        let order = try PushOrder(decoding: Array(stored.utf8))
        #expect(order.notification == NotificationContent(title: "T"))
        #expect(order.otherPlatforms == nil)
    }

    @Test("what is no JSON is refused", arguments: ["", "{", "[]", "null"])
    func noJSON(text: String) {
        #expect(throws: PushOrder.DecodingError.self) { _ = try PushOrder(decoding: Array(text.utf8)) }
    }
}

@Suite("The stored progress of a recipient", .timeLimit(.minutes(5)))
struct RecipientProgressCodingTests {
    private static func target(_ state: DeliveryTarget.State) -> DeliveryTarget {
        DeliveryTarget(
            kind: .device,
            installation: "phone-1",
            tokenFingerprint: "0123456789ab",
            state: state,
            reason: "activity_not_registered",
        )
    }

    private static func full() -> RecipientProgress {
        var waiting = target(.waiting(until: UnixTime(microseconds: 1_796_007_172_123_456), reason: "TooManyRequests"))
        waiting.kind = .activity
        waiting.attempts = 3
        waiting.status = 429
        waiting.statusReason = "TooManyRequests"
        waiting.environment = .sandbox
        waiting.businessID = 7
        waiting.priority = 5
        waiting.priorityReason = "caller"
        waiting.timestampSent = 1_796_007_173
        waiting.payloadBytes = 4096
        waiting.badge = 7
        waiting.sentAt = UnixTime(microseconds: 1_796_007_172_000_001)
        let outcomes: [DeliveryOutcome] = [
            .acceptedByAPNs, .tokenDead, .refused, .expired, .superseded, .unchanged, .suppressed, .foreground,
            .activityEnded,
            .nothingToSend, .cancelled, .quarantined,
        ]
        return RecipientProgress(
            stage: .recheck,
            notificationReason: "activity_push_refused",
            targets: [waiting, target(.pushing)] + outcomes.map { target(.settled($0)) },
        )
    }

    @Test("progress is read back as it was", arguments: [RecipientProgress.Stage.activity, .recheck, .notification])
    func roundTrip(stage: RecipientProgress.Stage) {
        var progress = Self.full()
        progress.stage = stage
        #expect(RecipientProgress(decoding: progress.encoded()) == progress)
        #expect(RecipientProgress(decoding: RecipientProgress.none.encoded()) == RecipientProgress.none)
        progress.installations = ["phone-1", "phone-2"]
        #expect(RecipientProgress(decoding: progress.encoded()) == progress)
        #expect(String(decoding: progress.encoded(), as: UTF8.self).contains(#""version":2"#))
    }

    @Test(
        "progress of a newer release, or damaged, is not read",
        arguments: [
            (#""version":1"#, #""version":3"#), (#""stage":"recheck""#, #""stage":"new""#),
            (#""outcome":"refused""#, #""outcome":"new""#), (#""kind":"activity""#, #""kind":"new""#), ("}", ""),
        ],
    )
    func refused(text: String, replacement: String) {
        let encoded = String(decoding: Self.full().encoded(), as: UTF8.self).replacing(text, with: replacement)
        #expect(RecipientProgress(decoding: Array(encoded.utf8)) == nil)
    }

    @Test("keys that this release does not know are ignored")
    func unknownKeys() {
        let encoded = String(decoding: Self.full().encoded(), as: UTF8.self)
            .replacing(#""kind""#, with: #""new":{},"kind""#).replacing(#""stage""#, with: #""new":[],"stage""#)
        #expect(RecipientProgress(decoding: Array(encoded.utf8)) == Self.full())
    }
}
