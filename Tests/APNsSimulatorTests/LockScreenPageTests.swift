import Testing
import VerbatimJSON

/// What the page draws of what a simulator got, without a browser.
@Suite("The page of lock screens", .timeLimit(.minutes(5)), .serialized)
struct LockScreenPageTests {
    private static let otherToken = String(repeating: "1d", count: 80)

    private func activity(_ running: RunningSimulator, token: String = Fixture.activityToken, _ aps: String) throws {
        let answer = try running.push(
            token: token,
            body: #"{"aps":{\#(aps)}}"#,
            topic: Fixture.bundleID + ".push-type.liveactivity",
            arguments: "-H 'apns-push-type: liveactivity'",
        )
        #expect(answer.hasPrefix("HTTP/2 200"), "\(answer)")
    }

    private func drawn(_ running: RunningSimulator) throws -> (first: String, again: String) {
        try running.write(PageInNode.script, to: "page.js")
        let output = running.run("node page.js http://127.0.0.1:$C")
        let parts = output.split(separator: "--- again\n", maxSplits: 1).map(String.init)
        try #require(parts.count == 2, "\(output)")
        return (parts[0], parts[1])
    }

    @Test("states, notifications and ignored pushes are drawn, and what comes later by itself")
    func draws() async throws {
        try await RunningSimulator.with { running in
            let now = RunningSimulator.seconds
            for (token, rest) in [
                (Fixture.activityToken, #""kind":"activity","activity":"order-1""#),
                (Self.otherToken, #""kind":"activity","activity":"order-0""#),
                (Fixture.deviceToken, #""kind":"device""#),
            ] {
                let body = #"{"token":"\#(token)","phone":"alice",\#(rest)}"#
                #expect(try running.control("POST", "/tokens", body).status == "200")
            }
            try activity(
                running,
                #""timestamp":\#(now),"event":"update","content-state":{"status":"on the way","at":{"x":7}},"stale-date":\#(now - 1)"#
            )
            try activity(running, #""timestamp":\#(now - 1),"event":"update","content-state":{"status":"old"}"#)
            try activity(
                running,
                token: Self.otherToken,
                #""timestamp":\#(now),"event":"end","content-state":{},"dismissal-date":0"#
            )
            _ = try running.push(
                body: #"{"aps":{"alert":{"title":"Ready","body":"Come"},"badge":4,"sound":"ding.caf"}}"#
            )
            let (first, again) = try drawn(running)
            #expect(first.contains("data-connection=live | Live"), "\(first)")
            #expect(first.contains("data-phone=alice data-badge=4 |"))
            #expect(first.contains(/data-activity=order-1 data-token=[0-9a-f]{12} data-state=stale \|/))
            #expect(first.contains("data-key=status | statuson the way"))
            #expect(first.contains("data-key=at › x | at › x7"))
            #expect(!first.contains("data-activity=order-0"), "its card is gone")
            #expect(first.contains("data-title= | Ready"))
            #expect(first.contains("data-body= | Come"))
            #expect(first.contains("data-sound=ding.caf"))
            #expect(
                first.contains(
                    #/data-push=1 data-outcome=ignored data-reason=timestamp_not_newer .*accepted by APNs, ignored by the phone: a push with/#
                )
            )
            #expect(first.contains("data-push=0 data-outcome=shown"))
            #expect(!first.contains("data-phone=a new phone"))
            #expect(again.contains("data-phone=a new phone"))
            #expect(again.contains("data-activity=order-2"))
            #expect(again.contains("Waiting for its first push"))
            #expect(again.contains("data-phone=alice"))
        }
    }

    @Test("a broadcast is drawn on the card of an activity that a push has started with its channel")
    func broadcast() async throws {
        try await RunningSimulator.with { running in
            let now = RunningSimulator.seconds
            try running.write(RunningSimulator.freshToken(), to: "token")
            func curl(_ port: UInt16, _ path: String, _ arguments: String) -> String {
                running.run(
                    """
                    curl -s -i --http2 --max-time 10 --cacert ca.pem -H "authorization: bearer $(cat token)" \
                    -H 'content-type:' \(arguments) https://localhost:\(port)\(path)
                    """
                )
            }
            let created = curl(
                running.simulator.manageBroadcastProductionPort,
                "/1/apps/com.ex.app/channels",
                #"-d '{"message-storage-policy":1,"push-type":"LiveActivity"}'"#,
            )
            let id = String(try #require(created.firstMatch(of: /apns-channel-id: ([A-Za-z0-9+\/]{22}==)/)?.1))
            try activity(
                running,
                #""timestamp":\#(now - 1),"event":"start","content-state":{"home":0},"attributes-type":"Match","attributes":{},"#
                    + #""alert":{"title":"t","body":"b"},"input-push-channel":"\#(id)""#
            )
            let update = #"{"aps":{"timestamp":\#(now),"event":"update","content-state":{"home":3}}}"#
            let sent = curl(
                running.simulator.broadcastProductionPort,
                "/4/broadcasts/apps/com.ex.app",
                "-H 'apns-channel-id: \(id)' -H 'apns-push-type: liveactivity' -H 'apns-expiration: \(now + 60)' -d '\(update)'",
            )
            #expect(sent.hasPrefix("HTTP/2 200"), "\(sent)")
            let first = try drawn(running).first
            #expect(first.contains("data-activity=Match data-state=active |"), "\(first)")
            #expect(first.contains("data-key=home | home3"))
            #expect(first.contains("data-channel=\(id) | follows a channel"))
            #expect(first.contains("accepted by APNs, 1 activity follows the channel"))
        }
    }

    @Test("each of 60 phones is drawn, and the page's own icon is allowed")
    func manyPhones() async throws {
        try await RunningSimulator.with { running in
            for number in 1...60 {
                let token = String(
                    repeating: number < 16 ? "0\(String(number, radix: 16))" : String(number, radix: 16),
                    count: 32
                )
                let body = #"{"token":"\#(token)","phone":"phone-\#(number)"}"#
                #expect(try running.control("POST", "/tokens", body).status == "200")
            }
            let first = try drawn(running).first
            for number in 1...60 {
                #expect(first.contains("data-phone=phone-\(number) "))
            }
            #expect(!first.contains("The first"))
            let headers = running.run("curl --silent --dump-header - --output page.html http://127.0.0.1:$C/")
            #expect(headers.contains("img-src data:"), "\(headers)")
        }
    }

    @Test("whatever a push brings is text: it makes no element and no attribute's name")
    func hostile() async throws {
        try await RunningSimulator.with { running in
            let now = RunningSimulator.seconds
            let hostile = #"<img src=x onerror=alert(1)><script>alert(2)<\/script>"#
            let state =
                #"{"\#(hostile)":"\#(hostile)","__proto__":{"x":1},"constructor":null,"a":[[],{}],"n":1e400,"deep":{"a":{"b":{"c":{"d":1}}}}}"#
            let alert = #"{"title":"\#(hostile)","body":"\#(hostile)","sound":"\#(hostile)"}"#
            try activity(
                running,
                #""timestamp":\#(now),"event":"update","content-state":\#(state),"alert":\#(alert),"relevance-score":"high""#
            )
            try activity(running, #""timestamp":1,"event":"\#(hostile)","content-state":7"#)
            _ = try running.push(
                body: #"{"aps":{"alert":\#(alert),"badge":"\#(hostile)","sound":{}},"x":"\#(hostile)"}"#
            )
            let phone = String(hostile.replacing(#"\/"#, with: "/"))
            let declared = #"{"token":"\#(String(repeating: "cc", count: 32))","phone":"\#(phone)"}"#
            #expect(try running.control("POST", "/tokens", declared).status == "200")
            let (first, again) = try drawn(running)
            #expect(first.contains("data-connection=live"), "\(first)")
            #expect(first.contains("data-phone=\(phone) "))
            #expect(first.contains("data-reason=event_unknown"))
            #expect(first.contains("data-key=\(phone) | \(phone)\(phone)"))
            let elements = try #require(again.firstMatch(of: /elements (.*)\n/)?.1).split(separator: " ")
            #expect(!elements.isEmpty)
            #expect(!elements.contains { ["img", "script", "iframe", "a"].contains($0) })
            let attributes = try #require(again.firstMatch(of: /attributes (.*)\n/)?.1).split(separator: " ")
            #expect(!attributes.contains { $0.hasPrefix("on") || $0 == "style" || $0 == "href" || $0 == "src" })
        }
    }
}
