import Testing
import VerbatimJSON

@testable import APNsSimulator

@Suite("Phone: Live Activities", .timeLimit(.minutes(5)))
struct PhoneActivityTests {
    private static let hour: Int64 = 3600

    // MARK: - Updates

    @Test("an update shows its state byte for byte, and what it leaves out is gone")
    func update() throws {
        var phone = PhoneUnderTest()
        let alert = #","alert":{"title":"T","body":"B","sound":"default"},"relevance-score":75.5"#
        #expect(try phone.send(state: #"{"x":1.0,"y":1e2}"#, rest: alert) == nil)
        let first = try phone.activity()
        #expect(first["contentState"].map { String(decoding: $0.verbatim, as: UTF8.self) } == #"{"x":1.0,"y":1e2}"#)
        #expect(first["alert"]?["title"]?.string == "T")
        #expect(first["alert"]?["sound"]?.string == "default")
        #expect(first["relevanceScore"]?.double == 75.5)
        #expect(first["bundleId"]?.string == Fixture.bundleID)
        #expect(try phone.send(at: 1) == nil)
        let second = try phone.activity(at: 1)
        #expect(second["alert"] == nil)
        #expect(second["relevanceScore"] == nil)
        #expect(second["updates"]?.integer == 2)
        #expect(second["timestamp"]?.integer == Fixture.issuedAt + 1)
    }

    @Test(
        "C58: the newest timestamp wins",
        arguments: [(5, nil), (1, nil), (0, "timestamp_not_newer"), (-1, "timestamp_not_newer")] as [(Int64, String?)]
    )
    func newest(_ timestamp: Int64, _ reason: String?) throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send(state: #"{"a":1}"#) == nil)
        #expect(try phone.send(at: 5, timestamp: timestamp, state: #"{"a":2}"#) == reason)
        let activity = try phone.activity(at: 5)
        #expect(activity["contentState"]?["a"]?.integer == (reason == nil ? 2 : 1))
        #expect(activity["ignored"]?.integer == (reason == nil ? 0 : 1))
        let event = try #require(try phone.json(at: 5)["events"]?.elements.first)
        #expect(event["outcome"]?.string == (reason == nil ? "shown" : "ignored"))
        #expect(event["reason"]?.string == reason)
    }

    @Test("C68: a sound beside the alert, and an alert without text, have no effect; the update has")
    func alertParts() throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send(rest: #","sound":"ding.aiff""#) == "sound_belongs_in_alert")
        #expect(try phone.send(at: 1, rest: #","alert":{}"#) == "alert_without_text")
        #expect(try phone.activity(at: 1)["updates"]?.integer == 2)
        let event = try #require(try phone.json(at: 1)["events"]?.elements.first)
        #expect(event["outcome"]?.string == "shown")
        #expect(event["ignoredPart"]?["what"]?.string == "alert")
    }

    @Test("an alert with keys of the app's own texts shows the keys with their arguments")
    func localizedAlert() throws {
        var phone = PhoneUnderTest()
        let alert =
            #","alert":{"title":{"loc-key":"%@ is down","loc-args":["Panda"]},"body":{"loc-key":"HEAL","loc-args":["x","y"]}}"#
        #expect(try phone.send(rest: alert) == nil)
        #expect(try phone.activity()["alert"]?["title"]?.string == "Panda is down")
        #expect(try phone.activity()["alert"]?["body"]?.string == "HEAL (x, y)")
    }

    // MARK: - Life

    @Test("a stale date that has passed makes the card stale, and the next update fresh again")
    func stale() throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send(rest: #","stale-date":\#(Fixture.issuedAt + 60)"#) == nil)
        #expect(try phone.state(at: 59) == "active")
        #expect(try phone.state(at: 60) == "stale")
        #expect(try phone.send(at: 61) == nil)
        #expect(try phone.state(at: 61) == "active")
        #expect(try phone.send(at: 62, rest: #","stale-date":"soon""#) == "date_not_a_number")
    }

    @Test(
        "the dismissal date of an end says when the card goes, 4 h after the end at the latest",
        arguments: [
            ("\(Fixture.issuedAt)", 10), ("0", 10), ("-5", 10), ("\(Fixture.issuedAt + 70)", 70),
            ("\(Fixture.issuedAt + 70).9", 70), ("\(Fixture.issuedAt + 20_000)", 10 + 14_400),
            ("1796000000000", 10 + 14_400), ("1e300", 10 + 14_400), (nil, 10 + 14_400),
        ] as [(String?, Int64)]
    )
    func dismissal(_ date: String?, _ leaves: Int64) throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send() == nil)
        let rest = date.map { #","dismissal-date":\#($0)"# } ?? ""
        #expect(try phone.send("end", at: 10, state: #"{"a":2}"#, rest: rest) == nil)
        #expect(try phone.activity(at: 10)["leavesAt"]?.integer == Fixture.issuedAt + leaves)
        #expect(try phone.state(at: leaves) == "dismissed")
        if leaves > 10 {
            #expect(try phone.state(at: leaves - 1) == "ended")
        }
        #expect(try phone.activity(at: 10)["contentState"]?["a"]?.integer == 2)
    }

    @Test("an end without a state leaves the last one, and nothing follows an end")
    func end() throws {
        var phone = PhoneUnderTest()
        #expect(try phone.send() == nil)
        let body = #"{"aps":{"timestamp":\#(Fixture.issuedAt + 1),"event":"end"}}"#
        #expect(try phone.send(body: body, type: .liveactivity, at: 1) == nil)
        #expect(try phone.state(at: 1) == "ended")
        #expect(try phone.activity(at: 1)["contentState"]?["a"]?.integer == 1)
        #expect(try phone.send(at: 2) == "activity_ended")
        #expect(try phone.send("end", at: 3) == "activity_ended")
    }

    @Test("the system ends an activity 8 h after its start, and its card goes after 12 h")
    func life() throws {
        var phone = PhoneUnderTest(declaration: PhoneUnderTest.declaration(startedAt: -Self.hour))
        #expect(try phone.send() == nil)
        #expect(try phone.state(at: 7 * Self.hour - 1) == "active")
        #expect(try phone.state(at: 7 * Self.hour) == "expired")
        #expect(try phone.send(at: 7 * Self.hour) == "activity_expired")
        #expect(try phone.state(at: 11 * Self.hour - 1) == "expired")
        #expect(try phone.state(at: 11 * Self.hour) == "dismissed")
        #expect(try phone.send("end", at: 11 * Self.hour) == "activity_expired")
    }

    @Test("an end after the 8 h still takes the card away, and no later than after 12 h")
    func lateEnd() throws {
        var phone = PhoneUnderTest(declaration: PhoneUnderTest.declaration())
        #expect(try phone.send("end", at: 9 * Self.hour) == nil)
        #expect(try phone.state(at: 12 * Self.hour - 1) == "ended")
        #expect(try phone.state(at: 12 * Self.hour) == "dismissed")
    }

    @Test("what the user has dismissed stays away")
    func dismissedByUser() throws {
        var declaration = PhoneUnderTest.declaration()
        declaration.isDismissedByUser = true
        var phone = PhoneUnderTest(declaration: declaration)
        #expect(try phone.state() == "dismissed")
        #expect(try phone.send() == "activity_dismissed")
    }

    // MARK: - Declarations

    @Test("a declared activity is on the lock screen before any push, and pushes find it in either environment")
    func declared() throws {
        var declaration = PhoneUnderTest.declaration()
        declaration.attributesType = "Order"
        declaration.contentState = Array(#"{"first":true}"#.utf8)
        var phone = PhoneUnderTest(declaration: declaration)
        let before = try phone.activity()
        #expect(before["activity"]?.string == "order-1")
        #expect(before["state"]?.string == "active")
        #expect(before["contentState"]?["first"]?.boolean == true)
        #expect(before["updates"]?.integer == 0)
        #expect(try phone.send() == nil)
        #expect(try phone.json()["activities"]?.elements.count == 1)
        #expect(try phone.activity()["contentState"]?["first"] == nil)
    }

    @Test("start tokens start, the tokens of activities do not")
    func tokenKinds() throws {
        var declaration = PhoneUnderTest.declaration()
        var phone = PhoneUnderTest(declaration: declaration)
        #expect(try phone.start() == "start_needs_start_token")
        declaration.kind = .start
        phone = PhoneUnderTest(declaration: declaration)
        #expect(try phone.send() == "start_token_only_starts")
        #expect(try phone.start() == nil)
        #expect(try phone.activity()["token"]?.kind == .null)
        #expect(try phone.activity()["attributesType"]?.string == "Order")
    }

    @Test("a token declared for the attributes of a started activity is that activity's")
    func adoption() throws {
        var phone = PhoneUnderTest()
        #expect(try phone.start(type: "Order") == nil)
        #expect(try phone.start(at: 1, type: "Game") == nil)
        var declaration = PhoneUnderTest.declaration()
        declaration.attributesType = "Game"
        let token = try #require(DeviceToken(Fixture.activityToken))
        phone.phone.declare(declaration, token: token, now: Fixture.issuedAt + 2)
        phone.declaration = declaration
        #expect(try phone.send(at: 3, state: #"{"score":2}"#) == nil)
        let activities = try #require(try phone.json(at: 3)["activities"]?.elements)
        #expect(activities.count == 2)
        #expect(activities.last?["activity"]?.string == "order-1")
        #expect(activities.last?["contentState"]?["score"]?.integer == 2)
    }

    // MARK: - Budgets

    @Test("C71: priority 10 is throttled once the hour's budget is spent; priority 5 is free, and the next hour new")
    func priority10() throws {
        var rules = PhoneRules()
        rules.priority10Budget = 3
        var phone = PhoneUnderTest(rules: rules)
        for offset in 0..<3 as Range<Int64> {
            #expect(try phone.send(at: offset, priority: 10) == nil)
        }
        #expect(try phone.send(at: 3, priority: 10) == "priority_10_budget_spent")
        #expect(try phone.send(at: 4, priority: 5) == nil)
        // Another activity of the app has no budget of its own, another app has.
        #expect(
            try phone.send(at: 5, priority: 10, token: Fixture.deviceToken) == "priority_10_budget_spent"
        )
        let body = Fixture.update(at: 6)
        #expect(
            try phone.send(body: body, type: .liveactivity, at: 6, priority: 10, bundleID: "com.ex.other") == nil
        )
        let budget = try #require(try phone.json(at: 6)["apps"]?.elements.first?["budget"])
        #expect(budget["limit"]?.integer == 3)
        #expect(budget["spent"]?.integer == 3)
        #expect(budget["windowStart"]?.integer == Fixture.issuedAt)
        #expect(try phone.send(at: 3599, priority: 10) == "priority_10_budget_spent")
        #expect(try phone.send(at: 3600, priority: 10) == nil)
        let renewed = try #require(try phone.json(at: 7200)["apps"]?.elements.first?["budget"])
        #expect(renewed["spent"]?.integer == 0)
        #expect(renewed["windowStart"]?.kind == .null)
    }

    @Test("frequent pushes raise the budget for priority 10")
    func frequent() throws {
        var rules = PhoneRules()
        rules.priority10Budget = 1
        rules.frequentPriority10Budget = 2
        var declaration = PhoneUnderTest.declaration()
        declaration.allowsFrequentPushes = true
        var phone = PhoneUnderTest(rules: rules, declaration: declaration)
        #expect(try phone.send(at: 0, priority: 10) == nil)
        #expect(try phone.send(at: 1, priority: 10) == nil)
        #expect(try phone.send(at: 2, priority: 10) == "priority_10_budget_spent")
    }

    @Test("C70: after ten quick starts nothing appears")
    func starts() throws {
        var phone = PhoneUnderTest()
        for offset in 0..<10 as Range<Int64> {
            #expect(try phone.start(at: offset) == nil)
        }
        #expect(try phone.start(at: 10) == "start_budget_spent")
        #expect(try phone.start(at: 11, priority: 5) == "start_budget_spent")
        #expect(try phone.json(at: 11)["activities"]?.elements.count == 10)
        #expect(try phone.json(at: 11)["apps"]?.elements.first?["budget"]?["spent"]?.integer == 0)
        #expect(try phone.start(at: 3600) == nil)
    }

    // MARK: - Memory

    @Test("a phone keeps so many activities and events; a card that is gone makes room first")
    func capacity() throws {
        var phone = PhoneUnderTest()
        var tokens: [String] = []
        for number in 0..<Phone.activityCapacity {
            let token = String(number + 16, radix: 16)
            tokens.append(String(repeating: token, count: 32))
            #expect(try phone.send(at: Int64(number), token: tokens[number]) == nil)
        }
        #expect(try phone.send("end", at: 20, rest: #","dismissal-date":0"#, token: tokens[5]) == nil)
        #expect(try phone.send(at: 21, token: Fixture.deviceToken) == nil)
        #expect(try phone.send(at: 22, token: tokens[0]) == nil)
        let json = try phone.json(at: 22)
        #expect(json["activities"]?.elements.count == Phone.activityCapacity)
        #expect(json["activities"]?.elements.first?["updates"]?.integer == 2)
        for offset in 0..<Int64(Phone.eventCapacity) {
            _ = try phone.send(at: offset)
        }
        #expect(try phone.json()["events"]?.elements.count == Phone.eventCapacity)
    }
}
