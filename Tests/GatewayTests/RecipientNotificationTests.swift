import APNs
import LiveActivity
import Testing

@testable import Gateway

@Suite("What a recipient's phones are shown", .timeLimit(.minutes(5)))
struct RecipientNotificationTests {
    private static func script(_ notification: NotificationContent) throws -> DeliveryScript {
        DeliveryScript(try Fixture.message(Fixture.order(nil, notification: notification)))
    }

    private static func attempts(_ script: DeliveryScript) throws -> [PushAttempt] {
        guard case .push(let attempts) = script.action else { throw TestFailure("nothing was pushed") }
        return attempts
    }

    private static let translated = NotificationContent(
        title: "Order",
        translations: [
            NotificationTranslation(language: "de", title: "Bestellung"),
            NotificationTranslation(language: "zh", title: "\u{8BA2}\u{5355}"),
        ],
        badge: .add(1),
    )

    @Test("a message to single phones is shown on those, as their pending row remembers, and others are not mentioned")
    func singlePhones() throws {
        var script = DeliveryScript(
            try Fixture.message(Fixture.order(nil, notification: Self.translated)),
            progress: .beginning(on: ["phone-2"]),
        )
        #expect(script.start() == ["look up devices"])
        #expect(try script.resumed())
        _ = script.start()
        let devices = try [Fixture.device(), Fixture.device("phone-2", token: 102)]
        #expect(script.found(devices: devices) == ["push device to phone-2 by 1 in production"])
        #expect(script.answered(0, .accepted) == ["notification to phone-2: accepted_by_apns, no_activity_in_message"])
        var other = DeliveryScript(script.message, progress: .beginning(on: ["phone-3"]))
        _ = other.start()
        #expect(other.found(devices: devices) == ["none: nothing_to_send, no_device"])
    }

    // MARK: - Language

    @Test("each phone gets its language, and one of another or an unknown one the message's own texts")
    func languages() throws {
        var script = try Self.script(Self.translated)
        _ = script.start()
        _ = try script.found(devices: [
            Fixture.device(language: "zh-Hans-CN"), Fixture.device("phone-2", token: 102, language: "fr"),
            Fixture.device("phone-3", token: 103), Fixture.device("phone-4", token: 104, language: "de-AT"),
        ])
        #expect(try Self.attempts(script).map(\.translation) == [1, nil, nil, 0])
    }

    @Test("C92: the fallback of a Live Activity message has language and badge as well")
    func fallback() throws {
        var script = DeliveryScript(try Fixture.message(Fixture.order(notification: Self.translated)))
        _ = script.start()
        #expect(script.found([]) == ["look up devices"])
        _ = try script.found(devices: [Fixture.device(language: "de", badge: 4)])
        let attempt = try #require(try Self.attempts(script).first)
        #expect(attempt.translation == 0)
        #expect(attempt.badge == 4)
    }

    @Test("a message that has text in other languages only is nothing to send for the rest")
    func onlyTranslated() throws {
        var content = Self.translated
        content.title = nil
        var script = try Self.script(content)
        #expect(script.start() == ["look up devices"])
        _ = try script.found(devices: [
            Fixture.device(language: "de"), Fixture.device("phone-2", token: 102, language: "fr"),
        ])
        #expect(try Self.attempts(script).map(\.installation) == ["phone-1"])
        #expect(
            script.answered(0, .accepted) == [
                "notification to phone-1: accepted_by_apns, no_activity_in_message",
                "notification to phone-2: nothing_to_send, no_text",
            ]
        )
    }

    // MARK: - Badge

    @Test("a retry carries the number of the first attempt, in whatever process")
    func retry() throws {
        var script = try Self.script(Self.translated)
        _ = script.start()
        _ = try script.found(devices: [Fixture.device(badge: 4), Fixture.device("phone-2", token: 102, badge: 9)])
        _ = script.answered(0, .refused(503, "ServiceUnavailable"))
        #expect(script.answered(1, .accepted) == ["wait until 2 s: ServiceUnavailable"])
        #expect(try script.resumed())
        _ = script.start(at: 2)
        _ = try script.found(
            devices: [Fixture.device(badge: 12), Fixture.device("phone-2", token: 102, badge: 9)],
            at: 2
        )
        #expect(try Self.attempts(script).map(\.badge) == [4])
    }

    @Test(
        "a retry is counted neither where it was before nor where nothing is sent any more, but where a phone came back"
    )
    func countedOnRetry() throws {
        var script = try Self.script(Self.translated)
        func excepted() throws -> [String] {
            let message = MessageTask(script.message, isWhole: false, isShared: true)
            return RecipientTask("alice", message, script.delivery, 1).count.excepted
        }
        #expect(try excepted() == [])
        let phone2 = try Fixture.device("phone-2", token: 102, badge: 4)
        let phone3 = try Fixture.device("phone-3", token: 103, badge: 9)
        _ = script.start()
        _ = try script.found(devices: [
            Fixture.device(foregroundUntil: Fixture.accepted + .seconds(1)), phone2, phone3,
        ])
        _ = script.answered(1, .refused(503, "ServiceUnavailable"))
        _ = script.answered(2, .refused(503, "ServiceUnavailable"))
        #expect(try excepted() == ["phone-1", "phone-2", "phone-3"])
        _ = script.start(at: 2)
        _ = try script.found(devices: [Fixture.device(), phone2], at: 2)
        _ = script.answered(1, .refused(503, "ServiceUnavailable"))
        #expect(try excepted() == ["phone-1", "phone-2"])
    }

    @Test("the other environment is asked with the same number")
    func otherEnvironment() throws {
        var script = try Self.script(Self.translated)
        _ = script.start()
        _ = try script.found(devices: [Fixture.device(environment: nil, badge: 4)])
        _ = script.answered(0, .refused(400, "BadDeviceToken"))
        #expect(try Self.attempts(script).map(\.badge) == [4])
    }

    // MARK: - Silent pushes

    @Test("a silent push needs no text, and neither a denied permission nor an app in front stops it")
    func silent() throws {
        var script = try Self.script(NotificationContent(isSilent: true))
        #expect(script.start() == ["look up devices"])
        let later = Fixture.accepted + .seconds(60)
        #expect(
            try script.found(devices: [
                Fixture.device(deniesNotifications: true),
                Fixture.device("phone-2", token: 102, foregroundUntil: later),
            ])
                == ["push device to phone-1 by 1 in production", "push device to phone-2 by 1 in production"]
        )
        #expect(try Self.attempts(script).map(\.priority) == [5, 5])
        _ = script.answered(0, .accepted)
        _ = script.answered(1, .accepted)
        guard case .settle(let settlement) = script.action, case .finished(let records) = settlement.next else {
            throw TestFailure("not finished")
        }
        #expect(records.map(\.target?.priorityReason) == ["background", "background"])
        #expect(records.map(\.target?.priority) == [5, 5])
    }
}
