import Testing
import VerbatimJSON

@testable import APNsSimulator

@Suite("Phone: notifications and background pushes", .timeLimit(.minutes(5)))
struct PhoneNotificationTests {
    private func notifications(_ phone: PhoneUnderTest) throws -> [JSONValue] {
        try phone.json()["notifications"]?.elements ?? []
    }

    @Test("a notification shows title, subtitle, body, sound, badge and thread")
    func whole() throws {
        var phone = PhoneUnderTest()
        let body = """
            {"aps":{"alert":{"title":"T","subtitle":"S","body":"B"},"sound":{"critical":1,"name":"bell.caf"},"badge":3,\
            "thread-id":"chat","interruption-level":"time-sensitive"}}
            """
        #expect(try phone.send(body: body, type: .alert, id: "an-id", collapseID: "c") == nil)
        let shown = try #require(try notifications(phone).first)
        let expected = [
            "id": "an-id", "collapseId": "c", "title": "T", "subtitle": "S", "body": "B", "sound": "bell.caf",
            "threadId": "chat", "interruptionLevel": "time-sensitive", "bundleId": Fixture.bundleID,
        ]
        for (key, value) in expected {
            #expect(shown[key]?.string == value, "\(key)")
        }
        #expect(shown["badge"]?.integer == 3)
        #expect(shown["receivedAt"]?.integer == Fixture.time.milliseconds)
        #expect(try phone.json()["badge"]?.integer == 3)
    }

    @Test(
        "an alert is a text, an object, or keys with arguments",
        arguments: [
            (#""Hello""#, nil, "Hello"), (#"{"body":"B"}"#, nil, "B"),
            (#"{"title-loc-key":"HI_%@","title-loc-args":["Bo"],"title":"unused","loc-key":"KEY"}"#, "HI_Bo", "KEY"),
            (#"{"title":7,"body":"B"}"#, nil, "B"),
        ] as [(String, String?, String?)]
    )
    func alertForms(_ alert: String, _ title: String?, _ text: String?) throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send(body: #"{"aps":{"alert":\#(alert)}}"#, type: .alert) == nil)
        let shown = try #require(try notifications(phone).first)
        #expect(shown["title"]?.string == title)
        #expect(shown["body"]?.string == text)
        #expect(shown["id"]?.string == "1")
    }

    @Test("the same collapse id replaces, in one app; without one, repeats are shown again")
    func collapse() throws {
        var phone = PhoneUnderTest()
        func alert(_ text: String) -> String { #"{"aps":{"alert":"\#(text)"}}"# }
        #expect(try phone.send(body: alert("1"), type: .alert, collapseID: "c") == nil)
        #expect(try phone.send(body: alert("2"), type: .alert, collapseID: "other") == nil)
        #expect(try phone.send(body: alert("3"), type: .alert, collapseID: "c") == nil)
        #expect(try phone.send(body: alert("4"), type: .alert, collapseID: "c", bundleID: "com.ex.other") == nil)
        #expect(try notifications(phone).map { $0["body"]?.string } == ["4", "3", "2"])
        #expect(try phone.send(body: alert("5"), type: .alert) == nil)
        #expect(try phone.send(body: alert("5"), type: .alert) == nil)
        #expect(try notifications(phone).count == 5)
        for number in 0..<Phone.notificationCapacity {
            _ = try phone.send(body: alert("\(number)"), type: .alert)
        }
        #expect(try notifications(phone).count == Phone.notificationCapacity)
    }

    @Test(
        "a badge alone counts and shows nothing; 0 removes it, nonsense leaves it",
        arguments: [("7", 7), ("0", 0), ("-1", 2), ("1e12", 2), (#""3""#, 2)]
    )
    func badge(_ badge: String, _ expected: Int64) throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send(body: #"{"aps":{"badge":2}}"#, type: .alert) == nil)
        let ignored = try phone.send(body: #"{"aps":{"badge":\#(badge)}}"#, type: .alert)
        #expect(ignored == (expected == 2 ? "badge_not_a_number" : nil))
        #expect(try phone.json()["badge"]?.integer == expected)
        #expect(try notifications(phone).isEmpty)
    }

    @Test("a badge that is no number is ignored, beside what is shown")
    func badBadge() throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send(body: #"{"aps":{"alert":"A","badge":"3"}}"#, type: .alert) == "badge_not_a_number")
        #expect(try phone.send(body: #"{"aps":{"sound":"a.caf","badge":"3"}}"#, type: .alert) == "badge_not_a_number")
        #expect(try notifications(phone).map { $0["body"]?.string } == ["A"])
        let events = try phone.json()["events"]?.elements ?? []
        #expect(events.map { $0["outcome"]?.string } == ["shown", "shown"])
        #expect(events.map { $0["ignoredPart"]?["what"]?.string } == ["badge", "badge"])
    }

    @Test("badges of two apps are added")
    func badges() throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send(body: #"{"aps":{"badge":2}}"#, type: .alert) == nil)
        #expect(try phone.send(body: #"{"aps":{"badge":5}}"#, type: .alert, bundleID: "com.ex.other") == nil)
        #expect(try phone.json()["badge"]?.integer == 7)
        #expect(try phone.json()["apps"]?.elements.map { $0["badge"]?.integer } == [2, 5])
    }

    @Test("nothing to show, and a background push that wakes nobody, are ignored")
    func nothing() throws {
        var phone = PhoneUnderTest()
        for aps in ["{}", #"{"alert":""}"#, #"{"alert":{}}"#, #"{"alert":{"title":""},"sound":7}"#] {
            #expect(try phone.send(body: #"{"aps":\#(aps)}"#, type: .alert) == "nothing_to_show", "\(aps)")
        }
        #expect(try phone.send(body: #"{"aps":{}}"#, type: .background) == "content_available_missing")
        #expect(
            try phone.json()["events"]?.elements.map { $0["outcome"]?.string } == Array(repeating: "ignored", count: 5)
        )
        #expect(try phone.send(body: #"{"aps":{"alert":"","content-available":1}}"#, type: .alert) == nil)
        #expect(try phone.json()["events"]?.elements.first?["outcome"]?.string == "woke_app")
    }

    @Test("background pushes wake the app three times an hour, and show nothing")
    func background() throws {
        var phone = PhoneUnderTest()
        for offset in 0..<3 as Range<Int64> {
            #expect(try phone.send(body: Fixture.background, type: .background, at: offset) == nil)
        }
        #expect(try phone.send(body: Fixture.background, type: .background, at: 3) == "background_budget_spent")
        #expect(try phone.send(body: Fixture.background, type: .alert, at: 3) == "background_budget_spent")
        #expect(try notifications(phone).isEmpty)
        let app = try #require(try phone.json(at: 3)["apps"]?.elements.first)
        #expect(app["wakes"]?.integer == 3)
        #expect(app["backgroundBudget"]?["spent"]?.integer == 3)
        #expect(try phone.json()["events"]?.elements.last?["outcome"]?.string == "woke_app")
        #expect(try phone.send(body: Fixture.background, type: .background, at: 3600) == nil)
    }
}
