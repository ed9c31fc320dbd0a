import LiveActivity
import Testing
import VerbatimJSON

@Suite("Body of a Live Activity push", .timeLimit(.minutes(5)))
struct LiveActivityPayloadTests {
    private func text(_ content: ActivityContent, timestamp: Int64 = 1_796_007_172, dismissalDate: Int64? = nil)
        -> String
    {
        let bytes = LiveActivityPayload.encode(content, timestamp: timestamp, dismissalDate: dismissalDate)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("C56, C57: an update is exactly timestamp in integer seconds, event and content-state")
    func update() {
        let content = ActivityContent(event: .update, contentState: Array(#"{"a":1}"#.utf8))
        #expect(self.text(content) == #"{"aps":{"timestamp":1796007172,"event":"update","content-state":{"a":1}}}"#)
    }

    @Test("An end with everything has its keys in order, and the sound inside the alert")
    func end() {
        let content = ActivityContent(
            event: .end,
            contentState: Array("{}".utf8),
            staleDate: 1_796_007_200,
            relevanceScore: Array("75.50".utf8),
            dismissalDate: 5,
            alert: ActivityAlert(title: "完成", body: "a/\"b\"", sound: "default"),
        )
        let expected =
            #"{"aps":{"timestamp":1796007172,"event":"end","content-state":{},"dismissal-date":1796007171,"#
            + #""stale-date":1796007200,"relevance-score":75.50,"#
            + #""alert":{"title":"完成","body":"a/\"b\"","sound":"default"}}}"#
        #expect(self.text(content, dismissalDate: 1_796_007_171) == expected)
    }

    @Test("C65: an update leaves out the dismissal date even when one is passed")
    func dismissalOnUpdate() {
        let content = ActivityContent(event: .update, contentState: Array("{}".utf8), dismissalDate: 1)
        #expect(!self.text(content, dismissalDate: 1_796_007_171).contains("dismissal-date"))
    }

    @Test("C64: an end sends 0 as 0, and without a date has no such key")
    func dismissalOnEnd() {
        let content = ActivityContent(event: .end, contentState: Array("{}".utf8))
        #expect(self.text(content, dismissalDate: 0).contains(#""dismissal-date":0}"#))
        #expect(!self.text(content).contains("dismissal-date"))
    }

    @Test(
        "An alert without text is left out, since Apple leaves undefined what it does",
        arguments: ["", " \t\u{3000}"]
    )
    func emptyAlert(text: String) {
        let content = ActivityContent(
            event: .update,
            contentState: Array("{}".utf8),
            alert: ActivityAlert(title: .plain(text), subtitle: text, body: .plain(text), sound: "default"),
        )
        #expect(!self.text(content).contains("alert"))
    }

    @Test("C67: a start with a title or a body alone has that for both, and no other event has")
    func oneText() {
        let body = AlertText.localized(key: "ON_ITS_WAY", arguments: ["5"])
        let alerts = [
            (ActivityAlert(title: "T"), #""alert":{"title":"T","body":"T"}"#),
            (ActivityAlert(title: " ", body: "B"), #""alert":{"title":"B","body":"B"}"#),
            (
                ActivityAlert(body: body),
                #""alert":{"title":{"loc-key":"ON_ITS_WAY","loc-args":["5"]},"body":{"loc-key":"ON_ITS_WAY","loc-args":["5"]}}"#
            ),
        ]
        for (alert, expected) in alerts {
            var content = ActivityContent(event: .start, contentState: Array("{}".utf8), alert: alert)
            #expect(self.text(content).contains(expected), "\(self.text(content))")
            content.event = .update
            #expect(!self.text(content).contains(expected))
        }
    }

    @Test(
        "A text of an alert that cannot be read is a fault, with its place in it",
        arguments: [
            ("1", ""), ("[]", ""), ("null", ""), ("{}", ".loc-key"), (#"{"loc-key":1}"#, ".loc-key"),
            (#"{"loc-key":"k","loc-args":"a"}"#, ".loc-args"), (#"{"loc-key":"k","loc-args":{}}"#, ".loc-args"),
            (#"{"loc-key":"k","loc-args":null}"#, ".loc-args"), (#"{"loc-key":"k","loc-args":[1]}"#, ".loc-args[0]"),
            (#"{"loc-key":"k","loc-args":["a",null]}"#, ".loc-args[1]"),
        ]
    )
    func alertTextFaults(text: String, place: String) throws {
        let value = try JSONDocument(parsing: Array(text.utf8)).root
        let fault = #expect(throws: AlertTextFault.self) { try AlertText(value) }
        #expect(fault?.place == place)
    }

    @Test(
        "C78, C80: the state is in the body byte for byte",
        arguments: [
            #"{"a":0.1,"b":129.9,"c":68.32,"d":5.02,"e":1.0,"f":100,"g":9007199254740993,"h":1e2,"i":-0.0,"#
                + #""j":0.10000000000000001,"u":"\u00e9 é 👨‍👩‍👧","s":"a/b"}"#,
            #"{"flag":true,"n":1,"z":0,"f":false}"#,
            #"{"z":[ 1 ,2],"a":"\/","timestamp":1796007172000}"#,
        ],
    )
    func verbatimState(state: String) throws {
        let document = try JSONDocument(parsing: Array(#"{"ContentState": \#(state) }"#.utf8))
        let contentState = try #require(document.root["ContentState"]?.verbatim)
        let content = ActivityContent(event: .update, contentState: Array(contentState))
        let body = try JSONDocument(parsing: Array(self.text(content).utf8)).root
        #expect(Array(body["aps"]?["content-state"]?.verbatim ?? []) == Array(state.utf8))
        #expect(body["aps"]?["timestamp"]?.integer == 1_796_007_172)
    }

    @Test(
        "A template gives the same bytes as a whole encoding, whatever the timestamp",
        arguments: [0, 9, 1_796_007_172, Int64.max]
    )
    func template(timestamp: Int64) {
        let content = ActivityContent(event: .end, contentState: Array(#"{"timestamp":0}"#.utf8), staleDate: 7)
        let template = LiveActivityPayloadTemplate(content, dismissalDate: 3)
        let expected =
            #"{"aps":{"timestamp":\#(timestamp),"event":"end","content-state":{"timestamp":0},"dismissal-date":3,"stale-date":7}}"#
        #expect(String(decoding: template.encode(timestamp: timestamp), as: UTF8.self) == expected)
        #expect(self.text(content, timestamp: timestamp, dismissalDate: 3) == expected)
    }

    @Test("C83: the size is that of the bytes sent, to the byte at the limit", arguments: [4096, 4097])
    func size(bytes: Int) {
        let empty = ActivityContent(event: .update, contentState: Array(#"{"a":""}"#.utf8))
        let room = bytes - self.text(empty).utf8.count
        let filler = String(repeating: "界", count: room / 3) + String(repeating: "/", count: room % 3)
        let content = ActivityContent(event: .update, contentState: Array(#"{"a":"\#(filler)"}"#.utf8))
        #expect(self.text(content).utf8.count == bytes)
        #expect((self.text(content).utf8.count <= PayloadLimit.bytes) == (bytes == 4096))
    }

    @Test("Content prints as sizes, never as what it says")
    func descriptions() {
        let content = ActivityContent(
            event: .end,
            contentState: Array(#"{"secret":1}"#.utf8),
            alert: ActivityAlert(title: "secret", body: "secret"),
        )
        #expect("\(content)" == "end with 12 bytes of state")
        #expect(!String(reflecting: content).contains("secret"))
        #expect(!String(reflecting: NotificationContent(title: "secret", ext: "secret")).contains("secret"))
    }
}
