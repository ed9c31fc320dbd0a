import LiveActivity
import Testing

@Suite("Ids and topics", .timeLimit(.minutes(5)))
struct PushIdentifiersTests {
    @Test("An apns-id is a canonical lower-case UUID and the same each time")
    func canonicalForm() {
        for messageID in [0, 1, 42, Int64.max, Int64.min] {
            let id = PushIdentifiers.apnsID(messageID: messageID, kind: "activity", target: "7/alice/phone")
            #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
            #expect(id == PushIdentifiers.apnsID(messageID: messageID, kind: "activity", target: "7/alice/phone"))
        }
    }

    @Test("An apns-id never changes between releases, since a takeover by a newer one must repeat it")
    func stableForm() {
        let id = PushIdentifiers.apnsID(messageID: 1, kind: "activity", target: "t")
        #expect(id == "42c462cd-dbc9-85b7-8930-7fd1a737ee7d")
        #expect(PushIdentifiers.collapseID(account: "alice", laID: "ride") == "a39b29013d871ef17d6597bc7f7d763bc")
    }

    @Test("Another message, kind or target has another apns-id, however the parts are split")
    func distinct() {
        let ids = [
            PushIdentifiers.apnsID(messageID: 1, kind: "a", target: "bc"),
            PushIdentifiers.apnsID(messageID: 1, kind: "ab", target: "c"),
            PushIdentifiers.apnsID(messageID: 2, kind: "a", target: "bc"),
            PushIdentifiers.apnsID(messageID: 1, kind: "a", target: "bd"),
            PushIdentifiers.apnsID(messageID: 1, kind: "", target: "1:abc"),
        ]
        #expect(Set(ids).count == ids.count)
    }

    @Test("Collapse ids stay within 64 bytes, and activities of other accounts have others")
    func collapse() {
        #expect(PushIdentifiers.collapseID(messageID: 42) == "m42")
        #expect(PushIdentifiers.collapseID(messageID: Int64.min).utf8.count <= 64)
        let long = String(repeating: "界", count: 100)
        let id = PushIdentifiers.collapseID(account: long, laID: long)
        #expect(id.wholeMatch(of: /a[0-9a-f]{32}/) != nil)
        #expect(
            PushIdentifiers.collapseID(account: "a", laID: "bc") != PushIdentifiers.collapseID(account: "ab", laID: "c")
        )
    }

    @Test("A Live Activity's topic has Apple's suffix, an alert's has none")
    func topics() {
        #expect(PushTopic.liveActivity(bundleID: "org.example.app") == "org.example.app.push-type.liveactivity")
        #expect(PushTopic.alert(bundleID: "org.example.app") == "org.example.app")
    }
}
