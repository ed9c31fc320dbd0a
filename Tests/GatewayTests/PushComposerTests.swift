import APNs
import LiveActivity
import Testing
import VerbatimJSON

@testable import Gateway

@Suite("Requests to APNs", .timeLimit(.minutes(5)))
struct PushComposerTests {
    private static func attempt(
        _ kind: DeliveryTarget.Kind,
        installation: String = "phone-1",
        timestamp: Int64? = 1_796_007_173,
    ) throws -> PushAttempt {
        PushAttempt(
            target: 0,
            installation: installation,
            kind: kind,
            token: try Fixture.token(0xAB),
            destination: PushDestination(certificate: try Fixture.certificate(), environment: .production),
            timestamp: kind == .activity ? timestamp : nil,
            expiration: 1_796_010_772,
            priority: 5,
        )
    }

    private static func request(
        _ kind: DeliveryTarget.Kind,
        _ order: PushOrder = Fixture.order(),
        application: Application = Fixture.application(),
        account: String = "alice",
        installation: String = "phone-1",
        at now: UnixTime = Fixture.accepted,
    ) throws -> APNsRequest? {
        var composer = PushComposer(try Fixture.message(order, application: application))
        return composer.request(for: try attempt(kind, installation: installation), to: account, at: now)
    }

    private static func aps(_ request: APNsRequest?) throws -> JSONValue {
        let payload = try #require(request).payload
        return try #require(try JSONDocument(parsing: payload).root["aps"])
    }

    // MARK: - Headers

    @Test("C47: a Live Activity push has the topic with suffix and its push type, a notification the bundle id alone")
    func topics() throws {
        let activity = try #require(try Self.request(.activity))
        #expect(activity.topic == "com.example.app.push-type.liveactivity")
        #expect(activity.pushType == .liveActivity)
        let notification = try #require(try Self.request(.device))
        #expect(notification.topic == "com.example.app")
        #expect(notification.pushType == .alert)
    }

    @Test("what the attempt says goes into the headers", arguments: [DeliveryTarget.Kind.activity, .device])
    func headers(kind: DeliveryTarget.Kind) throws {
        let request = try #require(try Self.request(kind))
        #expect(request.deviceToken == String(repeating: "ab", count: 80))
        #expect(request.priority == 5)
        #expect(request.expiration == 1_796_010_772)
        #expect(request.apnsID == PushComposer.apnsID(42, kind, "alice", "phone-1"))
        #expect(request.collapseID == "m42")
    }

    @Test("C88, C89: a message has the same apns-id and collapse id for a target on every attempt, in every process")
    func sameIdentifiers() throws {
        let first = try #require(try Self.request(.device))
        let later = try #require(try Self.request(.device, at: Fixture.accepted + .seconds(900)))
        #expect(first == later)
        let activity = try #require(try Self.request(.activity))
        let activityLater = try #require(try Self.request(.activity, at: Fixture.accepted + .seconds(900)))
        #expect(activity.apnsID == activityLater.apnsID)
        #expect(activity.collapseID == activityLater.collapseID)
    }

    @Test("each target has an apns-id of its own")
    func ownIdentifiers() throws {
        let requests = try [
            Self.request(.activity), Self.request(.device), Self.request(.device, installation: "phone-2"),
            Self.request(.device, account: "bob"), Self.request(.device, account: "phone-1", installation: "alice"),
        ]
        #expect(Set(requests.compactMap { $0?.apnsID }).count == 5)
    }

    @Test("fallbacks of one activity replace each other only if the app wants it, other notifications never")
    func fallbackCollapse() throws {
        var application = Fixture.application()
        application.fallbackCollapse = .activity
        let fallback = try #require(try Self.request(.device, application: application))
        #expect(fallback.collapseID == PushIdentifiers.collapseID(account: "alice", laID: "order-7"))
        let other = try #require(try Self.request(.device, application: application, account: "bob"))
        #expect(other.collapseID != fallback.collapseID)
        #expect(try Self.request(.device, Fixture.order(nil), application: application)?.collapseID == "m42")
        #expect(try Self.request(.activity, application: application)?.collapseID == "m42")
    }

    // MARK: - Live Activity payload

    @Test("C57, C58: the timestamp is the claim's, in whole seconds")
    func timestamp() throws {
        let aps = try Self.aps(try Self.request(.activity, at: Fixture.accepted + .seconds(600)))
        #expect(aps["timestamp"]?.verbatim.elementsEqual("1796007173".utf8) == true)
    }

    @Test("each attempt of one message has its own timestamp and the rest in common")
    func severalTimestamps() throws {
        var composer = PushComposer(try Fixture.message())
        let payloads = try [1_796_007_173, 1_796_007_999].map { (timestamp: Int64) in
            let attempt = try Self.attempt(.activity, timestamp: timestamp)
            let request = composer.request(for: attempt, to: "alice", at: Fixture.accepted)
            return try #require(request).payload
        }
        #expect(
            payloads.map { String(decoding: $0, as: UTF8.self) } == [
                #"{"aps":{"timestamp":1796007173,"event":"update","content-state":{"step":1.0}}}"#,
                #"{"aps":{"timestamp":1796007999,"event":"update","content-state":{"step":1.0}}}"#,
            ]
        )
    }

    @Test(
        "C64: when an ended activity is removed",
        arguments: [
            (nil, .immediate, "1796007771"), (nil, .system, nil), (0, .immediate, "0"), (0, .system, "0"),
            (1_796_010_772, .immediate, "1796010772"), (1_806_007_171, .immediate, "1806007171"),
        ] as [(Int64?, ActivityInstruction.DefaultDismissal, String?)],
    )
    func dismissalDate(requested: Int64?, standard: ActivityInstruction.DefaultDismissal, sent: String?) throws {
        var end = Fixture.end()
        end.content.dismissalDate = requested
        end.defaultDismissal = standard
        let sentAt = Fixture.accepted + .seconds(600)
        let aps = try Self.aps(try Self.request(.activity, Fixture.order(end), at: sentAt))
        #expect(aps["dismissal-date"].map { String(decoding: $0.verbatim, as: UTF8.self) } == sent)
        #expect(aps["event"]?.string == "end")
    }

    @Test("C64: an end that is sent again says at once by the time of sending")
    func dismissalDateLater() throws {
        var composer = PushComposer(try Fixture.message(Fixture.order(Fixture.end())))
        var dates: [Int64?] = []
        for seconds in [0, 600, 600] as [Int64] {
            let now = Fixture.accepted + .seconds(seconds)
            let request = composer.request(for: try Self.attempt(.activity), to: "alice", at: now)
            dates.append(try Self.aps(request)["dismissal-date"]?.integer)
        }
        #expect(dates == [1_796_007_171, 1_796_007_771, 1_796_007_771])
    }

    @Test("C65: an update carries no dismissal-date")
    func updateWithDismissalDate() throws {
        var content = Fixture.content()
        content.dismissalDate = 1_796_010_772
        let update = ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .immediate)
        #expect(try Self.aps(try Self.request(.activity, Fixture.order(update)))["dismissal-date"] == nil)
    }

    @Test("C78: the state leaves byte for byte as it came")
    func contentState() throws {
        let state =
            #"{"a":0.1,"b":129.9,"c":68.32,"d":5.02,"e":1.0,"f":100,"g":9007199254740993,"h":1e2,"i":-0.0,"j":0.10000000000000001}"#
        var content = Fixture.content()
        content.contentState = Array(state.utf8)
        let update = ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .immediate)
        let aps = try Self.aps(try Self.request(.activity, Fixture.order(update)))
        #expect(aps["content-state"]?.verbatim.elementsEqual(state.utf8) == true)
    }

    @Test("texts belong to the notification: a Live Activity push has no alert")
    func noAlert() throws {
        let request = try #require(try Self.request(.activity))
        let members = try #require(try JSONDocument(parsing: request.payload).root["aps"]?.members)
        #expect(members.map(\.key) == ["timestamp", "event", "content-state"])
    }

    @Test("the alert of an overtaken update goes along with the state, unless both do not fit into one push")
    func waitingAlert() throws {
        let message = try Fixture.message()
        var composer = PushComposer(message)
        var attempt = try Self.attempt(.activity)
        let plain = composer.request(for: attempt, to: "alice", at: Fixture.accepted)
        attempt.waitingAlert = WaitingAlert(messageID: 5, alert: ActivityAlert(title: "Late"))
        let request = composer.request(for: attempt, to: "alice", at: Fixture.accepted)
        let aps = try Self.aps(request)
        #expect(aps["alert"]?.verbatim.elementsEqual(#"{"title":"Late"}"#.utf8) == true)
        #expect(aps["content-state"] != nil)
        #expect(request?.collapseID == PushIdentifiers.collapseID(messageID: message.receipt.id))
        #expect(!composer.leftAlertOut)
        let long = String(repeating: "x", count: 4096)
        attempt.waitingAlert = WaitingAlert(messageID: 5, alert: ActivityAlert(title: .plain(long)))
        let withoutAlert = composer.request(for: attempt, to: "alice", at: Fixture.accepted)
        #expect(withoutAlert == plain)
        #expect(composer.leftAlertOut)
    }

    @Test("a state that goes out again with an older alert has the ids of its own message, and fits or is not sent")
    func sentState() throws {
        for (title, fits) in [("Late", true), (String(repeating: "x", count: 4096), false)] {
            var content = Fixture.content()
            content.alert = ActivityAlert(title: .plain(title))
            let instruction = ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .immediate)
            var composer = PushComposer(try Fixture.message(Fixture.order(instruction)))
            var attempt = try Self.attempt(.activity)
            let state = ActivityContent(
                event: .update,
                contentState: Array(#"{"step":2.0}"#.utf8),
                staleDate: 1_796_007_999,
                relevanceScore: Array("75.50".utf8),
            )
            let stored = try #require(SentState(of: 50, decoding: SentState.encode(state)))
            #expect(stored == SentState(messageID: 50, content: state))
            attempt.sentState = stored
            let request = composer.request(for: attempt, to: "alice", at: Fixture.accepted)
            #expect((request != nil) == fits)
            guard fits else { continue }
            let aps = try Self.aps(request)
            #expect(aps["alert"]?.verbatim.elementsEqual(#"{"title":"Late"}"#.utf8) == true)
            #expect(aps["content-state"]?.verbatim.elementsEqual(#"{"step":2.0}"#.utf8) == true)
            #expect(aps["stale-date"]?.integer == 1_796_007_999)
            #expect(aps["relevance-score"]?.verbatim.elementsEqual("75.50".utf8) == true)
            #expect(request?.apnsID == PushComposer.apnsID(50, .activity, "alice", attempt.installation))
            #expect(request?.collapseID == PushIdentifiers.collapseID(messageID: 50))
        }
    }

    @Test("a Live Activity push is made up to 4096 bytes", arguments: [(0, true), (1, false)])
    func limit(excess: Int, isMade: Bool) throws {
        func order(_ count: Int) -> PushOrder {
            var content = Fixture.content()
            content.contentState = Array(#"{"s":"\#(String(repeating: "x", count: count))"}"#.utf8)
            return Fixture.order(ActivityInstruction(laID: "order-7", content: content, defaultDismissal: .immediate))
        }
        let overhead = try #require(try Self.request(.activity, order(0))).payload.count
        #expect((try Self.request(.activity, order(4096 - overhead + excess)) != nil) == isMade)
    }

    // MARK: - Notification payload

    @Test("C82: a long text and a URL are sent as UTF-8 without escapes, within 4096 bytes")
    func longText() throws {
        let title = String(repeating: "\u{6F22}", count: 1200)
        let url = "https://example.com" + String(repeating: "/a", count: 40)
        var order = Fixture.order()
        order.notification = NotificationContent(title: title, ext: url)
        let request = try #require(try Self.request(.device, order))
        #expect(request.payload.count <= 4096)
        let root = try JSONDocument(parsing: request.payload).root
        #expect(root["aps"]?["alert"]?["title"]?.string == title)
        #expect(root["ext"]?.verbatim.elementsEqual("\"\(url)\"".utf8) == true)
    }

    @Test("a notification carries neither event nor state")
    func notificationOnly() throws {
        let aps = try Self.aps(try Self.request(.device))
        #expect(aps["alert"]?["title"]?.string == "Order 7")
        #expect(aps["event"] == nil)
        #expect(aps["content-state"] == nil)
    }

    @Test("a notification that is too large without any text cannot be made")
    func notificationOverLimit() throws {
        var order = Fixture.order()
        order.notification = NotificationContent(title: "x", ext: String(repeating: "x", count: 4096))
        #expect(try Self.request(.device, order) == nil)
    }

    // MARK: - Language, badge, silence

    @Test("a phone gets the translation of its attempt with its own badge; what is shared is encoded alike")
    func variants() throws {
        var order = Fixture.order(nil)
        order.notification = NotificationContent(
            title: "Order",
            translations: [NotificationTranslation(language: "de", title: "Bestellung")],
            badge: .add(1),
        )
        var composer = PushComposer(try Fixture.message(order))
        var payloads: [String] = []
        for (translation, badge) in [(nil, 1), (0, 1), (nil, 12), (nil, 1), (5, nil)] as [(Int?, Int64?)] {
            var attempt = try Self.attempt(.device)
            attempt.translation = translation
            attempt.badge = badge
            let request = composer.request(for: attempt, to: "alice", at: Fixture.accepted)
            payloads.append(String(decoding: try #require(request).payload, as: UTF8.self))
        }
        #expect(
            payloads == [
                #"{"aps":{"alert":{"title":"Order"},"badge":1}}"#,
                #"{"aps":{"alert":{"title":"Bestellung"},"badge":1}}"#,
                #"{"aps":{"alert":{"title":"Order"},"badge":12}}"#, #"{"aps":{"alert":{"title":"Order"},"badge":1}}"#,
                #"{"aps":{"alert":{"title":"Order"}}}"#,
            ]
        )
    }

    @Test("a silent push has its push type, the bundle id as topic, and a collapse id of its own message")
    func silent() throws {
        var order = Fixture.order(nil)
        order.notification = NotificationContent(ext: "x", isSilent: true)
        var application = Fixture.application()
        application.fallbackCollapse = .activity
        let request = try #require(try Self.request(.device, order, application: application))
        #expect(request.pushType == .background)
        #expect(request.topic == "com.example.app")
        #expect(request.collapseID == "m42")
        #expect(String(decoding: request.payload, as: UTF8.self) == #"{"aps":{"content-available":1},"ext":"x"}"#)
    }
}
