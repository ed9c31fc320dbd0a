import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// `livepush payload`: what it builds, what it says, and that its command works.
    @Suite
    struct PayloadTests {
        private static let bundle = ["--bundle-id", GatewayUnderTest.bundleID]

        private func payload(_ words: [String]) throws -> ChildProcess.Outcome {
            try ChildProcess.run(Paths.livepush, ["payload"] + words)
        }

        // MARK: - Seeds

        @Test(
            "C56, C68: Apple's own payloads come out as they are printed, with a word on their age",
            arguments: [
                (
                    [
                        "update", "--content-state",
                        #"{"currentHealthLevel":0.941,"eventDescription":"Power Panda found a sword!"}"#,
                    ],
                    #"""
                    {"aps":{"timestamp":1685952000,"event":"update","content-state":
                    {"currentHealthLevel":0.941,"eventDescription":"Power Panda found a sword!"}}}
                    """#
                ),
                (
                    [
                        "update", "--content-state",
                        #"{"currentHealthLevel":0.0,"eventDescription":"Power Panda has been knocked down!"}"#,
                        "--title", "Power Panda is knocked down!", "--body", "Use a potion to heal Power Panda!",
                        "--sound", "default",
                    ],
                    #"""
                    {"aps":{"timestamp":1685952000,"event":"update","content-state":
                    {"currentHealthLevel":0.0,"eventDescription":"Power Panda has been knocked down!"},
                    "alert":{"title":"Power Panda is knocked down!","body":"Use a potion to heal Power Panda!",
                    "sound":"default"}}}
                    """#
                ),
                (
                    [
                        "update", "--content-state",
                        #"{"currentHealthLevel":0.0,"eventDescription":"Power Panda has been knocked down!"}"#,
                        "--title-loc-key", "%@ is knocked down!", "--title-loc-arg", "Power Panda",
                        "--body-loc-key", "Use a potion to heal %@!", "--body-loc-arg", "Power Panda",
                        "--sound", "HeroDown.mp4",
                    ],
                    #"""
                    {"aps":{"timestamp":1685952000,"event":"update","content-state":
                    {"currentHealthLevel":0.0,"eventDescription":"Power Panda has been knocked down!"},
                    "alert":{"title":{"loc-key":"%@ is knocked down!","loc-args":["Power Panda"]},
                    "body":{"loc-key":"Use a potion to heal %@!","loc-args":["Power Panda"]},"sound":"HeroDown.mp4"}}}
                    """#
                ),
                (
                    [
                        "end", "--dismissal-date", "1685959200", "--content-state",
                        #"{"currentHealthLevel":0.23,"eventDescription":"Adventure over! Power Panda is taking a nap."}"#,
                    ],
                    #"""
                    {"aps":{"timestamp":1685952000,"event":"end","dismissal-date":1685959200,"content-state":
                    {"currentHealthLevel":0.23,"eventDescription":"Adventure over! Power Panda is taking a nap."}}}
                    """#
                ),
                (
                    [
                        "update", "--stale-date", "1685959200", "--content-state",
                        #"{"currentHealthLevel":0.79,"eventDescription":"Egghead is in the woods and lost connection."}"#,
                    ],
                    #"""
                    {"aps":{"timestamp":1685952000,"event":"update","stale-date":1685959200,"content-state":
                    {"currentHealthLevel":0.79,"eventDescription":"Egghead is in the woods and lost connection."}}}
                    """#
                ),
                (
                    [
                        "update", "--relevance-score", "100", "--content-state",
                        #"{"currentHealthLevel":0.941,"eventDescription":"Power Panda found a sword!"}"#,
                    ],
                    #"""
                    {"aps":{"timestamp":1685952000,"event":"update","relevance-score":100,"content-state":
                    {"currentHealthLevel":0.941,"eventDescription":"Power Panda found a sword!"}}}
                    """#
                ),
            ] as [([String], String)]
        )
        func applePayloads(words: [String], expected: String) throws {
            let more = ["--timestamp", "1685952000", "--json"]
            let outcome = try payload(words + Self.bundle + more)
            #expect(outcome.status == 0, "\(outcome.errors)")
            let answer = try JSONDocument(parsing: Array(outcome.output.utf8)).root
            let printed = try #require(answer["payload"])
            #expect(printed.canonical == (try JSONDocument(parsing: Array(expected.utf8)).root.canonical))
            #expect(answer["bytes"]?.integer == Int64(printed.verbatim.count))
            #expect(answer["limit"]?.integer == 4096)
            #expect(answer["headers"]?["apns-topic"]?.string == "com.ex.app.push-type.liveactivity")
            let old = words[0] == "end" ? [] : ["timestamp_old"]
            let stale = words.contains("--stale-date") ? ["stale_date_past"] : []
            #expect(answer["warnings"]?.elements.compactMap { $0["code"]?.string } == old + stale)
            #expect(outcome.errors.contains("warning: aps.timestamp: ") == !old.isEmpty)
        }

        @Test(
            "A schema checks state and attributes, from Swift source and from JSON, and nobody guesses what is a date"
        )
        func schema() throws {
            let folder = try ChildProcess.run("mktemp", ["-d"]).output.trimmed
            defer { _ = try? ChildProcess.run("rm", ["-r", folder]) }
            let source = """
                struct RideAttributes: ActivityAttributes {
                    struct ContentState: Codable, Hashable { var eta: Date; var startTime: Int }
                    var ride: String
                }
                """
            let json = #"""
                {"format": 1, "attributesType": "RideAttributes", "attributes": "RideAttributes", "contentState": "State",
                 "types": {"RideAttributes": {"fields": [{"key": "ride", "type": "String"}]},
                  "State": {"fields": [{"key": "eta", "type": "Date"}, {"key": "startTime", "type": "Int"}]}}}
                """#
            for (file, text) in [("Ride.swift", source), ("ride.json", json)] {
                let path = "\(folder)/\(file)"
                _ = try ChildProcess.run("tee", [path], input: text)
                func check(_ words: [String]) throws -> (outcome: ChildProcess.Outcome, findings: [String]) {
                    let outcome = try payload(words + Self.bundle + ["--json", "--schema", path])
                    let root = try JSONDocument(parsing: Array(outcome.output.utf8)).root
                    let found = ["refusals", "warnings"].flatMap { root[$0]?.elements ?? [] }
                    return (outcome, found.map { "\($0["field"]?.string ?? "") \($0["code"]?.string ?? "")" })
                }
                // Unix seconds in an Int are what the app wants there, whatever it is called.
                let good = #"{"eta":761195550,"startTime":1796007172}"#
                let fits = try check(["update", "--content-state", good])
                #expect(fits.outcome.status == 0 && fits.findings.isEmpty, "\(fits)")
                let unfit = try check(["update", "--content-state", #"{"eta":1796007172,"startTime":"1","x":0}"#])
                #expect(unfit.outcome.status == 1)
                #expect(
                    unfit.findings == [
                        "aps.content-state.startTime content_state_unfit", "aps.content-state.eta date_as_unix_seconds",
                        "aps.content-state.x unknown_member",
                    ]
                )
                #expect(unfit.outcome.errors.contains("send 817699972"), "\(unfit.outcome.errors)")
                let start = ["start", "--title", "T", "--body", "B", "--content-state", good, "--attributes"]
                let other = try check(start + ["{}", "--attributes-type", "Ride"])
                #expect(
                    other.findings == [
                        "aps.attributes.ride content_state_unfit", "aps.attributes-type attributes_type_unknown",
                    ]
                )
                let named = try check(start + [#"{"ride":"7"}"#, "--attributes-type", "RideAttributes"])
                #expect(named.outcome.status == 0 && named.findings.isEmpty, "\(named)")
            }
            let words = ["update", "--content-state", "{}"] + Self.bundle
            let damaged = "\(folder)/damaged.json"
            _ = try ChildProcess.run("tee", [damaged], input: "{}")
            let unread = try payload(words + ["--schema", damaged])
            #expect(unread.status == 1 && unread.errors.contains("--schema: \(damaged): "), "\(unread.errors)")
            _ = try ChildProcess.run("tee", ["\(folder)/Other.swift"], input: "struct Other {}")
            let none = try payload(words + ["--schema", "\(folder)/Other.swift"])
            #expect(none.status == 1 && none.errors.contains("nothing is checked"), "\(none.errors)")
            #expect(try payload(words + ["--schema-type", "Other"]).status == 64)
        }

        // MARK: - Mistakes

        @Test(
            "C57, C60, C65, C67, C69, C76, C83: each mistake of the payload builder's page is named",
            arguments: [
                (
                    ["start", "--attributes-type", "A", "--attributes", "{}", "--content-state", "{}"],
                    "refused: aps.alert: ", 1
                ),
                (
                    ["start", "--attributes", "{}", "--content-state", "{}", "--title", "T", "--body", "B"],
                    "refused: aps.attributes-type: ", 1
                ),
                (
                    ["start", "--attributes-type", "A", "--content-state", "{}", "--title", "T", "--body", "B"],
                    "refused: aps.attributes: ", 1
                ),
                (
                    [
                        "start", "--attributes-type", "A", "--attributes", "{}", "--content-state", "{}", "--title",
                        "T",
                        "--body", "B", "--input-push-token", "--input-push-channel", "AAAA",
                    ],
                    "refused: aps.input-push-channel: ", 1
                ),
                (
                    [
                        "start", "--attributes-type", "A", "--attributes", "{}", "--content-state", "{}", "--title",
                        "T",
                        "--body", "B", "--input-push-token", "--ios-version", "17.4",
                    ],
                    "refused: aps.input-push-token: ", 1
                ),
                (
                    [
                        "start", "--channel", "AAAA", "--attributes-type", "A", "--attributes", "{}", "--content-state",
                        "{}", "--title", "T", "--body", "B",
                    ], "refused: aps.event: ", 1
                ),
                (["update"], "refused: aps.content-state: is missing", 1),
                (["update", "--content-state", "[1]"], "refused: aps.content-state: must be a JSON object", 1),
                (["update", "--content-state", #"{"a":1,}"#], "refused: aps.content-state: invalid JSON at byte 7", 1),
                (["update", "--content-state", #"{"endTime":1761370200}"#], "2001, 783063000", 0),
                (["update", "--content-state", #"{"endTime":"2025-10-25T05:30:00Z"}"#], "2001, 783063000", 0),
                (
                    ["update", "--content-state", "{}", "--timestamp", "1685952000"],
                    "warning: aps.timestamp: is in the past", 0
                ),
                (["update", "--content-state", "{}", "--timestamp", "+9h"], "refused: aps.timestamp: ", 1),
                (
                    ["update", "--content-state", "{}", "--last-timestamp", "+1m"],
                    "warning: aps.timestamp: is not above", 0
                ),
                (
                    ["update", "--content-state", "{}", "--stale-date", "1685952000000"],
                    "in Unix seconds it would be 1685952000", 1
                ),
                (
                    ["update", "--content-state", "{}", "--stale-date", "2026-01-01"],
                    "warning: aps.stale-date: is in the past", 0
                ),
                (
                    ["update", "--content-state", "{}", "--dismissal-date", "+1h"],
                    "warning: aps.dismissal-date: means nothing", 0
                ),
                (
                    ["end", "--content-state", "{}", "--dismissal-date", "+5h"],
                    "warning: aps.dismissal-date: is more than four hours", 0
                ),
                (["end"], "warning: aps.content-state: is missing", 0),
                (["update", "--content-state", "{}", "--priority", "1"], "refused: apns-priority: ", 1),
                (["end", "--content-state", "{}", "--priority", "5"], "warning: apns-priority: ", 0),
                (
                    ["update", "--content-state", "{}", "--relevance-score", "high"], "refused: aps.relevance-score: ",
                    1
                ),
                (
                    ["update", "--content-state", "{}", "--token", String(repeating: "0a", count: 32)],
                    "warning: token: has the size of a token for notifications", 0
                ),
                (
                    ["update", "--content-state", "{}", "--channel", "AAAA", "--expiration", "+1m"],
                    "refused: apns-expiration: must be 0", 1
                ),
                (
                    ["update", "--content-state", #"{"a":"\#(String(repeating: "x", count: 4096))"}"#],
                    "bytes, at most 4096 are allowed", 1
                ),
            ] as [([String], String, Int32)]
        )
        func mistakes(words: [String], named: String, status: Int32) throws {
            let outcome = try payload(words + Self.bundle)
            #expect(outcome.status == status)
            #expect(outcome.errors.contains(named), "\(outcome.errors)")
            #expect(outcome.output.isEmpty == (status == 1))
            let json = try payload(words + Self.bundle + ["--json"])
            #expect(json.status == status)
            let answer = try JSONDocument(parsing: Array(json.output.utf8)).root
            #expect(answer["refusals"]?.elements.count == Int(status))
            #expect((answer["payload"] == nil) == (status == 1))
            #expect(answer["warnings"]?.elements.count == (status == 1 ? 0 : 1))
        }

        @Test(
            "An update at priority 10 without alert is told what it costs",
            arguments: [([], true), (["--priority", "5"], false), (["--title", "T", "--body", "B"], false)]
        )
        func budget(words: [String], isTold: Bool) throws {
            let outcome = try payload(["update", "--content-state", "{}"] + words + Self.bundle)
            #expect(outcome.output.contains("hourly budget") == isTold)
        }

        @Test("A topic given for the bundle id is refused")
        func topicForBundleID() throws {
            let topic = "com.example.app.push-type.liveactivity"
            let outcome = try payload(["update", "--content-state", "{}", "--bundle-id", topic])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("refused: apns-topic: "))
        }

        @Test(
            "What cannot be understood exits 64",
            arguments: [
                (["update", "--content-state", "{}"], "--bundle-id"),
                (["update", "--bundle-id", "a.b", "--stale-date", "tomorrow"], "--stale-date"),
                (["update", "--bundle-id", "a.b", "--stale-date", "2026-11-30T02:52:52"], "--stale-date"),
                (["update", "--bundle-id", "a.b", "--title", "T", "--title-loc-key", "k"], "--title-loc-key"),
                (["update", "--bundle-id", "a.b", "--token", "0a0"], "--token"),
                (["update", "--bundle-id", "a.b", "--token", "0a0b", "--channel", "AAAA"], "--channel"),
                (
                    ["update", "--bundle-id", "a.b", "--content-state", "{}", "--content-state-file", "x"],
                    "--content-state-file"
                ),
                (["update", "--bundle-id", "a.b", "--priority", "high"], "--priority"),
                (["update", "--bundle-id", "a.b", "--apns-sandbox", "http://localhost"], "--apns-sandbox"),
                (["start", "--bundle-id", "a.b", "--ios-version", "new"], "--ios-version"),
                (["date", "tomorrow"], "DATE"), (["date", "2026-11-30T02:52:52"], "DATE"),
                (["date", "--as", "2001", "x"], "DATE"),
                (["date", "99999999999999999999"], "DATE"), ([], "which one"),
            ] as [([String], String)]
        )
        func usageErrors(words: [String], named: String) throws {
            let outcome = try payload(words)
            #expect(outcome.status == 64)
            #expect(outcome.errors.contains(named), "\(outcome.errors)")
            #expect(outcome.output.isEmpty)
        }

        // MARK: - Dates

        @Test(
            "C60: dates convert both ways, and the unit of a number is guessed as the checks do",
            arguments: [
                (["1761370200"], ["Read as Unix seconds.", "783063000 ", "2025-10-25T05:30:00Z"]),
                (["783063000"], ["Read as seconds since 2001.", "1761370200 ", "2025-10-25T05:30:00Z"]),
                (["1761370200250"], ["Read as milliseconds since 1970.", "783063000.25 ", "2025-10-25T05:30:00.25Z"]),
                (["2025-10-25T07:30:00+02:00"], ["1761370200 ", "783063000 "]),
                (["--as", "unix", "783063000"], ["1994-10-25T05:30:00Z"]),
                (["--as", "2001", "1761370200"], ["2056-10-25T05:30:00Z"]),
                (["--as", "milliseconds", "1000"], ["1970-01-01T00:00:01Z"]),
                (["2001-01-01"], ["978307200 ", "0 "]),
                ([], ["seconds since 2001"]),
            ] as [([String], [String])]
        )
        func dates(words: [String], expected: [String]) throws {
            let outcome = try payload(["date"] + words)
            #expect(outcome.status == 0, "\(outcome.errors)")
            for text in expected {
                #expect(outcome.output.contains(text), "\(outcome.output)")
            }
        }

        @Test("A date as JSON has its three forms")
        func dateAsJSON() throws {
            let outcome = try payload(["date", "1761370200", "--json"])
            let expected = #"{"iso8601":"2025-10-25T05:30:00Z","unixSeconds":1761370200,"secondsSince2001":783063000}"#
            #expect(outcome.output.trimmed == expected)
        }

        // MARK: - The command

        @Test("The curl command starts, updates and ends an activity, whatever its text holds")
        func commandWorks() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let simulator = try SimulatorUnderTest(folder: gateway.folder)
            let start = TestPhone.token(bytes: 64)
            let update = TestPhone.token(bytes: 80)
            try simulator.post(
                "/tokens",
                #"{"token":"\#(start)","phone":"p","kind":"start","attributesType":"Delivery"}"#
            )
            let target = [
                "--apns-sandbox", "https://localhost:\(simulator.sandboxPort)/", "--apns-ca-file", simulator.authority,
            ]
            let text = #"it's "$HOME" `date` \n %@ 界/x"#

            let app = ["--sdk-app-id", "\(GatewayUnderTest.sdkAppID)", "--business-id", "1"]
            let started = try payload(
                [
                    "start", "--token", start, "--attributes-type", "Delivery", "--attributes", #"{"number":"A1042"}"#,
                    "--content-state", #"{"text":"it's on its way","minutes":12.0}"#, "--title", text, "--body", text,
                    "--input-push-token", "--collapse-id", "A1042",
                ] + Self.bundle + target + app
            )
            #expect(started.status == 0 && started.errors.isEmpty, "\(started.errors)")
            // The whole of what is printed under the heading, as a reader pastes it.
            let heading = try #require(started.output.firstRange(of: "good for an hour:\n"))
            let command = String(started.output[heading.upperBound...])
            #expect(command.contains(#"'{"aps":{"timestamp":'"$(date +%s)"',"event":"start","#))
            #expect(command.contains(#""apns-expiration: $(($(date +%s) + 300))""#))
            #expect(try gateway.shell(command).trimmed == "200")

            try simulator.post(
                "/tokens",
                #"{"token":"\#(update)","phone":"p","activity":"order-1","attributesType":"Delivery"}"#
            )
            let updated = try payload(
                ["update", "--timestamp", "+1s", "--content-state", #"{"minutes":3}"#, "--json"] + Self.bundle + target
            )
            let curl = try #require(JSONDocument(parsing: Array(updated.output.utf8)).root["curl"]?.string)
            // The token is the reader's to put in.
            let token = try gateway.succeed("certificate", "token", app[0], app[1], app[2], app[3]).trimmed
            #expect(
                try gateway.shell("AUTHENTICATION_TOKEN='\(token)' ACTIVITY_PUSH_TOKEN=\(update)\n\(curl)").trimmed
                    == "200"
            )
            let ended = try payload(
                ["end", "--token", update, "--timestamp", "+2s", "--content-state", "{}", "--dismissal-date", "0"]
                    + ["--json"] + Self.bundle + target
            )
            let end = try #require(JSONDocument(parsing: Array(ended.output.utf8)).root["curl"]?.string)
            #expect(try gateway.shell("AUTHENTICATION_TOKEN='\(token)'\n\(end)").trimmed == "200")

            let pushes = try simulator.pushes()
            try #require(pushes.count == 3)
            #expect(pushes.allSatisfy { $0["status"]?.integer == 200 && $0["ignoredByPhone"] == nil })
            #expect(pushes.map { $0["payload"]?["aps"]?["event"]?.string } == ["start", "update", "end"])
            let alert = try #require(pushes[0]["payload"]?["aps"]?["alert"])
            #expect(alert["title"]?.string == text)
            #expect(alert["body"]?.string == text)
            let state = try #require(pushes[0]["payload"]?["aps"]?["content-state"])
            #expect(String(decoding: state.verbatim, as: UTF8.self) == #"{"text":"it's on its way","minutes":12.0}"#)
        }

        @Test("C76: the command for a channel has Apple's path and host, and no topic")
        func broadcastCommand() throws {
            let outcome = try payload(
                ["update", "--content-state", "{}", "--channel", "AAAA", "--environment", "production", "--json"]
                    + Self.bundle
            )
            let answer = try JSONDocument(parsing: Array(outcome.output.utf8)).root
            #expect(answer["url"]?.string == "https://api-broadcast.push.apple.com:443/4/broadcasts/apps/com.ex.app")
            #expect(answer["limit"]?.integer == 5120)
            #expect(
                answer["headers"]?.members.map { "\($0.key): \($0.value.string ?? "")" } == [
                    "apns-channel-id: AAAA", "apns-push-type: liveactivity", "apns-priority: 10", "apns-expiration: 0",
                ]
            )
        }

        @Test("A content state from a file keeps its bytes, but for the white space around it")
        func fromFile() throws {
            let state = "{ \"a\" : 1.0 ,\n \"b\":1e2}"
            let outcome = try ChildProcess.run(
                Paths.livepush,
                ["payload", "update", "--content-state-file", "-", "--json"] + Self.bundle,
                input: "\n\(state)\n",
            )
            let answer = try JSONDocument(parsing: Array(outcome.output.utf8)).root
            let printed = try #require(answer["payload"]?["aps"]?["content-state"])
            #expect(String(decoding: printed.verbatim, as: UTF8.self) == state)
        }
    }
}

extension GatewayUnderTest {
    /// Runs a script with `livepush` in its path; its output.
    fileprivate func shell(_ script: String) throws -> String {
        let folder = Paths.livepush.dropLast("/livepush".count)
        let path = "PATH=\(folder):\(String(cString: getenv("PATH")))"
        let outcome = try ChildProcess.run(
            "env",
            environment.map { "\($0.key)=\($0.value)" } + [path, "bash", "-euc", script]
        )
        guard outcome.status == 0 else { throw ChildProcess.Failure("\(script): \(outcome.errors)") }
        return outcome.output
    }
}

extension JSONValue {
    /// The value with its members in the order of their names and without white space.
    var canonical: String {
        switch kind {
        case .object:
            let members = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value.canonical)" }
            return "{\(members.joined(separator: ","))}"
        case .array: return "[\(elements.map(\.canonical).joined(separator: ","))]"
        default: return String(decoding: verbatim, as: UTF8.self)
        }
    }
}
