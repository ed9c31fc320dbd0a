import Testing
import VerbatimJSON

/// What the control port tells of phones, asked with curl.
@Suite("ControlAPI: phones", .timeLimit(.minutes(5)), .serialized)
struct ControlAPIPhoneTests {
    private func push(_ running: RunningSimulator, _ event: String, timestamp: Int, _ state: String) throws -> String {
        try running.push(
            token: Fixture.activityToken,
            body: #"{"aps":{"timestamp":\#(timestamp),"event":"\#(event)","content-state":\#(state)}}"#,
            topic: Fixture.bundleID + ".push-type.liveactivity",
            arguments: "-H 'apns-push-type: liveactivity'",
        )
    }

    private func declare(_ running: RunningSimulator, _ rest: String) throws -> (status: String, root: JSONValue) {
        try running.control("POST", "/tokens", #"{"token":"\#(Fixture.activityToken)",\#(rest)}"#)
    }

    @Test("a declared phone shows pushes over HTTP/2; an old timestamp is accepted by APNs and ignored")
    func lockScreen() async throws {
        try await RunningSimulator.with { running in
            #expect(
                try declare(running, #""phone":"alice's phone","kind":"activity","activity":"order-1""#).status == "200"
            )
            let now = RunningSimulator.seconds
            #expect(try push(running, "update", timestamp: now, #"{"x":1.0}"#).hasPrefix("HTTP/2 200"))
            #expect(try push(running, "update", timestamp: now - 1, #"{"x":0}"#).hasPrefix("HTTP/2 200"))
            let phone = try running.control("GET", "/phones/alice%27s%20phone").root
            let activity = try #require(phone["activities"]?.elements.first)
            #expect(activity["activity"]?.string == "order-1")
            #expect(activity["contentState"].map { Array($0.verbatim) } == Array(#"{"x":1.0}"#.utf8))
            #expect(activity["state"]?.string == "active")
            let event = try #require(phone["events"]?.elements.first)
            #expect(event["outcome"]?.string == "ignored")
            #expect(event["reason"]?.string == "timestamp_not_newer")
            let record = try #require(try running.pushes("?limit=1").first)
            #expect(record["index"]?.integer == 1)
            #expect(record["status"]?.integer == 200)
            #expect(record["phone"]?.string == "alice's phone")
            #expect(record["ignoredByPhone"]?["reason"]?.string == "timestamp_not_newer")
            #expect(record["ignoredByPhone"]?["explanation"]?.string?.isEmpty == false)
            let all = try running.control("GET", "/phones").root
            #expect(all.elements.map { $0["name"]?.string } == ["alice's phone"])
            #expect(try running.control("DELETE", "/pushes").status == "200")
            let after = try running.control("GET", "/phones").root.elements
            #expect(after.first?["activities"]?.elements.map { $0["updates"]?.integer } == [0])
            #expect(try running.control("DELETE", "/tokens").status == "200")
            #expect(try running.control("GET", "/phones").root.elements.isEmpty)
            #expect(try running.control("GET", "/phones/alice").status == "404")
        }
    }

    @Test("GET /phones has a tag that changes with a push, and answers 304 to it before")
    func entityTag() async throws {
        try await RunningSimulator.with { running in
            func get(_ arguments: String = "") -> String {
                running.run("curl -s -i --max-time 10 \(arguments) http://127.0.0.1:$C/phones")
            }
            let first = get()
            let tag = try #require(first.firstMatch(of: /ETag: (".+")/), "\(first)")
            #expect(first.contains(#/X-Simulator-Time: \d{13}/#))
            let same = get("-H 'If-None-Match: \(tag.1)'")
            #expect(same.hasPrefix("HTTP/1.1 304"), "\(same)")
            #expect(same.hasSuffix("\r\n\r\n"))
            #expect(try running.push().hasPrefix("HTTP/2 200"))
            #expect(get("-H 'If-None-Match: \(tag.1)'").hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test(
        "a declaration of a phone that cannot be is refused with its field",
        arguments: [
            (#""phone":7"#, "phone"), (#""phone":"""#, "phone"),
            (#""phone":"\#(String(repeating: "p", count: 65))""#, "phone"), (#""kind":"tablet""#, "kind"),
            (#""startedAt":1796000000000"#, "startedAt"), (#""startedAt":-1"#, "startedAt"),
            (#""contentState":[]"#, "contentState"), (#""dismissed":1"#, "dismissed"),
            (#""frequentPushes":"yes""#, "frequentPushes"),
            (#""contentState":{"a":"\#(String(repeating: "a", count: 4096))"}"#, "contentState"),
        ]
    )
    func faults(_ rest: String, _ field: String) async throws {
        try await RunningSimulator.with { running in
            let answer = try declare(running, rest)
            #expect(answer.status == "400")
            #expect(answer.root["error"]?["field"]?.string == field)
        }
    }

    @Test("the page and its files come from the program, with a policy that lets no other script run")
    func page() async throws {
        try await RunningSimulator.with { running in
            for (path, type) in [
                ("/", "text/html"), ("/lock-screens.css", "text/css"), ("/lock-screens.js", "text/javascript"),
            ] {
                let answer = running.run("curl -s -i --max-time 10 http://127.0.0.1:$C\(path)")
                #expect(answer.hasPrefix("HTTP/1.1 200"), "\(path)")
                #expect(answer.contains("Content-Type: \(type); charset=utf-8"))
                #expect(answer.contains("Content-Security-Policy: default-src 'none'; script-src 'self'"))
                #expect(!answer.contains("unsafe-inline"))
                #expect(!answer.contains("http://") && !answer.contains("https://"), "\(path) names another host")
                for danger in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                    #expect(!answer.contains(danger), "\(path) uses \(danger)")
                }
            }
            let refused = try running.control("POST", "/", "{}")
            #expect(refused.status == "405")
        }
    }
}
